"""The schemas that sinks are written by: files of the project, or derived from a model's columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millstream.compile.sink_functions import encoded_by_function
from millstream.core.errors import did_you_mean
from millstream.core.types import UNKNOWN, Field
from millstream.formats.format import Fields, Format, ReadSchema, SchemaError, SchemaFiles, SchemaLanguage
from millstream.formats.options import wrong_options
from millstream.formats.registry import format_of, function_of
from millstream.outputs.kinds import REGISTRY, Sink
from millstream.plan.from_sql.catalog import PlanDiagnostic
from millstream.project.pin_compatibility import find_forbidden
from millstream.project.pins import PULL, NotPinnedError, Pins, Subject
from millstream.project.values import Project
from millstream.sql.values import InputRelation


def sink_schema(
    sink: Sink,
    config: Mapping[str, Any],
    relation: InputRelation,
    project: Project,
    pins: Pins,
    pinned: ReadSchema | None = None,
) -> tuple[ReadSchema | None, list[PlanDiagnostic]]:
    """Return what a sink's schema says, or its problems; None if its format needs no schema.

    `pinned` is the schema of the registry, if the sink takes that.
    """
    name, file = sink.encoding.name, sink.value.file
    misplaced = list(_misplaced(sink, config, relation, format_of(name).schemas))
    written = format_of(name if misplaced else sink.encoding)
    if wrong := [*misplaced, *_without_place(sink, written, relation)]:
        return None, wrong
    language = written.schemas
    if function_of(name) and not file:
        return encoded_by_function(sink, relation, project)
    if language is None:
        if not file:
            return None, []
        message = f"values in {name} have no schema"
        return None, [
            PlanDiagnostic("MS122", message, "remove it, or change the format", relation.id, option="schema")
        ]
    fields = [Field(c.name, c.type, c.nullable) for c in relation.columns if not c.hidden]
    if pinned is not None:
        return pinned, list(_differences(sink, relation, fields, pinned))
    try:
        if file:
            schema, diagnostics = _from_file(sink, language, relation, fields, project)
            return schema, diagnostics or list(_of_values(sink, language, schema, relation, project, pins))
        if not language.required and sink.encoding.framing == "plain":
            return None, []
        if language.derive is None:
            message = f"a sink in {name} needs a schema"
            remedy = f"set schema='schemas/{sink.topic}{language.suffix}'"
            return None, [PlanDiagnostic("MS108", message, remedy, relation.id, option="format")]
        schema = language.derive(fields, record_name(sink.topic))
        return schema, list(_of_values(sink, language, schema, relation, project, pins))
    except SchemaError as error:
        option = _option(sink)
        message = f"{language.name} can't describe its columns: {error}"
        if file:
            message = f"schema '{file}' can't be used: {error}"
        remedy = "cast the column to another type, or choose another format"
        return None, [PlanDiagnostic("MS123", message, remedy, relation.id, option=option)]


def _misplaced(
    sink: Sink, config: Mapping[str, Any], relation: InputRelation, language: SchemaLanguage | None
) -> Iterator[PlanDiagnostic]:
    """Yield options that have no effect, or are wrong."""
    if format_of(sink.encoding.name).of_change:
        message = f"a sink can't write {sink.encoding.name}: its rows are not changes"
        remedy = "remove it, and set emit='changes' on a sink that selects from a table"
        yield PlanDiagnostic("MS120", message, remedy, relation.id, option="format")
    for wrong in wrong_options(sink.encoding.name, config.get("format_options") or {}):
        yield PlanDiagnostic("MS120", wrong.message, wrong.help, relation.id, option="format_options")

    def misplaced(message: str, remedy: str, option: str) -> PlanDiagnostic:
        return PlanDiagnostic("MS121", message, remedy, relation.id, option=option)

    framing = sink.encoding.framing
    if framing != "plain" and language is None:
        message = f"values in {sink.encoding.name} have no schema, and no id of one"
        yield misplaced(message, "remove it, or change the format", "framing")
    elif sink.value.named and framing == "plain" and sink.value.file != REGISTRY:
        yield misplaced(
            "'subject' needs framing: confluent", "set framing='confluent', or remove it", "subject"
        )


def _without_place(sink: Sink, format_: Format, relation: InputRelation) -> Iterator[PlanDiagnostic]:
    """Yield columns that records of single values would lose, or change."""
    if not format_.single or relation.open:
        return
    keys = {name.lower() for name in sink.key}
    columns = [column for column in relation.columns if not column.hidden]
    values = [column for column in columns if column.name.lower() not in keys]
    if len(values) > 1:
        names = " and ".join(column.name for column in values)
        message = f"a value in {sink.encoding.name} is a single column, and {names} are not in the key"
        remedy = "select one column besides the key, or choose another format"
        yield PlanDiagnostic("MS124", message, remedy, relation.id, option="format")
    for column in values[:1]:
        if column.type != UNKNOWN and not format_.holds(column.type):
            message = f"{sink.encoding.name} can't hold {column.name}, which is {column.type}"
            remedy = "cast the column to another type, or choose another format"
            yield PlanDiagnostic("MS124", message, remedy, relation.id, option="format")


def _of_values(
    sink: Sink,
    language: SchemaLanguage,
    schema: ReadSchema | None,
    relation: InputRelation,
    project: Project,
    pins: Pins,
) -> Iterator[PlanDiagnostic]:
    if schema is not None:
        subject = pins.get(sink.encoding.subject or f"{sink.topic}-value")
        files = _files(sink, language, project) if sink.value.file else language.derived(schema.text)
        yield from check_pinned_subject(sink.encoding.name, files, subject, pins, relation, _option(sink))


def check_pinned_subject(
    format_: str,
    files: SchemaFiles,
    subject: Subject | None,
    pins: Pins,
    relation: InputRelation,
    option: str,
) -> Iterator[PlanDiagnostic]:
    """Yield what the registry would refuse, if the subject is pinned."""
    if subject is None:
        return
    try:
        findings = find_forbidden(format_, files, subject, pins)
    except NotPinnedError as error:
        message = f"subject '{subject.subject}' needs {error}, which is not pinned"
        yield PlanDiagnostic("MS125", message, f"run `{PULL}`", relation.id, option=option)
        return
    for text in dict.fromkeys(finding.text for finding in findings):
        message = (
            f"its schema is not {subject.compatibility} compatible with subject '{subject.subject}': {text}"
        )
        remedy = "keep the schema compatible, or write to another topic"
        yield PlanDiagnostic("MS128", message, remedy, relation.id, option=option)


def _option(sink: Sink) -> str:
    return "schema" if sink.value.file else "format"


def _files(sink: Sink, language: SchemaLanguage, project: Project) -> SchemaFiles:
    """Return the file that a sink names, with those that it may import."""
    texts = language.files_in(project.schemas)
    return SchemaFiles(sink.value.file, texts, project.settings.schema_paths, sink.encoding.message)


def record_name(topic: str) -> str:
    """Return a topic's name as the name of a record."""
    name = "".join(character if character.isascii() and character.isalnum() else "_" for character in topic)
    return f"_{name}" if name[:1].isdigit() else name


def _from_file(
    sink: Sink, language: SchemaLanguage, relation: InputRelation, fields: Fields, project: Project
) -> tuple[ReadSchema | None, list[PlanDiagnostic]]:
    files = _files(sink, language, project)
    file = sink.value.file
    if file not in files.texts:
        hint = did_you_mean(
            file, files.texts, f"write {language.name} into schemas/{sink.topic}{language.suffix}"
        )
        message = f"schema '{file}' does not exist"
        return None, [PlanDiagnostic("MS122", message, hint, relation.id, option="schema")]
    schema = language.read(files)
    return schema, list(_differences(sink, relation, fields, schema))


def _differences(
    sink: Sink, relation: InputRelation, fields: Fields, schema: ReadSchema
) -> Iterator[PlanDiagnostic]:
    """Yield the columns that do not fit the schema, and the fields that have no column."""
    if relation.open:
        return
    schema_fields = {field.name: field for field in schema.columns}
    in_key = key_only(sink, relation, schema)
    schema_name = f"subject '{sink.value.subject}'" if sink.value.pinned_subject else sink.value.file

    def mismatch(message: str, remedy: str) -> PlanDiagnostic:
        return PlanDiagnostic("MS124", message, remedy, relation.id, option="schema")

    for field in fields:
        declared = schema_fields.get(field.name)
        if field.name in in_key:
            continue
        if declared is None:
            hint = did_you_mean(field.name, schema_fields, "leave the column out, or add it to the schema")
            yield mismatch(f"column '{field.name}' is not in {schema_name}", hint)
        elif field.name in schema.unwritable:
            remedy = "leave the column out, or choose Avro or Protobuf"
            yield mismatch(f"'{field.name}' contains itself in {schema_name}, and is read as text", remedy)
        elif UNKNOWN != field.type != declared.type:
            remedy = f"select cast({field.name} as {declared.type}) as {field.name}"
            yield mismatch(f"'{field.name}' is {field.type}, but {declared.type} in {schema_name}", remedy)
        elif field.nullable and not declared.nullable:
            remedy = f"use coalesce({field.name}, …), or let the field be null in the schema"
            yield mismatch(f"'{field.name}' can be NULL, but not in {schema_name}", remedy)
    names = {field.name for field in fields}
    for missing in schema.columns:
        if missing.name not in names and not missing.nullable and missing.name not in schema.optional:
            yield mismatch(f"{schema_name} requires '{missing.name}', which is not a column", "select it")


def key_only(sink: Sink, relation: InputRelation, schema: ReadSchema) -> tuple[str, ...]:
    """Return the columns of the key that a schema of values lacks."""
    if not sink.value.file or relation.open or function_of(sink.encoding.name):
        return ()
    keys = {name.lower() for name in sink.key}
    names = {field.name for field in schema.columns}
    columns = [column.name for column in relation.columns if not column.hidden]
    return tuple(name for name in columns if name.lower() in keys and name not in names)
