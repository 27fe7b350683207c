"""What the names in YAML files of properties stand for, also in files that are wrong elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

import yaml
from msgspec import Struct
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.text import FileText, Location
from millstream.editor.csv_names import header_in_yaml
from millstream.editor.values import Cursor
from millstream.project.yaml import node_span, parse_yaml

_KINDS = {"models": "model", "seeds": "seed", "functions": "function"}


class YamlName(Struct, frozen=True):
    """A name in YAML: of a relation, of one of its columns, or of a data test."""

    location: Location
    node: NodeId = NO_NODE
    column: str = ""
    test: str = ""


def yaml_name_at(cursor: Cursor) -> YamlName | None:
    """Return what is named at the cursor."""
    text = FileText(cursor.path, cursor.content)
    for yaml_name in yaml_names(text):
        start = text.offset(yaml_name.location.line, yaml_name.location.column)
        if start <= cursor.offset <= start + yaml_name.location.end - yaml_name.location.column:
            return yaml_name
    return None


def yaml_names(text: FileText) -> tuple[YamlName, ...]:
    """Return the names of relations, columns and tests in a file."""
    return _cached_names(text.path, text.content)


@lru_cache(maxsize=1024)
def _cached_names(path: str, content: str) -> tuple[YamlName, ...]:
    return tuple(_read_names(FileText(path, content)))


def _read_names(text: FileText) -> Iterator[YamlName]:
    try:
        root, _ = parse_yaml(text)
    except (yaml.YAMLError, RecursionError):
        return
    for key, section in _entries(root):
        if key in _KINDS:
            for item in _items(section):
                yield from _relation(text, item, _KINDS[key], "")
        elif key == "sources":
            for source in _items(section):
                name = _scalar(dict(_entries(source)).get("name"))
                for key_, tables in _entries(source):
                    if name is not None and key_ not in {"tags", "tests", "data_tests"}:
                        for item in _items(tables):
                            yield from _relation(text, item, "source", f"{name.value}.")
        elif key == "unit_tests":
            for item in _items(section):
                model = _scalar(dict(_entries(item)).get("model"))
                if model is not None:
                    yield YamlName(_location(text, model), NodeId("model", model.value.lstrip("+")))


def _relation(text: FileText, item: Node, kind: str, prefix: str) -> Iterator[YamlName]:
    entries = dict(_entries(item))
    name = _scalar(entries.get("name"))
    if name is None or not name.value:
        return
    id_ = NodeId(kind, f"{prefix}{name.value}")  # type: ignore[arg-type]
    yield YamlName(_location(text, name), id_)
    yield from _tests(text, entries)
    for column in _items(entries.get("columns")):
        inner = dict(_entries(column))
        column_name = _scalar(inner.get("name"))
        if column_name is not None and column_name.value:
            yield YamlName(_location(text, column_name), id_, column_name.value)
        yield from _tests(text, inner)


def _tests(text: FileText, entries: dict[str, Node]) -> Iterator[YamlName]:
    for key in ("tests", "data_tests"):
        for item in _items(entries.get(key)):
            test = _scalar(item.value[0][0] if isinstance(item, MappingNode) and item.value else item)
            if test is not None:
                yield YamlName(_location(text, test), test=test.value)


def _entries(node: Node | None) -> Iterator[tuple[str, Node]]:
    if isinstance(node, MappingNode):
        yield from ((str(key.value), value) for key, value in node.value)


def _items(node: Node | None) -> list[Node]:
    return list(node.value) if isinstance(node, SequenceNode) else []


def _scalar(node: Node | None) -> ScalarNode | None:
    return node if isinstance(node, ScalarNode) else None


def _location(text: FileText, node: ScalarNode) -> Location:
    start, stop = node_span(text, node)
    if text.content[start : start + 1] in {"'", '"'}:
        start, stop = start + 1, stop - 1
    if text.content[start : start + 1] == "+":
        start += 1
    return text.location(start, stop)


_EXPRESSIONS = frozenset(("expression", "where", "when"))
"""Keys whose values are SQL over the columns of their relation."""


def column_mentions(text: FileText, node: NodeId, column: str) -> list[Location]:
    """Return where options, tests and unit tests of a model name one of its columns."""
    root, _ = parse_yaml(text)
    locations: list[Location] = []
    for key, section in _entries(root):
        for item in _items(section):
            entries = dict(_entries(item))
            name = _scalar(entries.get("name"))
            if _KINDS.get(key) == node.kind and name is not None and name.value == node.name:
                described = [dict(_entries(inner)) for inner in _items(entries.get("columns"))]
                for mapping in (entries, *described):
                    for part in ("config", "tests", "data_tests"):
                        locations += _scalars(text, mapping.get(part), column, "")
            model = _scalar(entries.get("model"))
            if key == "metrics" and model is not None and node.name in model.value:
                for part in ("expression", "where", "dimensions"):
                    locations += _scalars(text, entries.get(part), column, part)
            if key == "unit_tests":
                locations += _rows(text, entries, node, column)
    return locations


def selected_names(text: FileText, model: str) -> Iterator[Location]:
    """Yield where selectors.yml names a model: in a selector, with or without `+` and `fqn:`."""
    root, _ = parse_yaml(text)
    for item in _items(dict(_entries(root)).get("selectors")):
        yield from _selectors(text, dict(_entries(item)).get("definition"), model)


_SELECTED = re.compile(r"@?(?:\d*\+)?(?:fqn:)?([^+:@]*?)(?:\+\d*)?")


def _selectors(text: FileText, node: Node | None, model: str) -> Iterator[Location]:
    match node:
        case ScalarNode():
            start, stop = node_span(text, node)
            for word in re.finditer(r"[^\s,'\"]+", text.content[start:stop]):
                selected = _SELECTED.fullmatch(word[0])
                if selected is not None and selected[1].rpartition(".")[2] == model:
                    end = start + word.start() + selected.end(1)
                    yield text.location(end - len(model), end)
        case MappingNode():
            method = _scalar(dict(_entries(node)).get("method"))
            for key, value in _entries(node):
                names = method is None or method.value == "fqn"
                if (
                    names and key in {"value", "union", "intersection", "exclude", "fqn"}
                ) or key == "exclude":
                    yield from _selectors(text, value, model)
        case SequenceNode():
            for item in node.value:
                yield from _selectors(text, item, model)


def _scalars(text: FileText, node: Node | None, column: str, key: str) -> Iterator[Location]:
    match node:
        case ScalarNode():
            start, stop = node_span(text, node)
            written = text.content[start:stop]
            words = re.finditer(rf"(?<![\w.]){re.escape(column)}(?!\w)", written)
            if key in _EXPRESSIONS or node.value == column:
                yield from (text.location(start + word.start(), start + word.end()) for word in words)
        case MappingNode():
            for name, value in _entries(node):
                yield from _scalars(text, value, column, name)
        case SequenceNode():
            for item in node.value:
                yield from _scalars(text, item, column, key)


def fixtures_of(text: FileText, node: NodeId) -> Iterator[str]:
    """Yield the names of the CSV files that unit tests read rows of a relation from."""
    root, _ = parse_yaml(text)
    for item in _items(dict(_entries(root)).get("unit_tests")):
        for holder, _ in _row_nodes(dict(_entries(item)), node):
            name = _scalar(dict(_entries(holder)).get("fixture"))
            if name is not None:
                yield name.value


def _rows(text: FileText, entries: dict[str, Node], node: NodeId, column: str) -> Iterator[Location]:
    """Yield the keys of a unit test's rows that are a column of the relation."""
    for _, rows in _row_nodes(entries, node):
        yield from _keys(text, rows, column)


def _row_nodes(entries: dict[str, Node], node: NodeId) -> Iterator[tuple[Node, Node | None]]:
    """Yield what a unit test expects and gives of a relation: what may name a fixture, and its rows."""
    model = _scalar(entries.get("model"))
    for part in (entries, *(dict(_entries(step)) for step in _items(entries.get("steps")))):
        expected = part.get("expect")
        if expected is not None and model is not None and model.value.lstrip("+") == node.name:
            yield expected, expected
        for item in _items(part.get("given")):
            given_entries = dict(_entries(item))
            read = _scalar(given_entries.get("input"))
            if read is not None and re.search(rf"ref\(\s*['\"]{node.name}['\"]\s*\)", read.value):
                yield item, given_entries.get("rows")


def _keys(text: FileText, rows: Node | None, column: str) -> Iterator[Location]:
    match rows:
        case ScalarNode():
            yield from header_in_yaml(text, rows, column)
        case SequenceNode():
            for row in rows.value:
                yield from _keys(text, row, column)
        case MappingNode():
            for key, value in rows.value:
                if isinstance(key, ScalarNode) and key.value.lower() == column.lower():
                    yield _location(text, key)
                elif isinstance(key, ScalarNode) and key.value == "rows":
                    yield from _keys(text, value, column)
