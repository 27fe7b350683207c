"""Finds the lines of files that were edited."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from pathlib import Path

from millstream.project.secrets import MASK, is_secret_setting
from millstream.review.values import EditedLine

_MOST = 3
_SHOWN = 120
_SET = re.compile(r"([\w.-]+)['\"]?\s*[:=]\s*(?=(\S.*))")
"""A name and its value in YAML, TOML and Jinja."""


def edited_lines(old: Path | None, new: Path | None, before: str, after: str) -> tuple[EditedLine, ...]:
    """Return the first edited lines in the new version; `before` and `after` are the file's paths."""
    if old is None or new is None:
        return ()
    was, now = _lines(old, before), _lines(new, after)
    if was is None or now is None or was == now:
        return ()
    lines: list[EditedLine] = []
    for kind, _, _, start, stop in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        line = next((n for n in range(start, stop) if now[n].strip()), min(start, len(now) - 1))
        text = now[line].strip() if 0 <= line < len(now) and start < stop else ""
        lines.append(EditedLine(after, max(line, 0) + 1, hide_secrets(text)))
    return tuple(lines[:_MOST])


def hide_secrets(text: str) -> str:
    """Return a line without the values of secrets."""
    for match in _SET.finditer(text):
        if is_secret_setting(match[1], match[2]):
            return f"{text[: match.end(1)][:_SHOWN]}: {MASK}"
    return text[:_SHOWN]


def without_secrets(text: str) -> str:
    """Return a text whose lines have no values of secrets."""
    return "\n".join(
        hide_secrets(line) if hide_secrets(line).endswith(f": {MASK}") else line for line in text.splitlines()
    )


def _lines(root: Path, path: str) -> list[str] | None:
    try:
        return (root / path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError):
        return None
