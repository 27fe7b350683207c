"""Several runs of a target at a time, each with queries of its own."""

import pytest
from support.running import running
from support.runs import built, errors, job_of, table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.handover.channel import run_of
from millstream.deploy.planning.intents import Update
from millstream.deploy.values import BatchCompleted

pytestmark = SPARK_WARNINGS

SINK = "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}"


def shared(shop, spark, *models, **options):
    return running(
        shop.root, spark, shared=True, models=frozenset(f"model.{model}" for model in models), **options
    )


def rows_of(run, query):
    return sum(batched.batch.rows for batched in run.of(BatchCompleted) if batched.query == query)


@pytest.mark.long
def test_runs_share_a_target_and_no_query_runs_twice(shop, first_spark):
    shop.model("plain", SINK)
    shop.model("totals", TOTALS)
    shop.send(event(1), event(2))
    with shared(shop, first_spark, "plain") as one:
        one.until(lambda: rows_of(one, "events_topics") == 2)
        with shared(shop, first_spark, "totals") as other:
            other.until(lambda: rows_of(other, "totals") == 2)
            shop.send(event(3))
            other.until(lambda: rows_of(other, "totals") == 3)
            one.until(lambda: rows_of(one, "events_topics") == 3)
            with (
                pytest.raises(MillstreamError, match="already runs the query totals"),
                shared(shop, first_spark, "totals") as third,
            ):
                third.until(lambda: False)
            with pytest.raises(MillstreamError, match="MS874"):
                built(shop.root, first_spark)
            assert run_of(job_of(shop.root).project.target, shop.root) is None
        # What has to be rebuilt would change what the first run works with.
        shop.model("totals", TOTALS.replace("sum(", "max("))
        with (
            pytest.raises(MillstreamError, match="MS870"),
            shared(shop, first_spark, "totals") as other,
        ):
            other.until(lambda: False)
        intent = Update(frozenset({NodeId("model", "totals")}))
        with (
            pytest.raises(MillstreamError, match="MS673"),
            shared(shop, first_spark, "totals", intent=intent) as other,
        ):
            other.until(lambda: False)
        shop.model("totals", TOTALS)
        shop.send(event(4))
        with shared(shop, first_spark, "totals") as other:
            other.until(lambda: rows_of(other, "totals") == 1)
        one.until(lambda: rows_of(one, "events_topics") == 4)
    results, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert {result.rows_read for result in results.results} == {0}
    assert [row["id"] for row in shop.values("plain")] == [1, 2, 3, 4]
    assert table_rows(shop.root, "model.totals") == [{"user": "a", "total": 4.0}]
    # Alone, a run may rebuild.
    shop.model("totals", TOTALS.replace("sum(", "max("))
    with shared(shop, first_spark, "totals", intent=intent) as only:
        only.until(lambda: table_rows(shop.root, "model.totals") == [{"user": "a", "total": 1.0}])
