"""Kafka topics as sources: their keys in YAML, and the columns of their records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from millstream.core.types import (
    BIGINT,
    BINARY,
    INT,
    STRING,
    TIMESTAMP,
    Array,
    Field,
    Row,
)
from millstream.formats.registry import Encoding, format_of, function_of
from millstream.outputs.kinds import RENAMED_IN_TABLE, VALID_FROM, VALID_TO
from millstream.project.columns import ColumnReader, column_names
from millstream.project.kafka_option_errors import check_source
from millstream.project.shapes import KeyShape, SubjectShape
from millstream.project.values import DeclaredColumn, Topic, TopicKey
from millstream.sources.declaration import Declaration, GivenColumn
from millstream.sources.topic.encodings import read_encoding, read_key, read_schema_use
from millstream.sources.topic.history import read_history
from millstream.sources.topic.shapes import NO_CONFIG, TopicDefaults, TopicShape

_HEADERS = Array(Row((Field("key", STRING), Field("value", BINARY))))
METADATA = (
    GivenColumn("_key", STRING, nullable=True),
    GivenColumn("_topic", STRING),
    GivenColumn("_partition", INT),
    GivenColumn("_offset", BIGINT),
    GivenColumn("_timestamp", TIMESTAMP),
    GivenColumn("_headers", _HEADERS, nullable=True),
)
"""The key is text unless the topic declares another type."""

_OPTIONS = (
    "partitions", "replication", "topic_config", "options", "starting", "max_rows_per_trigger",
    "min_rows_per_trigger", "max_trigger_delay", "rows_per_second",
)  # fmt: skip


def _check(reader: ColumnReader, source: Any) -> None:
    """Check options of Kafka's consumer, of a source and its topics."""
    for shape in (source, *source.topics):
        check_source(reader, reader.location(shape, "options"), shape.options)


def _topic(reader: ColumnReader, source: Any, shape: TopicShape) -> Topic:
    reader.check_name(shape, shape.name, "source's topic")
    format_ = read_encoding(reader, source, shape)
    columns = reader.columns(shape.columns, "topic", {column.name for column in METADATA})
    topics = _kafka_names(reader, shape)
    at_key = reader.location(shape, "key")
    key = read_key(
        reader, shape.key or source.key, format_, topics[0], columns, at_key, table=bool(shape.table)
    )
    several = shape.topic_pattern is not None or len(topics) > 1
    if several:
        _check_several(reader, source, shape)
    if shape.table and key is None:
        message = f"reference table '{shape.name}' has no key"
        remedy = "add `key: {name: …}`: a table keeps the latest value per key"
        reader.report_at(reader.location(shape), "MS108", message, remedy)
    _check_columns(reader, shape, columns, format_)
    _check_times(reader, source, shape, format_)
    deduplicate = _deduplicate(reader, source, shape)
    return Topic(
        source=source.name,
        name=shape.name,
        topics=topics,
        pattern=shape.topic_pattern or "",
        location=reader.location(shape),
        columns=columns,
        key=key,
        format=format_,
        schema=read_schema_use(reader, shape, topics[0], shape.format or source.format, (source, shape)),
        table=shape.table,
        versions=_versions(reader, shape, [*columns, *((key,) if key else ())]),
        watermark=reader.watermark(
            shape.watermark or source.watermark,
            columns,
            {**({key.name: key.type} if key and key.name else {}), "_timestamp": TIMESTAMP},
        ),
        on_bad_record=shape.on_bad_record or source.on_bad_record or "fail",
        deduplicate=deduplicate,
        history=read_history(reader, shape, format_, several=several, deduplicate=deduplicate),
        description=shape.description,
        tags=tuple(dict.fromkeys((*column_names(source.tags), *column_names(shape.tags)))),
        owner=shape.owner or source.owner,
        meta=source.meta | shape.meta,
        tests=reader.tests(shape.tests, shape.data_tests),
        options=_options(source, shape),
    )


def _deduplicate(reader: ColumnReader, source: Any, shape: TopicShape) -> bool:
    if shape.deduplicate and shape.table:
        message = f"'{shape.name}' is a reference table: a record that is sent again changes nothing in it"
        reader.report_at(reader.location(shape, "deduplicate"), "MS680", message, "remove `deduplicate`")
    return bool(shape.deduplicate or source.deduplicate) and not shape.table


def _versions(reader: ColumnReader, shape: TopicShape, columns: Iterable[DeclaredColumn | TopicKey]) -> str:
    if not shape.versions:
        return ""
    location = reader.location(shape, "versions")
    if not shape.table:
        message = f"'{shape.name}' is not a reference topic: each of its records is a row of its own"
        reader.report_at(location, "MS683", message, "add `table: true`, or remove `versions`")
        return ""
    for column in columns:
        if (name := column.name.lower()) in {VALID_FROM, VALID_TO}:
            message = f"a topic with `versions` gets a column '{name}', and declares another one"
            at_column = column.location if isinstance(column, DeclaredColumn) else location
            reader.report_at(at_column, "MS682", message, RENAMED_IN_TABLE)
    return shape.versions


def _check_times(reader: ColumnReader, source: Any, shape: TopicShape, format_: Encoding) -> None:
    """Report an event time of versions that deleted rows lack."""
    watermark = shape.watermark or source.watermark
    if (
        not (shape.versions and watermark and format_of(format_).of_change)
        or watermark.column == "_timestamp"
    ):
        return
    message = (
        f"a deleted row of '{shape.name}' has no {watermark.column}, by which its last version would end"
    )
    remedy = "remove `watermark`: versions then begin and end at the times of the records"
    part = shape if shape.watermark else source
    reader.report_at(reader.location(part, "watermark"), "MS107", message, remedy)


def _kafka_names(reader: ColumnReader, shape: TopicShape) -> tuple[str, ...]:
    """Return the names of a source's topics in Kafka, or the pattern of these."""
    if shape.topic_pattern is not None:
        _check_pattern(reader, shape, shape.topic_pattern)
        return (shape.topic_pattern,)
    if shape.topics is not None:
        location = reader.location(shape, "topics")
        if shape.topic is not None:
            message = f"'{shape.name}' has both `topic` and `topics`"
            reader.report_at(location, "MS107", message, "write all of its topics in `topics`")
        if not shape.topics:
            message = f"'{shape.name}' has no topics"
            reader.report_at(location, "MS107", message, "name its topics, or remove `topics`")
        if len({*shape.topics}) < len(shape.topics):
            twice = next(topic for topic in shape.topics if shape.topics.count(topic) > 1)
            message = f"'{shape.name}' has the topic '{twice}' twice"
            reader.report_at(location, "MS109", message, "keep one of them")
        if shape.topics:
            return tuple(dict.fromkeys(shape.topics))
    if shape.topic is None and "topic" not in shape.locations and len(shape.name) > 249:
        message = "a Kafka topic's name has at most 249 characters"
        reader.report_at(reader.location(shape), "MS110", message, "shorten it")
    return (shape.topic or shape.name,)


def _check_pattern(reader: ColumnReader, shape: TopicShape, pattern: str) -> None:
    location = reader.location(shape, "topic_pattern")
    try:
        re.compile(pattern)
    except re.error as error:
        message = f"'{pattern}' is not a regular expression: {error}"
        remedy = "write one that matches whole names, such as orders_.*"
        reader.report_at(location, "MS107", message, remedy)
    for key in ("topic", "topics"):
        if getattr(shape, key) is not None:
            message = f"'{shape.name}' has both `{key}` and `topic_pattern`"
            remedy = f"remove `{key}`, or name it in the pattern: orders_.*|returns"
            reader.report_at(location, "MS107", message, remedy)
    for key in ("partitions", "replication", "topic_config"):
        if getattr(shape, key):
            message = f"'{key}' is for topics that Millstream creates, and those of a pattern exist"
            reader.report_at(reader.location(shape, key), "MS107", message, "remove it")


def _check_several(reader: ColumnReader, source: Any, shape: TopicShape) -> None:
    """Report keys that apply to one topic only."""
    if shape.table:
        message = f"'{shape.name}' has several topics: which record of a key is its newest is not defined"
        remedy = "declare a source for each topic, or remove `table` and store a model as a table"
        reader.report_at(reader.location(shape, "table"), "MS107", message, remedy)
    for described in (shape, shape.key or source.key):
        if isinstance(described, TopicShape | KeyShape) and _is_named_by_topic(described):
            message = f"the subject has the name of a topic, and '{shape.name}' has several"
            remedy = "name the subject: `schema: {subject: …}`"
            reader.report_at(reader.location(described, "schema"), "MS107", message, remedy)


def _is_named_by_topic(shape: TopicShape | KeyShape) -> bool:
    match shape.schema:
        case SubjectShape():
            return shape.schema.subject is None and shape.schema.strategy != "record_name"
        case _:
            return shape.schema == "registry"


def _check_columns(
    reader: ColumnReader, shape: TopicShape, columns: tuple[DeclaredColumn, ...], format_: Encoding
) -> None:
    if format_of(format_).columns or function_of(format_.name) or "schema" in shape.locations:
        return
    language = format_of(format_).schemas
    if language is not None and language.required:
        message = f"topic '{shape.name}' has no schema, which {format_} needs"
        remedy = f"add `schema: schemas/{shape.name}{language.suffix}`"
        reader.report_at(reader.location(shape), "MS108", message, remedy)
        return
    _check_single(reader, shape, columns, format_)
    if not columns and "columns" not in shape.locations:
        message = f"topic '{shape.name}' has no columns"
        remedy = "add `columns: [{name: …, type: …}]`"
        reader.report_at(reader.location(shape), "MS108", message, remedy)
    for written, column in zip(shape.columns, columns, strict=True):
        if not (written.type or written.data_type or written.from_ or "type" in written.locations):
            message = f"column '{column.name}' has no type"
            reader.report_at(
                column.location, "MS108", message, f"add `type: …`: {format_} values have no types"
            )


def _check_single(
    reader: ColumnReader, shape: TopicShape, columns: tuple[DeclaredColumn, ...], format_: Encoding
) -> None:
    """Report columns that a value which is one column can't have."""
    decoded = [
        column.name for column, written in zip(columns, shape.columns, strict=True) if not written.from_
    ]
    if not format_of(format_).single or len(decoded) < 2:
        return
    message = f"a value in {format_} is one column, and {' and '.join(decoded)} are declared"
    remedy = "declare one column of the value's type, and others with `from`"
    reader.report_at(reader.location(shape, "columns"), "MS107", message, remedy)


def _options(source: Any, shape: TopicShape) -> dict[str, Any]:
    """Merge mappings, and let the topic override the rest."""
    options: dict[str, Any] = {}
    for part in (source, shape):
        for name in _OPTIONS:
            value = getattr(part, name)
            if isinstance(value, dict):
                value = options.get(name, {}) | value
            if value not in (None, {}):
                options[name] = value
        if part.hints:
            options |= {
                k: v for k in ("rows_per_second", "distinct", "keeps") if (v := getattr(part.hints, k))
            }
    return options


DECLARATION = Declaration(
    title="topic",
    key="topics",
    shape=TopicShape,
    read=_topic,
    defaults=TopicDefaults,
    check=_check,
    words=(
        ("tables", "write topics: …"),
        ("schema", "set the schema of each of its topics: schema: schemas/orders.json"),
        ("database", "a source is a set of topics of the target's Kafka"),
        ("freshness", "write below each topic: tests: [{freshness: {within: 1 hour}}]"),
        ("loaded_at_field", "write below each topic: tests: [{freshness: {within: 1 hour, column: …}}]"),
        ("loaded_at_query", "write below each topic: tests: [{freshness: {within: 1 hour, column: …}}]"),
        ("config", NO_CONFIG),
    ),
    metadata=METADATA,
    time="_timestamp",
    ends_anywhere=True,
)
