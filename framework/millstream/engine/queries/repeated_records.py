"""Drops rows of records that their sender sent again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.engine.spark.settings import use_java_states
from millstream.queries.emit.steps import DedupeView
from millstream.queries.values import OutputMode

POSITIONS = "positions"
"""The variable that has the state: pages of bits by number, for each sender and partition."""
NO_MARK = {"mark": ""}
"""Metadata that means nothing; without any, a column would keep its own."""


def first_sent(session: SparkSession, step: DedupeView, mode: OutputMode) -> DataFrame:
    """Return the rows without those whose position came before; rows without an offset all remain.

    Spark's dropDuplicatesWithinWatermark is no alternative: it would drop the records of a partition that is
    read more slowly than others as late, and forget positions while the sender is down.
    """
    rows = session.table(step.of)
    group, offset = step.keys
    if not rows.isStreaming:
        placed = f.col(quote_name(offset)).isNotNull()
        return rows.where(placed).dropDuplicates([group, offset]).unionAll(rows.where(~placed))
    use_java_states(session)
    jvm: Any = session._jvm  # noqa: SLF001 -- there is no public API for it
    # Without marks of event times, as TransformWithStateExec drops late rows, which only a window may do.
    marks = marks_of(rows)
    java_rows: Any = mark_columns(rows, dict.fromkeys(marks, NO_MARK))._jdf  # noqa: SLF001 -- as above
    return mark_columns(
        DataFrame(jvm.millstream.rows.Positions.first(java_rows, group, offset, mode), session), marks
    )


def marks_of(rows: DataFrame) -> dict[str, dict[str, Any]]:
    """Return the metadata of the columns that have any, such as the mark of an event time."""
    return {field.name: field.metadata for field in rows.schema if field.metadata}


def mark_columns(rows: DataFrame, marks: Mapping[str, dict[str, Any]]) -> DataFrame:
    return rows.select(
        *(
            f.col(quote_name(name)).alias(name, metadata=marks[name])
            if name in marks
            else f.col(quote_name(name))
            for name in rows.columns
        )
    )
