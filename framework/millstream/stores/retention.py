"""Retention of tables, by event time, so that a replay gives the same rows.

A row is kept while its `order_by` is within `retention` of the newest time that the table ever had, even if
that row was deleted. So neither a late row nor different micro-batches can bring an old row back. A row whose
time is NULL is older than all others, as it is for `order_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.core.types import DATE, TIMESTAMP, Type
from millstream.plan.durations import parse_duration
from millstream.queries.values import TableOutput


class NewestTime(Struct, frozen=True):
    """The newest time that a table ever had, as text that can be cast to the column's type."""

    column: str
    time: str


class RetentionLimit(Struct, frozen=True):
    newest: NewestTime
    oldest: str
    """The oldest time that is kept."""
    type: Type

    def expired(self, relation: str = "") -> str:
        """Return the condition for rows that are too old, as Spark SQL."""
        column = quote_name(self.newest.column)
        column = f"{relation}.{column}" if relation else column
        return f"({column} is null or {column} < cast('{self.oldest}' as {self.type}))"


@contextmanager
def with_retention(
    rows: DataFrame, table: TableOutput, newest: Callable[[], NewestTime | None], *, local: bool
) -> Iterator[tuple[DataFrame, RetentionLimit | None]]:
    """Yield the rows of a batch that are not too old, and the limit for rows of the table.

    `newest` returns the newest time before the batch, if the table has one. Rows that are `local` are not
    cached: there is nothing to compute again, and Delta refuses a MERGE whose source gets cached meanwhile.
    """
    if not table.options.get("retention"):
        yield rows, None
        return
    if not local:
        rows.persist()
    try:
        limit = _limit(rows, table, newest())
        yield (rows if limit is None else rows.where(f"not {limit.expired()}")), limit
    finally:
        if not local:
            rows.unpersist()


def current_limit(stored: DataFrame, table: TableOutput, newest: NewestTime | None) -> RetentionLimit | None:
    """Return the limit for the rows of a table between two batches; `newest` is its newest time."""
    return _limit(stored.limit(0), table, newest)


def newest_time(rows: DataFrame, table: TableOutput) -> NewestTime | None:
    name, kind = _time(table)
    row = rows.agg(f.max(quote_name(name)).alias("newest")).select(_text(f.col("newest"), kind)).first()
    return NewestTime(name, row[0]) if row and row[0] is not None else None


def _limit(rows: DataFrame, table: TableOutput, stored: NewestTime | None) -> RetentionLimit | None:
    name, kind = _time(table)
    newest = f.max(quote_name(name))
    if stored is not None:
        newest = f.greatest(newest, f.lit(stored.time).cast(str(kind)))
    months, micros = parse_duration(str(table.options["retention"]))
    ago = f.expr(f"make_interval(0, {months}, 0, 0, 0, 0, {micros} / 1000000)")
    time = f.col("newest")
    # An interval with a time can't be subtracted from a date.
    oldest = (time.cast("timestamp_ntz") - ago).cast("date") if kind == DATE else time - ago
    row = rows.agg(newest.alias("newest")).select(_text(time, kind), _text(oldest, kind)).first()
    if row is None or row[0] is None:
        return None
    return RetentionLimit(NewestTime(name, row[0]), row[1], kind)


def _time(table: TableOutput) -> tuple[str, Type]:
    order_by = str(table.options["order_by"]).lower()
    column = next(column for column in table.columns if column.name.lower() == order_by)
    return column.name, column.type


def _text(time: SparkColumn, kind: Type) -> SparkColumn:
    """Format a time independently of the session's time zone."""
    return f.date_format(time, "y-MM-dd'T'HH:mm:ss.SSSSSSXXX") if kind == TIMESTAMP else time.cast("string")
