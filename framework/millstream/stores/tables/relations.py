"""The relations of a project that a query may name, including those that are not tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, did_you_mean
from millstream.core.node_id import NodeId
from millstream.outputs.registry import KINDS, Materialization
from millstream.sql.dialect_words import mentioned_names


class StoredRelation(Struct, frozen=True):
    id: NodeId
    name: str
    """The name in SQL: `totals`, `shop.products`."""
    kind: str
    """`seed`, `reference`, `topic`, or the materialization of a model."""
    columns: tuple[tuple[str, str], ...] = ()
    """Names and types, according to the project."""
    options: dict[str, Any] = {}
    seeds: tuple[str, ...] = ()
    """The names of the seeds that a view reads, if it reads nothing else."""

    @property
    def stored(self) -> type[Materialization] | None:
        return KINDS.get(self.kind)

    @property
    def at_rest(self) -> bool:
        return self.stored.keeps_rows if self.stored is not None else self.kind in {"reference", "seed"}


def relations_in(nodes: Iterable[ManifestNode]) -> dict[str, StoredRelation]:
    """Return the relations of a project by their names in lower case."""
    by_id = {node.id: node for node in nodes}
    relations = [
        StoredRelation(
            node.id,
            node.id.name,
            kind,
            tuple((column.name, column.type) for column in node.columns),
            node.config,
            _seeds(node, by_id),
        )
        for node in by_id.values()
        if (kind := _kind(node)) is not None
    ]
    return {relation.name.lower(): relation for relation in relations}


def _seeds(node: ManifestNode, by_id: Mapping[NodeId, ManifestNode]) -> tuple[str, ...]:
    seeds: dict[str, None] = {}
    waiting = [node]
    while waiting:
        for below in (by_id[id_] for id_ in waiting.pop().depends_on if id_ in by_id):
            stored = below.materialization
            if below.kind == "seed":
                seeds[below.name] = None
            elif stored is not None and stored.inlined and not stored.stored_as:
                waiting.append(below)
            else:
                return ()
    return tuple(seeds)


def _kind(node: ManifestNode) -> str | None:
    match node.kind:
        case "seed":
            return "seed"
        case "source":
            return "reference" if node.config.get("table") else "topic"
        case _:
            return node.materialization.word if node.materialization else None


def named_tables(sql: str, relations: Mapping[str, StoredRelation]) -> list[StoredRelation]:
    """Return the tables and seeds that a query names, without duplicates; equal names of columns count."""
    named = (relations.get(name.lower()) for name, _ in mentioned_names(sql))
    return list(
        {relation.id: relation for relation in named if relation is not None and relation.at_rest}.values()
    )


def missing_table(name: str, relations: Mapping[str, StoredRelation]) -> Diagnostic:
    """Return why a query can't read a table of this name."""
    # `products` may mean `shop.products`.
    short = next(
        (relation for full, relation in relations.items() if full.endswith(f".{name.lower()}")), None
    )
    relation = relations.get(name.lower()) or (short if short and short.kind == "topic" else None)
    if relation is None:
        tables = [relation.name for relation in relations.values() if relation.at_rest]
        available = f"tables and seeds: {', '.join(tables) or 'none yet'}"
        remedy = f"did you mean '{short.name}'?" if short else did_you_mean(name, tables, available)
        return Diagnostic("MS842", f"there is no table '{name}'", None, remedy)
    if relation.kind == "reference":
        return _unstored_reference(relation)
    if relation.at_rest:
        remedy = f"build it first: `millstream build --select +{relation.name}`"
        return Diagnostic("MS843", f"the table '{relation.name}' has not been built", None, remedy)
    if relation.stored is not None and not relation.stored.sends_records:
        message = f"'{relation.name}' is a {relation.kind}: its rows are not stored"
        remedy = f"see its newest rows with `millstream show {relation.name}`, or materialize it as a table"
        if relation.seeds:
            seeds = ", ".join(relation.seeds)
            remedy = f"see its rows with `millstream show {relation.name}`, or query what it reads: {seeds}"
        return Diagnostic("MS844", message, None, remedy)
    remedy = f"read its records with `millstream consume {relation.name}`"
    if relation.stored is None:
        remedy += ", or set table: true in YAML"
    return Diagnostic("MS844", f"'{relation.name}' is a Kafka topic, not a table", None, remedy)


def _unstored_reference(relation: StoredRelation) -> Diagnostic:
    """Return why a reference topic is not a table; a join as of the time of a stream makes none of it."""
    message = f"'{relation.name}' has not been built: no model that was built looks it up"
    if relation.options.get("versions"):
        message += "; a stream that joins it FOR SYSTEM_TIME AS OF keeps the versions in its state"
    remedy = (
        f"build a model that looks it up, such as a table over it: `millstream build`; or see its records: "
        f"`millstream consume {relation.name}`"
    )
    return Diagnostic("MS843", message, None, remedy)
