"""Texts in PromQL."""

from __future__ import annotations

_ESCAPED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quote_promql(text: str) -> str:
    """Return a text as a string; `$` and `[[`, which Grafana would take for variables, are escaped."""
    escaped = "".join(_ESCAPED.get(character, character) for character in text)
    return '"' + escaped.replace("$", "\\x24").replace("[[", "[\\x5b") + '"'
