"""What a test can give for each relation: columns, and metadata of records."""

from __future__ import annotations

from msgspec import Struct

from millstream.core.expressions import quote_name, render_sql
from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.types import Type
from millstream.formats.registry import format_of
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.from_sql.plan import StandIn, stored_rows_read, streamed_versions, traits_of_models
from millstream.plan.from_sql.topics import topic_node
from millstream.plan.from_sql.versions import stored_versions
from millstream.plan.nodes import Column
from millstream.testing.units.values import DELETED, HEADERS

RECORD = ("_key", "_partition", "_timestamp", "_headers", "_value")
"""The metadata of a record; `_value` is its value in bytes, before decoding."""


class UnitRelation(Struct, frozen=True):
    id: NodeId
    columns: dict[str, Type]
    """The columns that rows can give."""
    derived: dict[str, str] = {}
    """Columns that are computed when a record is decoded, each with the columns it depends on."""
    metadata: tuple[str, ...] = ()
    """Other names that rows can give."""
    topics: tuple[str, ...] = ()
    """The topics of which rows can be, if there are several."""
    pattern: str = ""
    """The pattern of those topics, if they are not named."""
    sent: tuple[str, ...] = ()
    """Other names that only expected rows can have: parts of a sink's records."""

    def column(self, name: str) -> str | None:
        """Return a column by its name in any case."""
        folded = name.lower()
        return next((column for column in self.columns if column.lower() == folded), None)


class UnitRelations:
    """The relations of a compiled project."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.traits = traits_of_models(catalog)
        self.streamed = streamed_versions(catalog)
        """By model, the reference topics whose records it reads as they come, as of a time."""
        self.stored_rows = stored_rows_read(catalog)
        """By model, the append-only tables that it reads as they are stored."""

    def stand_in(self, id_: NodeId) -> StandIn:
        return StandIn(self.catalog.models[id_], self.traits[id_])

    def find(self, id_: NodeId, model: NodeId = NO_NODE) -> UnitRelation | None:
        """Return a relation as a model reads it, by its id; `model.x` is a seed if no model has that name."""
        topic, streamed = self.catalog.topics.get(id_), id_ in self.streamed.get(model, ())
        if topic is not None and topic.versions and not streamed:
            versions = stored_versions(topic, at_rest=False)
            return UnitRelation(id_, _typed(versions.columns), metadata=(DELETED,))
        if topic is not None:
            columns = _typed((topic.key,) if topic.key else ()) | _typed(topic.fields)
            columns |= {field.name: field.type for field in format_of(topic.format).of_change}
            columns |= _typed(tuple(topic_node(topic).column(name) for name in topic.key_columns))
            derived = {
                name: ", ".join(sorted(derivation.columns))
                for name, derivation in topic.derived
                if name not in topic.key_columns
            }
            topics = topic.topics if topic.several else ()
            metadata = (*RECORD, *((DELETED,) if streamed else ()), *(["_topic"] if topics else []))
            return UnitRelation(id_, columns, derived, metadata, topics, topic.pattern)
        if (source := self.catalog.row_sources.get(id_)) is not None:
            derived = {name: ", ".join(sorted(derivation.columns)) for name, derivation in source.derived}
            read = source.columns if source.unique_by else (*source.columns, *source.metadata)
            metadata = (DELETED,) if source.unique_by else ()
            columns = _typed(tuple(column for column in read if column.name not in derived))
            return UnitRelation(id_, columns, derived, metadata)
        if id_ in self.catalog.models:
            spec = self.catalog.models[id_]
            table = spec.materialization.table
            deletes = (table is not None and table.delete_by) or id_ in self.stored_rows.get(model, ())
            metadata = (DELETED,) if deletes or self.traits[id_].mode == "upsert" else ()
            sent = (HEADERS,) if spec.materialization.sends_records else ()
            return UnitRelation(id_, _typed(spec.columns), metadata=metadata, sent=sent)
        seed = NodeId("seed", id_.name)
        if seed in self.catalog.seeds:
            return UnitRelation(seed, _typed(self.catalog.seeds[seed].columns))
        return None

    def stored(self, id_: NodeId) -> tuple[tuple[Column, ...], tuple[str, ...]] | None:
        """Return the columns and keys of rows that a test gives as a table has them; None for records.

        Those of a source have no columns that are `computed`.
        """
        if (topic := self.catalog.topics.get(id_)) is not None:
            versions = stored_versions(topic, at_rest=False)
            return (versions.columns, versions.keys) if topic.versions else None
        if (source := self.catalog.row_sources.get(id_)) is not None:
            derived = dict(source.derived)
            read = (*source.columns, *source.metadata)
            return tuple(column for column in read if column.name not in derived), source.unique_by
        if (seed := self.catalog.seeds.get(id_)) is not None:
            return seed.columns, ()
        spec = self.catalog.models[id_]
        return spec.columns, spec.keys

    def computed(self, id_: NodeId) -> tuple[str, ...]:
        """Return the columns that are computed from those which a test gives, as SQL."""
        source = self.catalog.row_sources.get(id_)
        derived = () if source is None else source.derived
        return tuple(f"{render_sql(expression)} as {quote_name(name)}" for name, expression in derived)


def _typed(columns: tuple[Column, ...]) -> dict[str, Type]:
    return {column.name: column.type for column in columns}
