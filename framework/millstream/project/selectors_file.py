"""Reads selectors.yml: the tree of each YAML selector, by name; `compile.selectors` reads the trees."""

from __future__ import annotations

from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.core.errors import Diagnostic, DiagnosticNote, diagnostic_at, did_you_mean
from millstream.core.text import FileText
from millstream.project.schema import ShapeReader
from millstream.project.wording import node_kind
from millstream.project.yaml import mapping_entries, node_span, node_value, parse_yaml

FILE = "selectors.yml"
_SHAPE = "write selectors: [{name: …, definition: …}]"


def read_selectors(text: FileText) -> tuple[dict[str, Any], list[Diagnostic]]:
    node, diagnostics = parse_yaml(text)
    reader = ShapeReader(text)
    reader.diagnostics += diagnostics
    selectors: dict[str, Any] = {}
    if node is None:
        return selectors, diagnostics
    if not isinstance(node, MappingNode):
        reader.report(node, "MS107", f"expected a mapping, not {node_kind(node)}", _SHAPE)
    for name, (key, value) in mapping_entries(node).items():
        if name not in {"selectors", "version"}:
            hint = did_you_mean(name, ("selectors",), _SHAPE)
            reader.report(key, "MS106", f"unknown key '{name}'", hint)
        elif name == "selectors" and not isinstance(value, SequenceNode):
            reader.report(value, "MS107", f"'selectors' must be a list, not {node_kind(value)}", _SHAPE)
        elif name == "selectors":
            selectors = _named(reader, value)
    return selectors, reader.diagnostics


def _named(reader: ShapeReader, node: Node) -> dict[str, Any]:
    selectors: dict[str, Any] = {}
    nodes: dict[str, Node] = {}
    for item in node.value:
        keys = mapping_entries(item)
        name = keys["name"][1] if "name" in keys else None
        if not isinstance(item, MappingNode):
            reader.report(item, "MS107", f"a selector is a mapping, not {node_kind(item)}", _SHAPE)
        elif not isinstance(name, ScalarNode) or not name.value:
            reader.report(item, "MS108", "'name' is missing", "add `name: …`")
        elif name.value in selectors:
            note = DiagnosticNote("first defined here", reader.locate(nodes[name.value]))
            message = f"selector '{name.value}' is defined twice"
            where = node_span(reader.text, name)
            reader.diagnostics.append(
                diagnostic_at(reader.text, *where, "MS109", message, "keep one of them", note)
            )
        else:
            selectors[name.value], nodes[name.value] = node_value(item), name
    return selectors
