"""Rate sources: rows that Spark makes."""

import time
from itertools import pairwise

import pytest
from engine.test_handover import applied
from support.running import running
from support.runs import built, errors, job_of, statuses, table_rows
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import BatchCompleted, DiagnosticEvent
from millstream.runner.samples.compute import SampleRequest, source_rows

pytestmark = SPARK_WARNINGS

DEMO = """
sources:
  - name: demo
    rates:
      - name: ticks
        rows_per_second: 7
        columns: [{name: doubled, from: value * 2}]
"""
TICKS = """
    {{ config(materialized='table', unique_key='value') }}
    select value, doubled, timestamp as at from {{ source('demo', 'ticks') }}
"""
TOTALS = """
    {{ config(materialized='table', unique_key='last_digit') }}
    select value % 10 as last_digit, count(*) as ticks, sum(value) as total
    from {{ source('demo', 'ticks') }} group by value % 10
"""


@pytest.fixture
def demo(shop):
    shop.write("models/demo.yml", DEMO)
    shop.model("ticks", TICKS)
    return shop


def ticks(shop, model="ticks"):
    return {row["value"]: row["at"] for row in table_rows(shop.root, f"model.{model}")}


@pytest.mark.long
def test_builds_go_on_where_the_last_one_ended(demo, first_spark):
    results, events = built(demo.root, first_spark)
    assert (errors(events), set(statuses(results).values())) == ([], {"success"})
    time.sleep(2)
    built(demo.root, first_spark)
    first = ticks(demo)
    assert sorted(first) == list(range(len(first)))
    assert len(first) >= 14
    time.sleep(1)
    # What joins the query gets the same rows, which are computed.
    demo.model("more", TICKS)
    _, events = built(demo.root, first_spark)
    assert [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)] == []
    assert len(ticks(demo)) > len(first)
    assert ticks(demo, "more") == ticks(demo)
    spans = [after - before for before, after in pairwise(sorted(ticks(demo).values()))]
    assert {round(span.total_seconds(), 2) for span in spans} == {0.14}
    assert {row["doubled"] - 2 * row["value"] for row in table_rows(demo.root, "model.ticks")} == {0}


def test_its_newest_rows_are_shown(demo, first_spark):
    job = job_of(demo.root)
    request = SampleRequest(job.project, job.catalog, NodeId("source", "demo.ticks"), None, 100, "spark.log")
    rows = source_rows(request, first_spark)
    assert (rows.columns, len(rows.rows)) == (("timestamp", "value"), 70)


@pytest.mark.long
def test_a_run_counts_its_lag_and_is_changed_while_it_runs(demo, first_spark):
    demo.model("totals", TOTALS)
    demo.model("named", "{{ config(materialized='sink') }} select t.value, n.ticks "
        "from {{ source('demo', 'ticks') }} t join {{ ref('totals') }} n on t.value % 10 = n.last_digit")  # fmt: skip
    with running(demo.root, first_spark) as run:
        # What looks up a table starts once the query of the table has caught up, though the rows never end.
        run.until(lambda: {event.query for event in run.of(BatchCompleted)} >= {"totals", "named"})
        run.until(lambda: any("demo.ticks" in status.lag for status in run.totals.all()))
        demo.model("totals", TOTALS.replace("sum(value)", "max(value)"))
        finished = applied(demo, Apply())
        assert "totals" in finished.replaced
        run.until(lambda: sum(row["ticks"] for row in table_rows(demo.root, "model.totals")) > 20)
    rows = table_rows(demo.root, "model.totals")
    assert all(row["total"] % 10 == row["last_digit"] for row in rows)
    values = sorted(ticks(demo))
    assert values == list(range(len(values)))
