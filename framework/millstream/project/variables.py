"""Variables: `--vars` over MILLSTREAM_VARS over `[tool.millstream.vars]`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Any

from yaml.nodes import MappingNode, ScalarNode

from millstream.core.errors import Diagnostic, diagnostic_at
from millstream.core.text import FileText
from millstream.project.numbers import QUOTE, fits_bigint
from millstream.project.yaml import node_span, node_value, parse_yaml


def merge_variables(
    settings: Mapping[str, Any], option: str | Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[Diagnostic]]:
    """Merge the variables of all origins; the order of precedence is that of the module's docstring."""
    diagnostics: list[Diagnostic] = []
    merged = dict(settings)
    for origin, value in (("MILLSTREAM_VARS", os.environ.get("MILLSTREAM_VARS")), ("--vars", option)):
        if isinstance(value, str):
            read, errors = _read(FileText(origin, value))
            merged |= read
            diagnostics += errors
        elif value:
            merged |= value
    return merged, diagnostics


class RecordedVariables(Mapping[str, Any]):
    """Variables that record which of them were read, and which were missing."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.used: dict[str, Any] = {}
        self.missed: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        value = self._values[name]
        self.used[name] = value
        return value

    def __contains__(self, name: object) -> bool:
        if name not in self._values:
            self.missed.add(str(name))
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def plain_values(value: Any) -> Any:
    """Return TOML's dates and times as texts, like those of YAML."""
    if isinstance(value, dict):
        return {key: plain_values(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain_values(inner) for inner in value]
    return value.isoformat() if isinstance(value, date | datetime | time) else value


def too_large(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of integers that neither SQL nor the cache can store."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from too_large(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from too_large(inner, (*path, str(index)))
    elif isinstance(value, int) and not fits_bigint(value):
        yield path


def with_nul(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the paths of texts with the character NUL, which no file's name and no SQL can have."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from with_nul(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from with_nul(inner, (*path, str(index)))
    elif isinstance(value, str) and "\0" in value:
        yield path


def _read(text: FileText) -> tuple[dict[str, Any], list[Diagnostic]]:
    remedy = f"write {text.path} '{{name: value}}'"
    # YAML reads most JSON, but not tabs or `\ud83d\ude00`.
    if (variables := _json(text.content)) is not None and next(too_large(variables), None) is None:
        return variables, []
    node, diagnostics = parse_yaml(text)
    if diagnostics:
        return {}, [
            Diagnostic(
                "MS115",
                diagnostic.message,
                diagnostic.location,
                QUOTE if diagnostic.help == QUOTE else remedy,
                diagnostic.line,
                diagnostic.notes,
            )
            for diagnostic in diagnostics
        ]
    if node is None:
        return {}, []
    if not isinstance(node, MappingNode):
        if isinstance(node, ScalarNode) and ":" in node.value:
            remedy = f"add a space after the colon: {text.path} '{{name: value}}'"
        message = f"{text.path} must be a mapping of names to values"
        return {}, [diagnostic_at(text, *node_span(text, node), "MS115", message, remedy)]
    return dict(node_value(node)), []


def _json(content: str) -> dict[str, Any] | None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            raise ValueError  # YAML's reader reports the duplicate key
        return mapping

    try:
        parsed = json.loads(content, object_pairs_hook=once)
        content.encode()
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) and _is_text(parsed) else None


def _is_text(value: Any) -> bool:
    """Return whether a value has no unpaired surrogates, which can't be encoded."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
