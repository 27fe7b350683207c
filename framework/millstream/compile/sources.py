"""Derived columns of sources: `from:` is SQL over the columns of a record."""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct

from millstream.compile.options import only_expression
from millstream.compile.relations import metadata_of
from millstream.core.errors import Diagnostic
from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.core.types import NULL, UNKNOWN
from millstream.formats.registry import format_of
from millstream.outputs.kinds import RENAMED_IN_TABLE
from millstream.plan.from_sql.catalog import VERSION_COLUMNS
from millstream.project.values import DeclaredColumn, DeclaredSource, Project, Topic
from millstream.sql.values import InputRelation, RelationColumn, SqlDiagnostic

_BEFORE = "select "


class DerivedColumns(Struct):
    """The derived columns of all sources, by `source.topic`, with their errors."""

    expressions: dict[str, tuple[tuple[str, Expression], ...]] = {}
    diagnostics: list[Diagnostic] = []


def derive_columns(project: Project, relations: dict[NodeId, InputRelation]) -> DerivedColumns:
    """Check every `from:`, and infer the type of columns for which YAML declares none."""
    derived = DerivedColumns()
    for topic in project.sources.values():
        if any(column.expression for column in topic.columns):
            id_ = NodeId("source", topic.id)
            relations[id_] = _derived(project, topic, relations[id_], derived)
    return derived


def _derived(
    project: Project, topic: DeclaredSource, relation: InputRelation, into: DerivedColumns
) -> InputRelation:
    from millstream.sql.analyze import (
        analyze_sql,
    )  # imports sqlglot, which an unchanged project does not need

    expressions = {column.name: column for column in topic.columns if column.expression}
    records = InputRelation(relation.id, _of_records(topic, relation, expressions), relation.open)
    columns: list[RelationColumn] = []
    derivations: list[tuple[str, Expression]] = []
    for declared in relation.columns:
        column = expressions.get(declared.name)
        if column is None:
            columns.append(declared)
            continue
        sql = f"{_BEFORE}{column.expression} as derived from records"
        analysis = analyze_sql(sql, lambda _: records, list, project.functions)
        into.diagnostics += filter(
            None,
            (
                _time_of_versions(topic, _located(column, diagnostic))
                for diagnostic in analysis.diagnostics
                if diagnostic.code != "MS409"
            ),
        )
        if (expression := only_expression(analysis)) is not None:
            derivations.append((declared.name, expression))
        derived = analysis.columns[0] if analysis.columns else None
        if derived and column.type and derived.type not in {column.type, UNKNOWN, NULL}:
            into.diagnostics.append(_wrong_type(column, str(derived.type)))
        columns.append(
            msgspec.structs.replace(declared, type=derived.type) if derived and not column.type else declared
        )
    into.expressions[topic.id] = tuple(derivations)
    return InputRelation(relation.id, tuple(columns), relation.open)


def _of_records(
    topic: DeclaredSource, relation: InputRelation, derived: Collection[str]
) -> tuple[RelationColumn, ...]:
    """Return what `from` can read: columns of records, which tables of versions show in part."""
    columns = tuple(column for column in relation.columns if column.name not in derived)
    if isinstance(topic, Topic):
        of_change = format_of(topic.format).of_change
        columns += tuple(
            RelationColumn(field.name, field.type, field.nullable, hidden=True) for field in of_change
        )
    if not isinstance(topic, Topic) or not topic.versions:
        return columns
    times = {column.name for column in VERSION_COLUMNS}
    return (*(column for column in columns if column.name not in times), *metadata_of(topic))


def _time_of_versions(topic: DeclaredSource, diagnostic: Diagnostic) -> Diagnostic | None:
    """Return the error of a column that `from` can't read; None if it is reported where it is declared."""
    name = diagnostic.message.partition("'")[2].partition("'")[0].lower()
    if (
        not isinstance(topic, Topic)
        or not topic.versions
        or diagnostic.code != "MS402"
        or name not in {column.name for column in VERSION_COLUMNS}
    ):
        return diagnostic
    if any(column.name.lower() == name for column in topic.columns):
        return None
    message = f"a topic with `versions` gets a column '{name}', so `from` can't read a field of this name"
    return msgspec.structs.replace(diagnostic, code="MS682", message=message, help=RENAMED_IN_TABLE)


def _wrong_type(column: DeclaredColumn, type_name: str) -> Diagnostic:
    message = f"'{column.name}' is declared as {column.type}, but its SQL has type {type_name}"
    remedy = f'write from: "cast(… as {column.type})", or fix the type'
    return Diagnostic("MS407", message, column.expression_location, remedy)


def _located(column: DeclaredColumn, diagnostic: SqlDiagnostic) -> Diagnostic:
    """Convert an error in the generated query to one at the YAML value."""
    location = column.expression_location
    if location is not None and not column.templated:
        start = max(0, diagnostic.start - len(_BEFORE))
        quoted = location.end - location.column > len(column.expression or "")
        first = location.column + start + (1 if quoted else 0)
        end = min(first + diagnostic.stop - diagnostic.start, max(location.end, first + 1))
        location = Location(location.path, location.line, first, end)
    remedy = diagnostic.help
    if diagnostic.code == "MS402":
        remedy = f"{remedy} ('from' reads the other columns of the source; declare those that it needs)"
    return Diagnostic(diagnostic.code, diagnostic.message, location, remedy)
