"""Finds the models whose meaning changed, and the edits that changed it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.graph import walk_graph
from millstream.compile.manifest import Manifest, ManifestNode
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Node
from millstream.queries.topology import Topology
from millstream.sameness.row_meaning import ModelMeaning, ModelMeanings, model_meanings
from millstream.sameness.unchanged_models import SameRows

Causes = frozenset[NodeId]
_NONE: Causes = frozenset()


class MeaningChange(Struct, frozen=True):
    """How the meaning of a model changed that exists in both versions."""

    rows: Causes = _NONE
    """The ids whose edit changed which rows exist; empty: the rows are the same."""
    columns: dict[str, Causes] = {}
    """For each changed column, by name in lower case, the ids whose edit changed it."""
    sql_changed: bool = False
    """The meaning of its own SQL changed."""
    extras: tuple[str, ...] = ()
    """Options whose SQL has another meaning."""
    only_kept_rows: bool = False
    """Only its own options changed which of the same rows its table keeps."""

    @property
    def changed(self) -> bool:
        return bool(self.rows or self.columns or self.extras)

    @property
    def causes(self) -> Causes:
        return self.rows.union(*self.columns.values())


class Comparison(Struct, frozen=True):
    changes: dict[NodeId, MeaningChange]
    """By id of the model."""
    before: ModelMeanings
    after: ModelMeanings


def compare_meanings(
    old: tuple[Manifest, Topology], new: tuple[Manifest, Topology], edited: Causes, same: SameRows
) -> Comparison:
    """Compare the models of two versions; `edited` are the sources, seeds and functions that changed.

    `same` are the models with the same rows.
    """
    old_models, new_models = old[1].catalog.models, new[1].catalog.models
    edited_models = {
        id_ for id_ in old_models.keys() | new_models.keys() if old_models.get(id_) != new_models.get(id_)
    }
    touched = _touched(old, new, edited | edited_models)
    before, after = (
        model_meanings(
            topology.catalog, _seeds(manifest), _read(manifest, topology, touched), touched, edited_models
        )
        for manifest, topology in (old, new)
    )
    changes: dict[NodeId, MeaningChange] = {}
    for id_ in new_models:  # each model after those that it reads
        if id_ in touched and id_ in before.by_sources:
            change = _change(new[0].nodes[id_], before, after, edited, changes)
            if change.changed or change.sql_changed:
                changes[id_] = change
    equal = Causes(id_ for id_ in changes if id_ in edited_models and id_ in same)
    return Comparison(_without(equal, changes) if equal else changes, before, after)


def _without(equal: Causes, changes: Mapping[NodeId, MeaningChange]) -> dict[NodeId, MeaningChange]:
    """Return the changes without those that come from models with the same rows in other words."""
    remaining_changes: dict[NodeId, MeaningChange] = {}
    for id_, change in changes.items():
        columns = {name: causes - equal for name, causes in change.columns.items()}
        remaining = MeaningChange(
            rows=change.rows - equal,
            columns={name: causes for name, causes in columns.items() if causes},
            sql_changed=change.sql_changed and id_ not in equal,
            extras=() if id_ in equal else change.extras,
            only_kept_rows=change.only_kept_rows and id_ not in equal,
        )
        if remaining.changed or remaining.sql_changed:
            remaining_changes[id_] = remaining
    return remaining_changes


def _touched(old: tuple[Manifest, Topology], new: tuple[Manifest, Topology], edited: Causes) -> Causes:
    """Return the models whose meaning can have changed: those that were edited, and all downstream."""
    touched: set[NodeId] = set(edited)
    for manifest, topology in (old, new):
        for id_ in topology.catalog.models:
            node = manifest.nodes[id_]
            reads = {*node.depends_on, *(NodeId("function", name) for name in node.functions)}
            if not touched.isdisjoint(reads):
                touched.add(id_)
    return Causes(touched)


def _read(manifest: Manifest, topology: Topology, models: Causes) -> dict[NodeId, Node]:
    """Return the plan nodes of some models, and of all models upstream."""
    nodes = manifest.nodes
    parents = {id_: tuple(e for e in node.depends_on if e in nodes) for id_, node in nodes.items()}
    read = models | walk_graph((id_ for id_ in models if id_ in nodes), parents)
    return {id_: root for id_, root in topology.roots.items() if id_ in read}


def _seeds(manifest: Manifest) -> dict[NodeId, str]:
    return {id_: node.checksum for id_, node in manifest.nodes.items() if node.kind == "seed"}


def _change(
    node: ManifestNode,
    old: ModelMeanings,
    new: ModelMeanings,
    edited: Causes,
    changes: Mapping[NodeId, MeaningChange],
) -> MeaningChange:
    same = ModelMeaning("", {})
    sql_meanings = old.by_inputs.get(node.id, same), new.by_inputs.get(node.id, same)
    full_meanings = old.by_sources[node.id], new.by_sources[node.id]
    functions = edited.intersection(NodeId("function", name) for name in node.functions)
    itself = Causes((node.id,))
    if full_meanings[0].rows == full_meanings[1].rows:
        rows = _NONE
    elif sql_meanings[0].rows != sql_meanings[1].rows:
        rows = itself
    else:
        rows = functions or _above_rows(node, edited, changes) or itself
    columns: dict[str, Causes] = {}
    for column in node.columns:
        name = column.name.lower()
        was, now = full_meanings[0].columns.get(name), full_meanings[1].columns.get(name)
        if was is None or now is None or was == now:
            continue
        if sql_meanings[0].columns.get(name) != sql_meanings[1].columns.get(name):
            columns[name] = itself
        else:
            read = [(influence.relation, influence.column) for influence in column.influences]
            columns[name] = _above(read, edited, changes) or functions or itself
    extras = {*full_meanings[0].extras.items()} ^ {*full_meanings[1].extras.items()}
    if sql_meanings[0].retention != sql_meanings[1].retention:
        rows |= itself
    elif full_meanings[0].retention != full_meanings[1].retention:
        # The column by which the table keeps the newest row has other values.
        rows = rows.union(*columns.values()) or itself
    return MeaningChange(
        rows=rows,
        columns=columns,
        sql_changed=replace(sql_meanings[0], retention="") != replace(sql_meanings[1], retention=""),
        extras=tuple(sorted({name for name, _ in extras})),
        only_kept_rows=sql_meanings[0].retention != sql_meanings[1].retention
        and _sql(sql_meanings[0]) == _sql(sql_meanings[1]),
    )


def _sql(meaning: ModelMeaning) -> ModelMeaning:
    return replace(meaning, retention="", extras={})


def _above(
    read: Iterable[tuple[NodeId, str]], edited: Causes, changes: Mapping[NodeId, MeaningChange]
) -> Causes:
    causes: set[NodeId] = set()
    for relation, column in read:
        if relation in edited:
            causes.add(relation)
        elif relation in changes:
            causes |= changes[relation].columns.get(column.lower(), _NONE)
    return Causes(causes)


def _above_rows(node: ManifestNode, edited: Causes, changes: Mapping[NodeId, MeaningChange]) -> Causes:
    read = [(influence.relation, influence.column) for influence in node.influences]
    causes = set(_above(read, edited, changes))
    for relation in node.depends_on:
        if relation in edited:
            causes.add(relation)
        elif relation in changes:
            causes |= changes[relation].rows
    return Causes(causes)
