"""Escapes texts of users in Markdown, so that they contain no markup, mentions or links."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#!|~$&])")
_CONTROL = dict.fromkeys(range(32), " ") | {127: " "}


def escape_text(text: str) -> str:
    """Return a text that is shown literally; `@name` notifies no one, and `#1` is not a link."""
    escaped = _SPECIAL.sub(r"\\\1", text.translate(_CONTROL))
    # A zero-width space, because Markdown has no escape for mentions and addresses.
    return escaped.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def escape_code(text: str) -> str:
    """Return a text as code, for a line or a cell of a table."""
    line = text.translate(_CONTROL).strip()
    if not line:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    blank = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{ticks}{blank}{line}{blank}{ticks}".replace("|", "\\|")


def escape_sentence(text: str) -> str:
    """Return a sentence in which SQL and names are between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape_text(text)  # a backtick is unpaired, so it is unclear which parts are code
    return "".join(escape_code(part) if index % 2 else escape_text(part) for index, part in enumerate(parts))


def fence_code(text: str, language: str = "") -> str:
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
