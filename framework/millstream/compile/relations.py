"""Returns sources and seeds as relations for SQL."""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.core.types import UNKNOWN
from millstream.formats.registry import format_of
from millstream.plan.from_sql.catalog import VERSION_COLUMNS
from millstream.project.values import DeclaredColumn, DeclaredSource, Project, RowSource, Seed, Topic
from millstream.sources.registry import source_declaration
from millstream.sql.values import InputRelation, RelationColumn


def source_relation(source: DeclaredSource, broken: frozenset[str]) -> InputRelation:
    """Return a source's declared columns, and its metadata, which `*` excludes."""
    match source:
        case Topic():
            return topic_relation(source, broken)
        case RowSource():
            columns = (*map(_declared, source.columns), *metadata_of(source))
            return InputRelation(NodeId("source", source.id), columns, source.location.path in broken)


def topic_relation(topic: Topic, broken: frozenset[str]) -> InputRelation:
    """Return a topic's columns: its key, declared columns, and metadata, which `*` excludes."""
    names = {column.name.lower() for column in topic.columns}
    columns: list[RelationColumn] = []
    if topic.key and not topic.key.parts and topic.key.name.lower() not in names:
        columns.append(RelationColumn(topic.key.name, topic.key.type, nullable=not topic.table))
    columns += [_declared(column) for column in topic.columns]
    if not topic.columns:
        columns += [RelationColumn(field.name, field.type) for field in format_of(topic.format).columns]
    # A file with errors may declare columns that could not be read.
    is_open = topic.incomplete or topic.location.path in broken
    if topic.versions:
        return InputRelation(
            NodeId("source", topic.id),
            with_versions(columns, topic.key.columns if topic.key else ()),
            is_open,
        )
    columns += metadata_of(topic)
    return InputRelation(NodeId("source", topic.id), tuple(columns), is_open)


def metadata_of(source: DeclaredSource) -> tuple[RelationColumn, ...]:
    key = source.key.type if isinstance(source, Topic) and source.key else None
    return tuple(
        RelationColumn(
            column.name,
            key if key is not None and column.name == "_key" else column.type,
            nullable=column.nullable,
            hidden=True,
        )
        for column in source_declaration(source.kind).metadata
    )


def with_versions(columns: Iterable[RelationColumn], keys: Collection[str]) -> tuple[RelationColumn, ...]:
    """Return the columns of a table that keeps versions; an empty one has only its key and its times."""
    folded = {key.lower() for key in keys}
    versioned = (
        column if column.name.lower() in folded else replace(column, nullable=True) for column in columns
    )
    return (*versioned, *(RelationColumn(column.name, column.type) for column in VERSION_COLUMNS))


def seed_relation(seed: Seed, broken: frozenset[str] = frozenset()) -> InputRelation:
    if seed.path in broken:
        return InputRelation(NodeId("seed", seed.name), (), open=True)
    return InputRelation(NodeId("seed", seed.name), tuple(map(_declared, seed.columns)))


def _declared(column: DeclaredColumn) -> RelationColumn:
    return RelationColumn(column.name, column.type or UNKNOWN, column.nullable)


def input_relations(project: Project, broken: frozenset[str]) -> dict[NodeId, InputRelation]:
    """Return every source and seed by node id."""
    relations = {
        NodeId("source", source.id): source_relation(source, broken) for source in project.sources.values()
    }
    return relations | {
        NodeId("seed", seed.name): seed_relation(seed, broken) for seed in project.seeds.values()
    }
