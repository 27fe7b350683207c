"""Runs a step of a unit test of a table over tables as production does: by what changed since the last."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.engine.queries import maintained
from millstream.engine.queries.differences import STORED
from millstream.plan.nodes.maintenance import view_of
from millstream.queries.values import TableMaintenance

_WITHOUT_EQUALITY = ("map<", "variant")
"""Spark compares no rows with such types."""


def step_differences(
    session: SparkSession, plan: TableMaintenance, earlier: Callable[[], None], newest: Callable[[], None]
) -> None:
    """Create the view of the differences that a step makes.

    `earlier` and `newest` create the views of the inputs with their rows before and after the step. The first
    rows are computed in full, as by a first build; later ones by touched keys or weights, as the plan says.
    """
    earlier()
    stored = maintained.all_rows(session, plan.maintenance, plan.inputs).localCheckpoint()
    before = [session.table(view_of("now", index)).localCheckpoint() for index, _ in enumerate(plan.inputs)]
    newest()
    stored.createOrReplaceTempView(STORED)
    maintained.all_rows(session, plan.maintenance, plan.inputs)
    changed, first = set[str](), True
    for index, (read, old) in enumerate(zip(plan.inputs, before, strict=True)):
        feed = _feed(old, session.table(view_of("now", index))).localCheckpoint()
        old.createOrReplaceTempView(view_of("before", index))
        maintained.create_views(session, index, feed)
        if read.relation.startswith("seed."):
            continue
        first = first and old.isEmpty()
        if not feed.isEmpty():
            changed.add(read.relation)
    in_full = first or plan.maintenance.changing
    with maintained.open_differences(session, plan, None if in_full else changed) as difference:
        difference.rows.localCheckpoint().createOrReplaceTempView(plan.view)


def _feed(before: DataFrame, now: DataFrame) -> DataFrame:
    """Return the rows that were removed and added, as the change feed of a table has them."""
    removed, added = before, now
    if not any(kind in now.schema.simpleString() for kind in _WITHOUT_EQUALITY):
        columns = [f.col(quote_name(name)) for name in now.columns]
        removed, added = before.select(*columns).exceptAll(now), now.exceptAll(before.select(*columns))
    kind = "_change_type"
    return removed.withColumn(kind, f.lit("delete")).unionByName(added.withColumn(kind, f.lit("insert")))
