"""How the values and the keys of a topic are encoded, as a properties file says it."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence

from msgspec.structs import replace

from millstream.core.errors import did_you_mean
from millstream.core.text import Location
from millstream.core.types import STRING, Field, Row
from millstream.formats.keys import KeyFormat, any_value, key_misfit
from millstream.formats.options import text_of, wrong_options
from millstream.formats.registry import (
    DEFAULT,
    KEY,
    Encoding,
    FormatName,
    Framing,
    format_of,
    function_of,
)
from millstream.project.columns import ColumnReader
from millstream.project.shapes import KeyShape, SubjectShape
from millstream.project.values import DeclaredColumn, FunctionUse, RegistryUse, SchemaUse, TopicKey
from millstream.sources.topic.shapes import TopicDefaults, TopicShape

_Parts = Sequence[TopicDefaults | KeyShape]
"""What says how something is encoded; of several, the last one counts."""


def read_encoding(reader: ColumnReader, source: TopicDefaults, shape: TopicShape) -> Encoding:
    """Return how the values of a topic are encoded."""
    parts, name = (source, shape), shape.format or source.format or DEFAULT.name
    framing = shape.framing or source.framing
    encoding = Encoding(
        name=name,
        decoding=shape.decoding or source.decoding or DEFAULT.decoding,
        framing=framing or _usual_framing(shape),
        options=_format_options(reader, parts, name),
    )
    if framing:
        _check_framing(reader, parts, encoding, "values")
    return encoding


def _usual_framing(shape: TopicShape | KeyShape) -> Framing:
    of_registry = shape.schema == "registry" or isinstance(shape.schema, SubjectShape)
    return "confluent" if of_registry else DEFAULT.framing


def read_key(
    reader: ColumnReader,
    shape: KeyShape | str | list[str] | None,
    values: Encoding,
    topic: str,
    columns: Sequence[DeclaredColumn],
    location: Location,
    *,
    table: bool,
) -> TopicKey | None:
    """Return the key of a topic; it is decoded as strictly as the values.

    The key of a table is read from the record's key, even if it is one of the columns.
    """
    decoding = values.decoding
    # Who writes changes of rows writes their keys alike.
    of_changes = bool(format_of(values).of_change)
    default = replace(values, single=True) if of_changes else replace(KEY, decoding=decoding)
    # Kafka Connect registers the schemas of keys like those of values.
    is_registered = of_changes and values.framing != "plain"
    registered = (
        RegistryUse(f"{topic}-key", location, format=values.name, key=True) if is_registered else None
    )
    if isinstance(shape, list) and len(shape) < 2:
        shape = next(iter(shape), None)
    if isinstance(shape, list):
        return _key_of_columns(reader, shape, columns, default, registered, location)
    if not isinstance(shape, KeyShape):
        if not shape:
            return None
        column = _key_column(shape, columns, default, table=table)
        key = TopicKey(shape, (column and column.type) or STRING, default, registered)
        _check_column(reader, key, column)
        return key
    reader.check_column(shape, shape.name)
    name = shape.format or default.name
    encoding = Encoding(
        name=name,
        decoding=decoding,
        framing=shape.framing or (default.framing if name == default.name else _usual_framing(shape)),
        options=_format_options(reader, (shape,), name) or (default.options if name == default.name else ()),
    )
    if shape.framing:
        _check_framing(reader, (shape,), encoding, "keys")
    encoding = any_value(encoding)
    type_, of_format = reader.type(shape.type), format_of(encoding).columns
    column = _key_column(shape.name, columns, encoding, table=table)
    of_column = column.type if column else None
    use = read_schema_use(reader, shape, topic, name if of_changes else shape.format, (shape,))
    if use is None and name == default.name:
        use = registered
    key = TopicKey(
        shape.name,
        type_ or of_column or (of_format[0].type if of_format else STRING),
        encoding,
        use,
        reader.location(shape, "type") if type_ else None,
    )
    if key.schema is None and (type_ or not of_column):
        _check_type(reader, shape, key)
    _check_column(reader, key, column)
    return key


def _key_of_columns(
    reader: ColumnReader,
    names: list[str],
    columns: Sequence[DeclaredColumn],
    encoding: Encoding,
    schema: RegistryUse | None,
    location: Location,
) -> TopicKey | None:
    """Return the key of rows of a database, whose fields are columns of the row."""
    if not format_of(replace(encoding, single=False)).of_change:
        message = "a list of columns is a key only in Debezium's topics"
        message += f": the keys of this one are in {encoding.name}"
        remedy = "name the column that holds the key: `key: {name: …, type: …, format: …}`"
        reader.report_at(location, "MS107", message, remedy)
        return None
    by_name = {column.name.lower(): column for column in columns}
    fields: list[Field] = []
    for name in names:
        column = by_name.get(name.lower())
        if column is not None and column.type is not None and column.expression is None:
            fields.append(Field(column.name, column.type))
        elif schema is None or (column is not None and column.expression is not None):
            message = f"the key has '{name}', which is not a column with a type"
            example = f"add it to the columns: {{name: {name}, type: …}}"
            remedy = did_you_mean(name, [other.name for other in columns if other is not column], example)
            reader.report_at(location, "MS117", message, remedy)
            return None
    parts = tuple(names) if schema else tuple(field.name for field in fields)
    return TopicKey("", Row(tuple(fields)), encoding, schema, parts=parts)


def _key_column(
    name: str, columns: Sequence[DeclaredColumn], encoding: Encoding, *, table: bool
) -> DeclaredColumn | None:
    """Return the column that is read from a record's key, although values may have it as well."""
    if not (table or format_of(replace(encoding, single=False)).of_change):
        return None
    return next((column for column in columns if column.name.lower() == name.lower()), None)


def _check_column(reader: ColumnReader, key: TopicKey, column: DeclaredColumn | None) -> None:
    """Report a column that can't be read from the record's key."""
    if column is None:
        return
    if column.expression:
        message = f"'{column.name}' is the key of a table: it is read from the record's key, not computed"
        remedy = (
            f"name the key otherwise, `key: {{name: {key.name}_key}}`, or remove `from` and declare its type"
        )
        reader.report_at(column.location, "MS107", message, remedy)
        return
    why = ""
    if column.type != key.type and column.type is not None:
        why = f"that is {key.type}, and the column is {column.type}"
    elif key.type_location is None and key.schema is None:
        why = key_misfit(KeyFormat(key.format, key.type))
    if why:
        message = f"'{column.name}' is read from the record's key: {why}"
        remedy = f"declare the key as it is: `key: {{name: {key.name}, type: …, format: …}}`"
        reader.report_at(column.location, "MS107", message, remedy)


def _check_type(reader: ColumnReader, shape: KeyShape, key: TopicKey) -> None:
    """Report a key whose type is missing, or is not one of its format."""
    format_, written = format_of(key.format), "type" in shape.locations
    if format_.schemas is not None and format_.schemas.required:
        message = f"key '{key.name}' has no schema, which {key.format} needs"
        remedy = f"add `schema: schemas/{key.name}{format_.schemas.suffix}`"
        reader.report_at(reader.location(shape), "MS108", message, remedy)
    elif not (format_.columns or written):
        message = f"key '{key.name}' has no type"
        remedy = f"add `type: …`: {key.format} values have no types"
        reader.report_at(reader.location(shape), "MS108", message, remedy)
    elif (key.type_location or not written) and (why := key_misfit(KeyFormat(key.format, key.type))):
        location = key.type_location or reader.location(shape, "format")
        reader.report_at(
            location, "MS107", f"key '{key.name}' can't be read: {why}", "change its type or its format"
        )


def read_schema_use(
    reader: ColumnReader, shape: TopicShape | KeyShape, topic: str, format_: FormatName | None, parts: _Parts
) -> SchemaUse | RegistryUse | FunctionUse | None:
    """Return what describes the values or the keys of a topic; of `parts`, the last one counts."""
    location, message = reader.location(shape, "schema"), shape.message or ""
    key = isinstance(shape, KeyShape)
    if format_ and (function := function_of(format_)) and not shape.schema:
        locations = [_location(reader, parts, option) for option in ("format", "format_options")]
        return FunctionUse(function, locations[0], locations[1], key)
    usual = f"{topic}-{'key' if key else 'value'}"
    match shape.schema:
        case None | "":
            return None
        case "registry":
            return RegistryUse(usual, location, format=format_ or "", message=message, key=key)
        case SubjectShape() as subject_shape:
            subject = _subject(reader, subject_shape, topic, usual)
            return RegistryUse(subject, location, subject_shape.version, format_ or "", message, key)
        case path:
            return SchemaUse(posixpath.normpath(path), location, message, key)


def _subject(reader: ColumnReader, shape: SubjectShape, topic: str, usual: str) -> str:
    """Return the name of a subject as the naming strategies of Confluent's serializers make it."""
    if shape.subject is not None and (shape.strategy or shape.record):
        message = "'subject' is the whole name: it excludes 'strategy' and 'record'"
        reader.report_at(reader.location(shape, "subject"), "MS107", message, "remove it, or the other two")
    elif shape.strategy in {"record_name", "topic_record_name"} and not shape.record:
        message = f"the strategy {shape.strategy} needs 'record'"
        remedy = "add the record's full name: record: com.example.Order"
        reader.report_at(reader.location(shape, "strategy"), "MS108", message, remedy)
    elif shape.record and shape.strategy in {None, "topic_name"}:
        message = "the strategy topic_name doesn't use 'record'"
        reader.report_at(
            reader.location(shape, "record"), "MS107", message, "remove it, or change the strategy"
        )
    match shape.strategy:
        case "record_name":
            return shape.record or ""
        case "topic_record_name":
            return f"{topic}-{shape.record}"
        case _:
            return shape.subject or usual


def _location(reader: ColumnReader, parts: _Parts, option: str) -> Location:
    part = next((part for part in reversed(parts) if option in part.locations), parts[-1])
    return reader.location(part, option)


def _check_framing(reader: ColumnReader, parts: _Parts, encoding: Encoding, what: str) -> None:
    language = format_of(encoding).schemas
    has_schema = any(part.schema for part in parts if isinstance(part, TopicShape | KeyShape))
    lacks_schema = language is None or (language.by_writer and not language.required and not has_schema)
    if encoding.framing != DEFAULT.framing and lacks_schema:
        message = f"{what} in {encoding} have no schema, and no id of one"
        reader.report_at(
            _location(reader, parts, "framing"), "MS107", message, "remove it, or change the format"
        )


def _format_options(reader: ColumnReader, parts: _Parts, name: str) -> tuple[tuple[str, str], ...]:
    """Return the options that differ from their defaults."""
    defaults = format_of(name).options
    options: dict[str, str] = {}
    for part in parts:
        wrong = {
            option_error.option: option_error for option_error in wrong_options(name, part.format_options)
        }
        for option_error in wrong.values():
            reader.report_at(
                reader.location(part, "format_options"),
                option_error.code,
                option_error.message,
                option_error.help,
            )
        options |= {o: text_of(value) for o, value in part.format_options.items() if o not in wrong}
    return tuple(
        sorted((option, text) for option, text in options.items() if text != defaults[option].default)
    )
