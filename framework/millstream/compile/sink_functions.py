"""Python functions that encode the values and keys of sinks: whether they fit the columns."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.errors import did_you_mean
from millstream.core.types import UNKNOWN, Type
from millstream.formats.format import ReadSchema
from millstream.formats.registry import function_of
from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.catalog import PlanDiagnostic
from millstream.project.format_functions import UnusableFunction, sink_format
from millstream.project.values import Project
from millstream.sql.values import InputRelation


def encoded_by_function(
    sink: Sink, relation: InputRelation, project: Project
) -> tuple[ReadSchema | None, list[PlanDiagnostic]]:
    """Return the columns that a function encodes, or how those of the sink differ."""
    schema = sink_format(sink.encoding, None, project.functions)
    if isinstance(schema, UnusableFunction):
        return None, list(_unusable(schema, relation, "format", "format_options"))
    return schema, list(_untaken(sink, relation, schema))


def key_by_function(
    sink: Sink, key: Type, relation: InputRelation, project: Project
) -> tuple[ReadSchema | None, list[PlanDiagnostic]]:
    assert sink.key_encoding is not None
    schema = sink_format(sink.key_encoding, key, project.functions)
    if isinstance(schema, UnusableFunction):
        return None, list(_unusable(schema, relation, "key_format", "key_format_options"))
    return schema, []


def _untaken(sink: Sink, relation: InputRelation, schema: ReadSchema) -> Iterator[PlanDiagnostic]:
    """Yield how the columns of a sink differ from the fields that a function takes."""
    if relation.open:
        return
    function = f"{function_of(sink.encoding.name)}()"
    fields = {field.name.lower(): field for field in schema.columns}
    columns = {column.name.lower(): column for column in relation.columns if not column.hidden}
    keys = {name.lower() for name in sink.key}

    def mismatch(message: str, remedy: str) -> PlanDiagnostic:
        return PlanDiagnostic("MS124", message, remedy, relation.id, option="format")

    for name, column in columns.items():
        field = fields.get(name)
        if field is None and name not in keys:
            names = [field.name for field in schema.columns]
            hint = did_you_mean(column.name, names, "leave the column out, or add the field")
            yield mismatch(f"{function} takes no field '{column.name}'", hint)
        elif field is not None and UNKNOWN != column.type != field.type:
            remedy = f"select cast({column.name} as {field.type}) as {column.name}"
            yield mismatch(f"'{column.name}' is {column.type}, but {function} takes {field.type}", remedy)
        elif field is not None and column.nullable and not field.nullable:
            remedy = f"hint the field `… | None`, or select coalesce({column.name}, …) as {column.name}"
            yield mismatch(f"'{column.name}' can be NULL, but {function} takes no None", remedy)
    for name, field in fields.items():
        if name not in columns:
            yield mismatch(f"{function} takes '{field.name}', which is not a column", "select it")


def _unusable(
    unusable: UnusableFunction, relation: InputRelation, option: str, other: str
) -> Iterator[PlanDiagnostic]:
    """Yield why a function can't be a format, unless that is reported in its file."""
    if not unusable.reported:
        option = other if unusable.other else option
        yield PlanDiagnostic(unusable.code, unusable.message, unusable.help, relation.id, option=option)
