"""Batches of few records: their rows come to the driver, and what stores them is planned for a single task.

Spark plans for many rows: a MERGE of a hundred rows shuffles them several times, plans each stage again with
what the last one measured, and generates Java for all of it. That costs many times what the rows cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from millstream.engine.spark.jvm import own_class
from millstream.stores.session_settings import (
    change_settings,
    restore_settings,
    takes_fast_paths,
    use_settings,
)

MOST = 10_000
"""Records that a small batch reads, and rows that come to the driver."""
_NONE = -1
"""All rows, if there are any, are stored where they were computed."""
_BYTES = 4 << 20
"""Bytes of rows that come to the driver, which one task reads again."""
FEW = 1_000
"""Records of a batch after which Spark interprets the next one."""
_INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
}


class EvaluatedBatch(Struct, frozen=True, eq=False):
    rows: DataFrame
    few: bool
    """They are in the driver."""
    count: Callable[[], int]
    observed: Callable[[str], int]
    """Returns the number that `DataFrame.observe` has counted under a name, while the query ran."""


@contextmanager
def evaluate_batch(rows: DataFrame) -> Iterator[EvaluatedBatch]:
    """Run a query once, and yield its rows."""
    session = rows.sparkSession
    most = MOST if takes_fast_paths(session) else _NONE
    batch = own_class(session, "spark.SmallBatch").of(rows._jdf, most, _BYTES)  # noqa: SLF001
    try:
        yield EvaluatedBatch(
            DataFrame(batch.rows(), session),
            bool(batch.isLocal()),
            lambda: int(batch.count()),
            lambda name: int(batch.observed(name)),
        )
    finally:
        batch.close()


@contextmanager
def plan_small(session: SparkSession, few: bool, *, interpreted: bool = True) -> Iterator[None]:
    """Plan what follows for few rows, if they are; the settings are of the batch's own session."""
    if not few or not takes_fast_paths(session):
        yield
        return
    with use_settings(session, _SETTINGS | (_INTERPRETED if interpreted else {})):
        yield


class BatchInterpretation:
    """Whether Spark interprets the next batch of a query instead of generating Java for each of its tasks.

    A batch is planned before its size is known here, so the last one decides, and before the first one, how
    many records the query has to read.
    """

    def __init__(self) -> None:
        self._before: dict[str, str | None] | None = None

    def follow(self, session: SparkSession, records: int) -> None:
        """Choose for the batch after one of this size."""
        if records <= FEW and self._before is None and takes_fast_paths(session):
            self._before = change_settings(session, _INTERPRETED)
        elif records > FEW and self._before is not None:
            restore_settings(session, self._before)
            self._before = None
