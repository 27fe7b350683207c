"""The tables that batches look up: those of few rows are read without Spark, and only after a change.

Spark reads a Delta table in several jobs, for each statement of a batch, which cost more than a small batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from millstream.engine.queries.tables import Tables
from millstream.queries.values import StaticRead
from millstream.stores.session_settings import takes_fast_paths
from millstream.stores.spark import TableVersion


class Lookups:
    """The views of one query's tables at rest."""

    def __init__(self, tables: Tables, reads: Iterable[StaticRead]) -> None:
        self._tables = tables
        self._reads = [read for read in reads if not read.relation.startswith("seed.")]
        self._copied: dict[str, TableVersion] = {}
        """The versions whose rows are in the driver, by view."""
        self._schemas: dict[str, StructType] = {}

    def refresh(self, session: SparkSession) -> None:
        """Let all views show the newest versions; those that Spark reads itself show them in each batch."""
        if not takes_fast_paths(session):
            return
        for read in self._reads:
            version = self._copied.get(read.view)
            copied = self._tables.copied(read.relation, version)
            if copied is None:
                if version is not None:
                    del self._copied[read.view]
                    self._tables.view(session, read)
            elif copied.version != version:
                if read.view not in self._schemas:
                    self._schemas[read.view] = session.table(read.view).schema
                schema = self._schemas[read.view]
                rows = session.createDataFrame(copied.rows.select(schema.names), schema=schema)
                rows.createOrReplaceTempView(read.view)
                self._copied[read.view] = copied.version


def looking_up(
    work: Callable[[DataFrame, int], None], tables: Tables, reads: Iterable[StaticRead]
) -> Callable[[DataFrame, int], None]:
    """Return a function that works on a batch with the newest versions of the tables that it looks up."""
    lookups = Lookups(tables, reads)

    def each_batch(batch: DataFrame, number: int) -> None:
        lookups.refresh(batch.sparkSession)
        work(batch, number)

    return each_batch
