"""The port for the Spark part of a kind of source: its module `spark` has `connect`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.errors import MillstreamError
from millstream.core.expressions import quote_name, sql_literal
from millstream.core.node_id import NodeId
from millstream.core.types import Field, parse_type
from millstream.project.values import Project, RowSource
from millstream.sources.positions import Range
from millstream.sources.registry import source_module
from millstream.sources.tables import wrong_column

DELETED = "_deleted"
"""Whether a row of a stream deletes the row of its key, if rows change."""


class SparkSource(Protocol):
    """One source, in a session of Spark."""

    def stream(self) -> DataFrame:
        """Return its rows as they come, with metadata columns; a checkpoint says where it continues.

        If they change, that is deleted and new rows, with `_deleted` and their order, `POSITION`.
        """

    def after(self, position: Any, /) -> DataFrame:
        """Return the same without the rows before a position of another query."""

    def rows(self) -> DataFrame:
        """Return the rows that it has now, with metadata columns."""

    def between(self, part: Range) -> DataFrame:
        """Return the rows of a part of it, with metadata columns."""


class SourceOfLines(SparkSource, Protocol):
    """One of which some lines can't be decoded."""

    def bad_lines(self) -> DataFrame:
        """Return these lines as they come: line, file, the number of the line, and the reason."""


def spark_source(session: SparkSession, project: Project, relation: NodeId) -> SparkSource:
    """Return the source of a relation; `relation` is its id."""
    connected: SparkSource = _connected(session, project, relation)
    return connected


def bad_lines_of(session: SparkSession, project: Project, relation: NodeId) -> DataFrame:
    """Return the lines of a source that can't be decoded; its kind has dead letters."""
    connected: SourceOfLines = _connected(session, project, relation)
    return connected.bad_lines()


def _connected(session: SparkSession, project: Project, relation: NodeId) -> Any:
    source = project.sources[relation.name]
    assert isinstance(source, RowSource), f"{relation} is read as records"
    return source_module(source.kind, "spark").connect(session, source, project)


def fields_of(source: RowSource) -> list[Field]:
    """Return the columns of a source that are read; others are computed of these."""
    columns = (column for column in source.columns if column.expression is None)
    return [Field(c.name, c.type, c.nullable) for c in columns if c.type is not None]


def fail_without_values(rows: DataFrame, fields: Sequence[Field], message: str) -> DataFrame:
    """Let a query fail at a row without a required value; `message` is SQL that begins the message."""
    for field in fields:
        if not field.nullable:
            reason = sql_literal(f": column {field.name}: a value is missing")
            failed = f"raise_error(concat({message}, {reason}))"
            rows = rows.where(f"if({quote_name(field.name)} is null, {failed}, true)")
    return rows


def typed_columns(
    rows: DataFrame, source: RowSource, title: str, stored: Mapping[str, str], others: Sequence[str] = ()
) -> DataFrame:
    """Return the declared columns of a table, after a check of their types, and `others`.

    `stored` has the types of the table's columns.
    """
    types = {name.lower(): type_ for name, type_ in stored.items()}
    fields = fields_of(source)
    for field in fields:
        type_ = types.get(field.name.lower())
        if type_ is None or parse_type(type_) != field.type:
            raise MillstreamError(wrong_column(source, title, field.name, type_, types))
    rows = rows.select(*(f.col(quote_name(field.name)).alias(field.name) for field in fields), *others)
    return fail_without_values(rows, fields, f"'bad table: source {source.id}'")
