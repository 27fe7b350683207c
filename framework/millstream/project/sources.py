"""Sources of a properties file: topics, with the defaults of their source."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from millstream.errors import did_you_mean
from millstream.formats import DEFAULT, Encoding, format_of
from millstream.formats.format import Option
from millstream.project.columns import ColumnReader, names
from millstream.project.kafka_places import check_source
from millstream.project.shapes import KeyShape, SourceShape, SubjectShape, TopicShape, WatermarkShape
from millstream.project.values import Column, Key, RegistryUse, SchemaUse, Topic, Watermark
from millstream.types import STRING

_OPTIONS = (
    "partitions", "replication", "topic_config", "options", "starting", "max_rows_per_trigger",
    "min_rows_per_trigger", "max_trigger_delay", "rows_per_second",
)  # fmt: skip


def read_sources(reader: ColumnReader, shapes: list[SourceShape]) -> tuple[Topic, ...]:
    """Return the topics of all sources; a source may be written in several parts."""
    for source in shapes:
        reader.check_name(source, source.name, "source")
    for shape in (each for source in shapes for each in (source, *source.topics)):
        check_source(reader, reader.location(shape, "options"), shape.options)
    owners = {id(topic): source for source in shapes for topic in source.topics}
    reader.check_unique(
        [topic for source in shapes for topic in source.topics],
        lambda topic: f"{owners[id(topic)].name}.{topic.name}",
        "topic",
    )
    return tuple(_topic(reader, source, topic) for source in shapes for topic in source.topics)


def _topic(reader: ColumnReader, source: SourceShape, shape: TopicShape) -> Topic:
    reader.check_name(shape, shape.name, "source's topic")
    format_ = _encoding(reader, source, shape)
    framing = shape.framing or source.framing or DEFAULT.framing
    if framing != DEFAULT.framing and format_of(format_).schemas is None:
        place = shape if "framing" in shape.locations else source
        message = f"values in {format_} have no schema, and no id of one"
        reader.at(reader.location(place, "framing"), "MS107", message, "remove it, or change the format")
    columns = reader.columns(shape.columns, metadata=True)
    key = _key(reader, shape.key or source.key)
    if shape.table and key is None:
        message = f"reference table '{shape.name}' has no key"
        remedy = "add `key: {name: …}`: a table keeps the latest value per key"
        reader.at(reader.location(shape), "MS108", message, remedy)
    _check_columns(reader, shape, columns, format_)
    return Topic(
        source=source.name,
        name=shape.name,
        topic=_kafka_name(reader, shape),
        location=reader.location(shape),
        columns=columns,
        key=key,
        format=format_,
        schema=_schema(reader, source, shape),
        table=shape.table,
        watermark=_watermark(reader, shape.watermark or source.watermark, columns, key),
        on_bad_record=shape.on_bad_record or source.on_bad_record or "fail",
        description=shape.description,
        tags=tuple(dict.fromkeys((*names(source.tags), *names(shape.tags)))),
        owner=shape.owner or source.owner,
        meta=source.meta | shape.meta,
        tests=reader.tests(shape.tests, shape.data_tests),
        options=_options(source, shape),
    )


def _encoding(reader: ColumnReader, source: SourceShape, shape: TopicShape) -> Encoding:
    of_registry = shape.schema == "registry" or isinstance(shape.schema, SubjectShape)
    return Encoding(
        name=shape.format or source.format or DEFAULT.name,
        decoding=shape.decoding or source.decoding or DEFAULT.decoding,
        framing=shape.framing or source.framing or ("confluent" if of_registry else DEFAULT.framing),
        options=_format_options(reader, source, shape),
    )


def _format_options(
    reader: ColumnReader, source: SourceShape, shape: TopicShape
) -> tuple[tuple[str, str], ...]:
    """Return the options that differ from their defaults; those of the topic replace those of the source."""
    name = shape.format or source.format or DEFAULT.name
    known = format_of(name).options
    given: dict[str, str] = {}
    for part in (source, shape):
        place = reader.location(part, "format_options")
        for option, value in part.format_options.items():
            if option not in known:
                hint = did_you_mean(option, known, _known_options(name, known))
                reader.at(place, "MS106", f"format '{name}' has no option '{option}'", hint)
                continue
            text = str(value).lower() if isinstance(value, bool) else value
            if text != known[option].default and not re.fullmatch(known[option].pattern, text):
                message = f"'{value}' is not a valid {option}: {known[option].about}"
                reader.at(place, "MS107", message, f"write, for example, {option}: {known[option].example}")
                continue
            given[option] = text
    return tuple(sorted((key, text) for key, text in given.items() if text != known[key].default))


def _known_options(name: str, known: Mapping[str, Option]) -> str:
    return f"options of {name}: {', '.join(known)}" if known else f"remove it: {name} has no options"


def _schema(reader: ColumnReader, source: SourceShape, shape: TopicShape) -> SchemaUse | RegistryUse | None:
    location = reader.location(shape, "schema")
    topic, format_ = shape.topic or shape.name, shape.format or source.format or ""
    message = shape.message or ""
    match shape.schema:
        case None | "":
            return None
        case "registry":
            return RegistryUse(f"{topic}-value", location, format=format_, message=message)
        case SubjectShape() as given:
            subject = _subject(reader, given, topic)
            return RegistryUse(subject, location, given.version, format_, message)
        case path:
            return SchemaUse(posixpath.normpath(path), location, message)


def _subject(reader: ColumnReader, shape: SubjectShape, topic: str) -> str:
    """Return the name of a subject as the naming strategies of Confluent's serializers make it."""
    if shape.subject is not None and (shape.strategy or shape.record):
        message = "'subject' is the whole name: it excludes 'strategy' and 'record'"
        reader.at(reader.location(shape, "subject"), "MS107", message, "remove it, or the other two")
    elif shape.strategy in {"record_name", "topic_record_name"} and not shape.record:
        message = f"the strategy {shape.strategy} needs 'record'"
        remedy = "add the record's full name: record: com.example.Order"
        reader.at(reader.location(shape, "strategy"), "MS108", message, remedy)
    elif shape.record and shape.strategy in {None, "topic_name"}:
        message = "the strategy topic_name doesn't use 'record'"
        reader.at(reader.location(shape, "record"), "MS107", message, "remove it, or change the strategy")
    match shape.strategy:
        case "record_name":
            return shape.record or ""
        case "topic_record_name":
            return f"{topic}-{shape.record}"
        case _:
            return shape.subject or f"{topic}-value"


def _kafka_name(reader: ColumnReader, shape: TopicShape) -> str:
    if shape.topic is None and "topic" not in shape.locations and len(shape.name) > 249:
        message = "a Kafka topic's name has at most 249 characters"
        reader.at(reader.location(shape), "MS110", message, "shorten it")
    return shape.topic or shape.name


def _key(reader: ColumnReader, shape: KeyShape | str | None) -> Key | None:
    if isinstance(shape, KeyShape):
        reader.check_name(shape, shape.name, "column")
        return Key(shape.name, reader.type(shape.type) or STRING)
    return Key(shape, STRING) if shape else None


def _check_columns(
    reader: ColumnReader, shape: TopicShape, columns: tuple[Column, ...], format_: Encoding
) -> None:
    if format_of(format_).columns or "schema" in shape.locations:
        return
    language = format_of(format_).schemas
    if language is not None and language.required:
        message = f"topic '{shape.name}' has no schema, which {format_} needs"
        remedy = f"add `schema: schemas/{shape.name}{language.suffix}`"
        reader.at(reader.location(shape), "MS108", message, remedy)
        return
    if not columns and "columns" not in shape.locations:
        message = f"topic '{shape.name}' has no columns"
        remedy = "add `columns: [{name: …, type: …}]`"
        reader.at(reader.location(shape), "MS108", message, remedy)
    for written, column in zip(shape.columns, columns, strict=True):
        if not (written.type or written.data_type or written.from_ or "type" in written.locations):
            message = f"column '{column.name}' has no type"
            reader.at(column.location, "MS108", message, f"add `type: …`: {format_} values have no types")


def _watermark(
    reader: ColumnReader, shape: WatermarkShape | None, columns: tuple[Column, ...], key: Key | None
) -> Watermark | None:
    if shape is None:
        return None
    known = [column.name for column in columns] + ([key.name] if key else []) + ["_timestamp"]
    if columns and shape.column.lower() not in {name.lower() for name in known}:
        hint = did_you_mean(shape.column, known, "name a column of this topic, or _timestamp")
        reader.at(reader.location(shape, "column"), "MS117", f"column '{shape.column}' does not exist", hint)
    return Watermark(shape.column, shape.delay, shape.location)


def _options(source: SourceShape, shape: TopicShape) -> dict[str, Any]:
    """Merge mappings, and let the topic override the rest."""
    found: dict[str, Any] = {}
    for part in (source, shape):
        for name in _OPTIONS:
            value = getattr(part, name)
            if isinstance(value, dict):
                value = found.get(name, {}) | value
            if value not in (None, {}):
                found[name] = value
        if part.hints:
            found |= {k: v for k in ("rows_per_second", "distinct", "keeps") if (v := getattr(part.hints, k))}
    return found
