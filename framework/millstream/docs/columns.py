"""The columns of every entry, each with the columns that it is computed from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from millstream.compile.manifest import Influence, Manifest, ManifestNode
from millstream.docs.index import Index
from millstream.docs.markdown import markup
from millstream.docs.values import Column, ColumnEdge, Columns

Positions = Mapping[str, Mapping[str, int]]
"""The position of each column, by node id and name in lower case."""


def columns(manifest: Manifest, index: Index) -> tuple[Columns, ...]:
    positions = {
        id_: {column.name.lower(): position for position, column in enumerate(node.columns)}
        for id_, node in manifest.nodes.items()
    }
    nodes = manifest.nodes
    return tuple(
        _of_node(nodes[entry.id], index, positions) if entry.id in nodes else Columns()
        for entry in index.entries
    )


def _of_node(node: ManifestNode, index: Index, positions: Positions) -> Columns:
    tests = _tests(node, index)
    return Columns(
        tuple(
            Column(
                column.name,
                column.type,
                not column.nullable,
                markup(column.description),
                tests.get(column.name.lower(), ()),
                tuple(_edges(column.influences, index, positions)),
            )
            for column in node.columns
        ),
        tuple(_edges(node.influences, index, positions)),
    )


def _tests(node: ManifestNode, index: Index) -> dict[str, tuple[int, ...]]:
    if not any(column.tests for column in node.columns):
        return {}
    by_column: dict[str, list[int]] = {}
    for number in index.tests.get(index.numbers[node.id], ()):
        if column := index.checked.get(number):
            by_column.setdefault(column.lower(), []).append(number)
    return {name: tuple(numbers) for name, numbers in by_column.items()}


def _edges(influences: Iterable[Influence], index: Index, positions: Positions) -> Iterable[ColumnEdge]:
    for influence in influences:
        entry = index.numbers.get(influence.relation)
        position = positions.get(influence.relation, {}).get(influence.column.lower())
        if entry is not None and position is not None:
            yield ColumnEdge(entry, position, influence.kind)
