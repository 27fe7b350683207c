"""Replaces expected rows by actual ones in the file of a test; changes only what differs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from yaml.nodes import MappingNode, Node, SequenceNode

from millstream.core.text import FileText
from millstream.project.values import UnitTest
from millstream.project.yaml import mapping_entries, node_span
from millstream.testing.units.files import YamlFiles
from millstream.testing.units.row_diff import RowDiff, RowPair
from millstream.testing.units.values import DELETED
from millstream.testing.value_text import format_value

_PLAIN = re.compile(r"[A-Za-z_][\w@./ -]*\Z")
_WIDEST = 100

Edit = tuple[int, int, str]
"""Start and end offset in the file, and the new text between them."""


def update_expectations(
    files: YamlFiles, unit: UnitTest, differences: Iterable[tuple[int | None, RowDiff]]
) -> bool:
    """Write the actual rows into the file of a test; return False if they can't be written."""
    path = unit.location.path
    text, _ = files.file(path)
    edits: list[Edit] = []
    for step, diff in differences:
        node = _rows_node(files, unit, step)
        if node is None:
            return False
        edits += _edits(text, node, diff)
    content = text.content
    for start, stop, new in sorted(edits, reverse=True):
        content = content[:start] + new + content[stop:]
    Path(files.root, path).write_text(content, encoding="utf-8")
    files.forget(path)
    return True


def _rows_node(files: YamlFiles, unit: UnitTest, step: int | None) -> SequenceNode | None:
    """Return the list of expected rows; None if they are CSV."""
    node: Node | None = files.node(unit)
    if node is not None and step is not None:
        node = mapping_entries(node)["steps"][1].value[step]
    node = mapping_entries(node)["expect"][1] if node is not None else None
    if isinstance(node, MappingNode):
        node = mapping_entries(node)["rows"][1] if "rows" in mapping_entries(node) else None
    return node if isinstance(node, SequenceNode) else None


def _edits(text: FileText, rows: SequenceNode, diff: RowDiff) -> list[Edit]:
    by_line = {node_span(text, node)[0]: node for node in rows.value}
    missing = [pair for pair in diff.pairs if pair.actual is None]
    extra = [pair.actual for pair in diff.pairs if pair.expected is None and pair.actual is not None]
    changed = [pair for pair in diff.pairs if pair.expected is not None and pair.actual is not None]
    edits = [edit for pair in changed for edit in _row(text, _node(text, by_line, pair), pair)]
    if not missing and not extra:
        return edits
    new = [_flow({name: row[name] for name in diff.columns if name in row}) for row in extra]
    if rows.flow_style or not rows.value:
        removed = {id(_node(text, by_line, pair)) for pair in missing}
        return [_flow_list(text, rows, edits, removed, new)]
    for pair in missing:
        start, stop = node_span(text, _node(text, by_line, pair))
        first = text.content.rfind("\n", 0, start) + 1
        end = text.content.find("\n", stop)
        edits.append((first, len(text.content) if end < 0 else end + 1, ""))
    if new:
        start, stop = node_span(text, rows.value[-1])
        dash = text.content.rfind("-", 0, start)
        indent = dash - (text.content.rfind("\n", 0, dash) + 1)
        end = text.content.find("\n", stop)
        lines = "".join(f"{' ' * indent}- {row}\n" for row in new)
        edits.append((end + 1, end + 1, lines) if end >= 0 else (stop, stop, f"\n{lines.rstrip()}"))
    return edits


def _node(text: FileText, by_line: Mapping[int, Node], pair: RowPair) -> Node:
    assert pair.location is not None
    return by_line[text.offset(pair.location.line, pair.location.column)]


def _row(text: FileText, node: Node, pair: RowPair) -> list[Edit]:
    """Return the edits of one row, for each value that differs."""
    assert pair.expected is not None
    assert pair.actual is not None
    if DELETED in pair.wrong:
        names = [name for name in pair.actual if name in pair.expected or name == DELETED]
        return [(*node_span(text, node), _flow({name: pair.actual[name] for name in names}))]
    cells = {name.lower(): flow_value for name, (_, flow_value) in mapping_entries(node).items()}
    return [(*node_span(text, cells[name.lower()]), flow_value(pair.actual.get(name))) for name in pair.wrong]


def _flow_list(
    text: FileText, rows: SequenceNode, edits: Sequence[Edit], removed: set[int], new: Sequence[str]
) -> Edit:
    """Return the edit of a whole list in brackets."""
    items: list[str] = []
    for node in rows.value:
        if id(node) in removed:
            continue
        start, stop = node_span(text, node)
        row = text.content[start:stop]
        for first, last, replacement in sorted(edits, reverse=True):
            if start <= first and last <= stop:
                row = row[: first - start] + replacement + row[last - start :]
        items.append(row)
    items += new
    start, stop = node_span(text, rows)
    line = text.line(text.location(start).line)
    flow = f"[{', '.join(items)}]"
    if len(line) - (stop - start) + len(flow) > _WIDEST:
        indent = " " * (len(line) - len(line.lstrip(" -")) + 2)
        flow = "[" + ",".join(f"\n{indent}{row}" for row in items) + f"\n{indent[2:]}]"
    return start, stop, flow


def _flow(row: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name}: {flow_value(value)}" for name, value in row.items()) + "}"


def flow_value(value: Any) -> str:
    """Return a value as YAML within brackets."""
    match value:
        case str():
            plain = _PLAIN.match(value) and value == value.strip() and format_value(value) == value
            return value if plain else json.dumps(value, ensure_ascii=False)
        case datetime() | date():
            return f'"{format_value(value)}"'
        case Mapping():
            return _flow(value)
        case list():
            return "[" + ", ".join(map(flow_value, value)) + "]"
        case bytes():
            return f"{{hex: {value.hex()}}}" if not _is_text(value) else flow_value(value.decode())
        case float() if value.is_integer() and abs(value) < 1e15:
            return f"{value:.1f}"
        case Decimal() | None | bool() | int() | float():
            return format_value(value)
        case _:
            return json.dumps(str(value))


def _is_text(value: bytes) -> bool:
    try:
        return value.decode().isprintable()
    except UnicodeDecodeError:
        return False
