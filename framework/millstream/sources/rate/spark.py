"""Reads the rows of a rate with Spark."""

from __future__ import annotations

import time

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from millstream.project.values import Project, RowSource
from millstream.sources.positions import Range
from millstream.sources.rate.positions import RatePosition

_SHOWN = 10
"""The seconds of which there are rows without a query: the last ones."""


class Rate(Struct, frozen=True):
    session: SparkSession
    rows_per_second: int

    def stream(self) -> DataFrame:
        return self.session.readStream.format("rate").option("rowsPerSecond", self.rows_per_second).load()

    def after(self, position: RatePosition, /) -> DataFrame:
        return self.stream().where(f"timestamp >= timestamp_millis({position.until})")

    def rows(self) -> DataFrame:
        began = int(time.time() - _SHOWN) * 1000
        return self.between(Range(None, RatePosition(began, _SHOWN)))

    def between(self, part: Range) -> DataFrame:
        """Return the rows that the stream had, calculated alike (RateStreamMicroBatchInputPartition)."""
        end, start = part.end, part.start
        assert isinstance(end, RatePosition)
        # The start can be that of another query, which began at another time.
        first = max(0, -((end.began - start.until) // 1000)) if isinstance(start, RatePosition) else 0
        numbers = self.session.range(first * self.rows_per_second, end.seconds * self.rows_per_second)
        millis = f"{end.began} + cast(round(id * {1000 / self.rows_per_second}d) as bigint)"
        return numbers.selectExpr(f"timestamp_millis({millis}) as timestamp", "id as value")


def connect(session: SparkSession, source: RowSource, _project: Project) -> Rate:
    return Rate(session, source.settings["rows_per_second"])
