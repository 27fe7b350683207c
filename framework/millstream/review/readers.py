"""The readers of a column, down to exposures, and its tests."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from millstream.compile.graph import walk_graph
from millstream.compile.manifest import Manifest, ManifestNode
from millstream.core.node_id import NodeId
from millstream.review.values import ColumnUse

_VALUES = {"direct", "computed"}
_TESTS = {"test", "unit_test"}


class ColumnReaders:
    """The readers of one version's columns."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._direct: dict[tuple[NodeId, str], list[ColumnUse]] = defaultdict(list)
        children: dict[NodeId, list[NodeId]] = {id_: [] for id_ in manifest.nodes}
        for node in manifest.nodes.values():
            for parent in node.depends_on:
                if parent in children:
                    children[parent].append(node.id)
            for column in node.columns:
                for influence in column.influences:
                    reader = ColumnUse(node.id, column.name, influence.kind)
                    self._direct[influence.relation, influence.column.lower()].append(reader)
            for influence in node.influences:
                self._direct[influence.relation, influence.column.lower()].append(
                    ColumnUse(node.id, "", influence.kind)
                )
        self._children = {id_: tuple(ids) for id_, ids in children.items()}

    def of(self, id_: NodeId, column: str) -> tuple[ColumnUse, ...]:
        """Return the direct readers of a column."""
        readers = {(r.id, r.column, r.kind): r for r in self._direct.get((id_, column.lower()), ())}
        return tuple(readers[key] for key in sorted(readers))

    def downstream(self, id_: NodeId, column: str) -> tuple[NodeId, ...]:
        """Return the models that depend on a column, directly or not."""
        reached: set[NodeId] = set()
        level, seen = [(id_, column.lower())], {(id_, column.lower())}
        while level:
            following: list[tuple[NodeId, str]] = []
            for start in level:
                for reader in self._direct.get(start, ()):
                    reached.add(reader.id)
                    if not reader.column or reader.kind not in _VALUES:
                        reached |= self.below(reader.id)
                        continue
                    end = (reader.id, reader.column.lower())
                    if end not in seen:
                        seen.add(end)
                        following.append(end)
            level = following
        return tuple(sorted(node_id for node_id in reached if node_id.kind == "model"))

    def below(self, id_: NodeId) -> frozenset[NodeId]:
        """Return the models that read a relation, directly or not."""
        reached = walk_graph((id_,), self._children) if id_ in self._children else frozenset()
        return frozenset(node_id for node_id in reached if node_id.kind == "model")

    def exposures(self, id_: NodeId, column: str, models: Iterable[NodeId]) -> tuple[str, ...]:
        """Return the exposures of a relation and of those models, and the metrics that name the column."""
        reached = {id_, *models}
        exposures: list[str] = []
        for node in self._manifest.nodes.values():
            if not reached.intersection(node.depends_on):
                continue
            word = rf"\b{re.escape(column)}\b"
            if node.kind == "exposure" or (node.kind == "metric" and re.search(word, str(node.meta))):
                exposures.append(f"{node.kind} {node.name}")
        return tuple(sorted(exposures))

    def tests(self, id_: NodeId, column: str) -> tuple[str, ...]:
        """Return the tests of a column and those of the whole relation."""
        return tuple(
            sorted(
                node.name
                for node in self._manifest.nodes.values()
                if node.kind in _TESTS and id_ in node.depends_on and _tests(node, column)
            )
        )


def _tests(node: ManifestNode, column: str) -> bool:
    if node.kind == "unit_test" or not node.test:
        return True  # a test of a whole model, or in SQL
    tested = node.meta.get("column")
    if not tested:
        return bool(re.search(rf"\b{re.escape(column)}\b", str(node.meta)))
    # `relationships` names the column of the other relation in its arguments.
    field = (node.meta.get("arguments") or {}).get("field", "")
    return column.lower() in {str(tested).lower(), str(field).lower()}
