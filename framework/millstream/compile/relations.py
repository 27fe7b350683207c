"""Returns sources and seeds as relations for SQL."""

from collections.abc import Collection, Iterable

from msgspec.structs import replace

from millstream.core.types import BIGINT, BINARY, INT, STRING, TIMESTAMP, UNKNOWN, Array, Field, Row
from millstream.formats.registry import format_of
from millstream.plan.from_sql.catalog import VERSION_COLUMNS
from millstream.project.values import Column, Project, Seed, Topic
from millstream.sql.values import InputRelation, RelationColumn

HEADERS = Array(Row((Field("key", STRING), Field("value", BINARY))))


def topic_relation(topic: Topic, broken: frozenset[str]) -> InputRelation:
    """Return a topic's columns: its key, declared columns, and metadata, which `*` excludes."""
    names = {column.name.lower() for column in topic.columns}
    columns: list[RelationColumn] = []
    if topic.key and topic.key.name.lower() not in names:
        columns.append(RelationColumn(topic.key.name, topic.key.type, nullable=not topic.table))
    columns += [_declared(column) for column in topic.columns]
    if not topic.columns:
        columns += [RelationColumn(field.name, field.type) for field in format_of(topic.format).columns]
    # A file with errors may declare columns that could not be read.
    is_open = topic.incomplete or topic.location.path in broken
    if topic.versions:
        return InputRelation(
            f"source.{topic.id}", with_versions(columns, [topic.key.name] if topic.key else []), is_open
        )
    columns += metadata_of(topic)
    return InputRelation(f"source.{topic.id}", tuple(columns), is_open)


def metadata_of(topic: Topic) -> tuple[RelationColumn, ...]:
    return (
        RelationColumn("_key", topic.key.type if topic.key else STRING, hidden=True),
        RelationColumn("_topic", STRING, nullable=False, hidden=True),
        RelationColumn("_partition", INT, nullable=False, hidden=True),
        RelationColumn("_offset", BIGINT, nullable=False, hidden=True),
        RelationColumn("_timestamp", TIMESTAMP, nullable=False, hidden=True),
        RelationColumn("_headers", HEADERS, hidden=True),
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
        return InputRelation(f"seed.{seed.name}", (), open=True)
    return InputRelation(f"seed.{seed.name}", tuple(map(_declared, seed.columns)))


def _declared(column: Column) -> RelationColumn:
    return RelationColumn(column.name, column.type or UNKNOWN, column.nullable)


def input_relations(project: Project, broken: frozenset[str]) -> dict[str, InputRelation]:
    """Return every source and seed by node id."""
    relations = {f"source.{topic.id}": topic_relation(topic, broken) for topic in project.sources.values()}
    return relations | {f"seed.{seed.name}": seed_relation(seed, broken) for seed in project.seeds.values()}
