"""The keys that sinks write: their formats, and their schemas from files or columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from millstream.compile.sink_functions import key_by_function
from millstream.compile.sink_schemas import check_pinned_subject, record_name
from millstream.core.errors import did_you_mean
from millstream.core.types import UNKNOWN, Field, Row, Type
from millstream.formats.format import Fields, ReadSchema, SchemaError, SchemaFiles, SchemaLanguage
from millstream.formats.keys import KeyFormat, any_value, key_misfit
from millstream.formats.options import wrong_options
from millstream.formats.registry import DEFAULT, format_of, function_of
from millstream.outputs.kinds import Sink, Written
from millstream.plan.from_sql.catalog import PlanDiagnostic
from millstream.project.pins import Pins
from millstream.project.values import Project
from millstream.sql.values import InputRelation

_OPTIONS = ("key_schema", "key_message", "key_framing", "key_subject", "key_format_options")


class _SinkKey(Struct, frozen=True):
    sink: Sink
    config: Mapping[str, Any]
    relation: InputRelation
    columns: Fields

    @property
    def written(self) -> Written:
        return self.sink.written_key

    @property
    def type(self) -> Type:
        """The type of the whole key: that of its only column, or a struct of its columns."""
        match self.columns:
            case [Field(type=column_type)]:
                return column_type
            case columns:
                return Row(tuple(Field(field.name, field.type) for field in columns))

    def diagnostic(self, code: str, message: str, remedy: str, option: str) -> PlanDiagnostic:
        return PlanDiagnostic(code, message, remedy, self.relation.id, option=option)


def sink_key(
    sink: Sink,
    config: Mapping[str, Any],
    relation: InputRelation,
    project: Project,
    pins: Pins,
    pinned: ReadSchema | None = None,
) -> tuple[dict[str, Any], list[PlanDiagnostic]]:
    """Return what encoding the keys of a sink needs besides its options, or what is wrong with these.

    `pinned` is the schema of the registry, if its keys take that.
    """
    by_name = {column.name.lower(): column for column in relation.columns if not column.hidden}
    columns = [by_name[name.lower()] for name in sink.key if name.lower() in by_name]
    key = _SinkKey(sink, config, relation, tuple(Field(c.name, c.type, c.nullable) for c in columns))
    diagnostics = list(_misplaced(key))
    if diagnostics or sink.key_encoding is None or len(columns) != len(sink.key):
        return {}, diagnostics
    if any(field.type == UNKNOWN for field in key.columns):
        message = "the type of its key is unknown"
        return {}, [key.diagnostic("MS124", message, "cast the column to its type", "key_format")]
    if function_of(sink.key_encoding.name) and not key.written.file:
        schema, diagnostics = key_by_function(sink, key.type, relation, project)
        found_key = {"written_key_schema": schema.essence, "single_key": schema.single} if schema else {}
        return found_key, diagnostics
    language = format_of(sink.key_encoding).schemas
    if pinned is not None:
        return _options(pinned), list(_differences(key, pinned))
    try:
        file, framing = key.written.file, sink.key_encoding.framing
        if file or (language is not None and (language.required or framing != "plain")):
            return _with_schema(key, project, language, pins)
    except SchemaError as error:
        option = "key_schema" if file else "key_format"
        message = f"its key has no schema in {sink.key_format}: {error}"
        if file:
            message = f"schema '{file}' can't be used: {error}"
        remedy = "cast the column to another type, or choose another format"
        return {}, [key.diagnostic("MS123", message, remedy, option)]
    encoding = sink.key_encoding if len(key.columns) > 1 else any_value(sink.key_encoding)
    if why := key_misfit(KeyFormat(encoding, key.type)):
        return {}, [key.diagnostic("MS124", why, "choose another format, or another key", "key_format")]
    return {"single_key": encoding.single}, []


def _misplaced(key: _SinkKey) -> Iterator[PlanDiagnostic]:
    """Yield options that have no effect, or are wrong."""
    sink = key.sink
    if sink.key_format is None:
        for option in _OPTIONS:
            if (value := key.config.get(option)) and value != DEFAULT.framing:
                yield key.diagnostic("MS121", f"'{option}' needs a key_format", "set key_format", option)
        return
    if not sink.key:
        yield key.diagnostic("MS121", "'key_format' needs a key", "set key, or remove it", "key_format")
    format_ = format_of(sink.key_format)
    if format_.of_change:
        message = f"a sink can't write keys in {sink.key_format}"
        yield key.diagnostic("MS120", message, "set key_format='json'", "key_format")
    framing = key.written.encoding.framing
    if framing != "plain" and format_.schemas is None:
        message = f"keys in {sink.key_format} have no schema, and no id of one"
        yield key.diagnostic("MS121", message, "remove it, or change key_format", "key_framing")
    if key.written.named and framing == "plain" and not key.written.pinned_subject:
        message = "'key_subject' needs key_framing: confluent"
        yield key.diagnostic("MS121", message, "set key_framing='confluent', or remove it", "key_subject")
    for wrong in wrong_options(sink.key_format, key.config.get("key_format_options") or {}):
        yield key.diagnostic("MS120", wrong.message, wrong.help, "key_format_options")


def _with_schema(
    key: _SinkKey, project: Project, language: SchemaLanguage | None, pins: Pins
) -> tuple[dict[str, Any], list[PlanDiagnostic]]:
    sink, file = key.sink, key.written.file
    if language is None:
        message = f"keys in {sink.key_format} have no schema"
        return {}, [key.diagnostic("MS122", message, "remove it, or change key_format", "key_schema")]
    if file:
        texts = language.files_in(project.schemas)
        if file not in texts:
            example = f"write {language.name} into schemas/{sink.topic}_key{language.suffix}"
            hint = did_you_mean(file, texts, example)
            message = f"schema '{file}' does not exist"
            return {}, [key.diagnostic("MS122", message, hint, "key_schema")]
        message = key.written.encoding.message
        files = SchemaFiles(file, texts, project.settings.schema_paths, message, key=True)
        schema = language.read(files)
        diagnostics = list(_differences(key, schema))
    else:
        derived = _derived(key, language)
        if derived is None:
            message = f"a key in {sink.key_format} needs a schema"
            remedy = f"set key_schema='schemas/{sink.topic}_key{language.suffix}'"
            return {}, [key.diagnostic("MS108", message, remedy, "key_format")]
        files = language.derived(derived.text, key=True)
        schema, diagnostics = derived, []
    subject = pins.get(key.written.encoding.subject or f"{sink.topic}-key")
    option = "key_schema" if file else "key_format"
    assert sink.key_format is not None  # checked with the options
    diagnostics += check_pinned_subject(sink.key_format, files, subject, pins, key.relation, option)
    return _options(schema), diagnostics


def _options(schema: ReadSchema) -> dict[str, Any]:
    return {
        "written_key_schema": schema.essence,
        "key_message": schema.message,
        "single_key": schema.single,
        "derived_key_schema": schema.text,
    }


def _derived(key: _SinkKey, language: SchemaLanguage) -> ReadSchema | None:
    name = record_name(f"{key.sink.topic}_key")
    match key.type:
        case Row(fields=fields):
            return language.derive(fields, name) if language.derive else None
        case type_:
            return language.derive_single(type_, name) if language.derive_single else None


def _differences(key: _SinkKey, schema: ReadSchema) -> Iterator[PlanDiagnostic]:
    """Yield how a key differs from its schema."""
    subject = key.written.pinned_subject
    path = f"subject '{subject}'" if subject else key.written.file
    if key.type != schema.type:
        message = f"the key is {key.type}, but {schema.type} in {path}"
        yield key.diagnostic("MS124", message, "cast the columns, or change the schema", "key_schema")
        return
    nullable = {column.name for column in schema.columns if column.nullable}
    for field in key.columns if len(key.columns) > 1 else ():
        if field.nullable and field.name not in nullable:
            remedy = f"use coalesce({field.name}, …), or let the field be null in the schema"
            message = f"'{field.name}' can be NULL, but not in {path}"
            yield key.diagnostic("MS124", message, remedy, "key_schema")
