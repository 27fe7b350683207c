"""Finds models that have the same rows in two versions, however their SQL is written.

Unlike in `row_meaning`, expressions are equal if their values are, not only if their texts are. What is not
proven to be equal counts as different.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from millstream.core.cached_property import once
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.plan.nodes import Node
from millstream.sameness.row_meaning import function_digests

if TYPE_CHECKING:
    from millstream.sameness.canonical_columns import EqualValues

Version = tuple[Catalog, Mapping[NodeId, Node]]
"""A catalog, and the root of each model as written."""


class SameRows:
    """Whether models have the same rows, columns and place in two versions."""

    def __init__(self, old: Version, new: Version) -> None:
        self._old, self._new = old, new
        self._functions = function_digests(old[0]) == function_digests(new[0])
        self._answers: dict[NodeId, bool] = {}

    def __contains__(self, id_: NodeId) -> bool:
        if id_ not in self._answers:
            self._answers[id_] = self._is_same(id_)
        return self._answers[id_]

    def _is_same(self, id_: NodeId) -> bool:
        old, new = self._old[0].models.get(id_), self._new[0].models.get(id_)
        if old is None or new is None or not self._is_stored_alike(old, new):
            return False
        if old == new and self._functions:
            # The same SQL over the same rows needs no comparison, which takes much longer.
            views = [relation for relation in old.reads if _is_view(self._old[0], relation)]
            others = [relation for relation in old.reads if relation not in views]
            if not all(relation in self for relation in views):
                return False
            if all(
                _declared(self._old[0], relation) == _declared(self._new[0], relation) for relation in others
            ):
                return True
        before, after = self._equal_values
        return before.model(self._old[1][id_], old) == after.model(self._new[1][id_], new)

    def _is_stored_alike(self, old: ModelSpec, new: ModelSpec) -> bool:
        """Return whether two versions of a model are stored alike, whatever their rows are.

        The rows say which values are NULL. Whether others could be matters only to readers and records.
        """
        unread = old.materialization.at_rest and old.id not in self._read
        return _storage(old, any_null=unread) == _storage(new, any_null=unread)

    @once
    def _read(self) -> frozenset[NodeId]:
        """The relations that any model reads, in either version."""
        models = (*self._old[0].models.values(), *self._new[0].models.values())
        return frozenset(relation for spec in models for relation in spec.reads)

    @once
    def _equal_values(self) -> tuple[EqualValues, EqualValues]:
        # This imports sqlglot, which a project without changes does not need.
        from millstream.sameness.canonical_columns import equal_values

        return equal_values(self._old[0], self._new[0])


def _storage(spec: ModelSpec, *, any_null: bool) -> object:
    """Return what must be the same besides the rows; with `any_null`, not whether values can be NULL."""
    keys = {key.lower() for key in spec.keys}
    types = {
        name: (str(column.type), column.nullable and (name in keys or not any_null))
        for column in spec.columns
        for name in [column.name.lower()]
    }
    kept_out = tuple(check for check in spec.checks if check.keeps_out)
    return spec.materialization, types, spec.options, kept_out


def _is_view(catalog: Catalog, relation: NodeId) -> bool:
    spec = catalog.models.get(relation)
    return spec is not None and spec.materialization.inlined


def _declared(catalog: Catalog, relation: NodeId) -> object:
    """Return what can make the rows of a relation others, or the columns of what a model stores."""
    if (spec := catalog.models.get(relation)) is not None:
        return spec.columns
    return catalog.sources.get(relation) or catalog.seeds.get(relation)
