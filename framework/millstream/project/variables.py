"""Variables: `--vars` over MILLSTREAM_VARS over `[tool.millstream.vars]`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from yaml.nodes import MappingNode

from millstream.errors import Diagnostic, at
from millstream.project.yaml import parse_yaml, plain
from millstream.text import Text


def merge_variables(
    settings: Mapping[str, Any], given: str | Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[Diagnostic]]:
    diagnostics: list[Diagnostic] = []
    found = dict(settings)
    for origin, value in (("MILLSTREAM_VARS", os.environ.get("MILLSTREAM_VARS")), ("--vars", given)):
        if isinstance(value, str):
            read, problems = _read(Text(origin, value))
            found |= read
            diagnostics += problems
        elif value:
            found |= value
    return found, diagnostics


def _read(text: Text) -> tuple[dict[str, Any], list[Diagnostic]]:
    node, diagnostics = parse_yaml(text)
    remedy = f"write {text.path} '{{name: value}}'"
    if diagnostics:
        first = diagnostics[0]
        return {}, [Diagnostic("MS115", first.message, first.location, remedy, first.line)]
    if node is None:
        return {}, []
    if not isinstance(node, MappingNode):
        return {}, [at(text, 0, len(text.content), "MS115", f"{text.path} is a mapping of names to values", remedy)]
    return dict(plain(node)), []
