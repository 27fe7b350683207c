"""Texts of users in Markdown: nothing in them is markup, a mention, or a link."""

from __future__ import annotations

import re

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#!|~$&])")
_CONTROL = dict.fromkeys(range(32), " ") | {127: " "}


def plain(text: str) -> str:
    """Return a text that is shown as it is; `@name` pings nobody, `#1` links to nothing."""
    said = _SPECIAL.sub(r"\\\1", text.translate(_CONTROL))
    # A zero-width space: Markdown knows no escape for mentions and addresses.
    return said.replace("@", "@\u200b").replace("://", ":\u200b//").replace("www.", "www\u200b.")


def code(text: str) -> str:
    """Return a text as code, in a line or a cell of a table."""
    said = text.translate(_CONTROL).strip()
    if not said:
        return ""
    ticks = "`" * (max((len(run) for run in re.findall("`+", said)), default=0) + 1)
    room = " " if said[0] == "`" or said[-1] == "`" else ""
    return f"{ticks}{room}{said}{room}{ticks}".replace("|", "\\|")


def sentence(text: str) -> str:
    """Return a sentence whose SQL and names stand between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return plain(text)  # one is left over, so that nobody knows which are code
    return "".join(code(part) if index % 2 else plain(part) for index, part in enumerate(parts))


def fenced(text: str, language: str = "") -> str:
    """Return a block of code."""
    fence = "`" * max(3, max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
