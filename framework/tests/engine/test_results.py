"""What a build counts while it runs."""

from support.runs import built, job_of
from support.spark import SPARK_WARNINGS

from millstream.results.selectivity import measure_figures, with_counts

pytestmark = SPARK_WARNINGS

SINK = "{{ config(materialized='sink') }} "
EVENTS = "{{ source('web', 'events') }}"


def test_records_read_and_written_by_model(shop, first_spark):
    shop.model("all_events", SINK + f"select id, value from {EVENTS}")
    shop.model("large", SINK + f"select id from {EVENTS} where value > 9")
    shop.model(
        "totals",
        SINK.replace("sink'", "sink', key='kind'")
        + f"select kind, count(*) as n from {EVENTS} group by kind",
    )
    shop.send(*(("a", {"id": n, "kind": "x", "value": float(n % 20)}) for n in range(200)))
    results, _ = built(shop.root, first_spark)
    counts = {result.id: (result.reads, result.rows_written) for result in results.results}
    read = {"source.web.events": 200}
    assert counts == {"model.all_events": (read, 200), "model.large": (read, 100), "model.totals": (read, 1)}
    plan = job_of(shop.root).topology.written
    first = with_counts(results, None, plan)
    assert measure_figures(first, plan).keeps == {"model.large": 0.5}
    shop.send(*(("a", {"id": n, "kind": "x", "value": 0.0}) for n in range(50)))
    results, _ = built(shop.root, first_spark)
    assert {result.id: result.rows_written for result in results.results} == {
        "model.all_events": 50, "model.large": 0, "model.totals": 1,
    }  # fmt: skip
    second = with_counts(results, first, plan)
    assert measure_figures(second, plan).keeps == {"model.large": 0.4}
