"""What Spark checks before a streaming query starts, for one that never starts."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.engine.spark.jvm import own_class


def empty_stream(session: SparkSession, columns: str) -> DataFrame:
    """Return a stream without rows, which can only be analyzed; `columns` are DDL."""
    untyped: Any = session
    check = own_class(session, "spark.StreamingCheck")
    return DataFrame(check.emptyStream(untyped._jsparkSession, columns), session)  # noqa: SLF001


def check_streaming_rows(rows: DataFrame, *, append: bool) -> None:
    """Raise Spark's reason not to run a streaming query in its output mode."""
    own_class(rows.sparkSession, "spark.StreamingCheck").check(rows._jdf, append)  # noqa: SLF001
