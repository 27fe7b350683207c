"""The port for the Spark part of a kind of source: its module `spark` has `connect`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pyspark.sql import DataFrame, SparkSession

from millstream.core.expressions import quote_name, sql_literal
from millstream.core.node_id import NodeId
from millstream.core.types import Field
from millstream.project.values import Project, RowSource
from millstream.sources.positions import Range
from millstream.sources.registry import source_module


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


def spark_source(session: SparkSession, project: Project, relation: NodeId) -> SparkSource:
    """Return the source of a relation; `relation` is its id."""
    source = project.sources[relation.name]
    assert isinstance(source, RowSource), f"{relation} is read as records"
    connected: SparkSource = source_module(source.kind, "spark").connect(session, source, project)
    return connected


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
