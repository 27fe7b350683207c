"""Texts in PromQL."""

from __future__ import annotations

_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """Return a text as a string; `$` and `[[`, which Grafana would take for variables, are escaped."""
    found = "".join(_ESCAPED.get(each, each) for each in text)
    return '"' + found.replace("$", "\\x24").replace("[[", "[\\x5b") + '"'
