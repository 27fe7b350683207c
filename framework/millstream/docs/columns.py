"""The columns of every entry, each with the columns that it is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.docs.index import Index
from millstream.docs.markdown import markup
from millstream.docs.values import Column, ColumnEdge, Columns
from millstream.manifest import Influence, Manifest, ManifestNode

Positions = Mapping[str, Mapping[str, int]]
"""The position of each column, by node id and name in lower case."""


def columns(manifest: Manifest, found: Index) -> tuple[Columns, ...]:
    positions = {
        id_: {column.name.lower(): position for position, column in enumerate(node.columns)}
        for id_, node in manifest.nodes.items()
    }
    nodes = manifest.nodes
    return tuple(
        _of_node(nodes[entry.id], found, positions) if entry.id in nodes else Columns()
        for entry in found.entries
    )


def _of_node(node: ManifestNode, found: Index, positions: Positions) -> Columns:
    tests = _tests(node, found)
    return Columns(
        tuple(
            Column(
                column.name,
                column.type,
                not column.nullable,
                markup(column.description),
                tests.get(column.name.lower(), ()),
                tuple(_edges(column.influences, found, positions)),
            )
            for column in node.columns
        ),
        tuple(_edges(node.influences, found, positions)),
    )


def _tests(node: ManifestNode, found: Index) -> dict[str, tuple[int, ...]]:
    if not any(column.tests for column in node.columns):
        return {}
    listed: dict[str, list[int]] = {}
    for number in found.tests.get(found.numbers[node.id], ()):
        if column := found.checked.get(number):
            listed.setdefault(column.lower(), []).append(number)
    return {name: tuple(numbers) for name, numbers in listed.items()}


def _edges(influences: Iterable[Influence], found: Index, positions: Positions) -> Iterable[ColumnEdge]:
    for each in influences:
        entry = found.numbers.get(each.relation)
        position = positions.get(each.relation, {}).get(each.column.lower())
        if entry is not None and position is not None:
            yield ColumnEdge(entry, position, each.kind)
