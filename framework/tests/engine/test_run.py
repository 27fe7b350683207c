"""Small projects that run on, on Kafka, Spark and Delta."""

import json
import re
import statistics
import subprocess
import urllib.error
import urllib.request

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient
from prometheus_client.parser import text_string_to_metric_families
from support.commands import MILLSTREAM
from support.prometheus import scraped
from support.receiving import receiving
from support.running import running
from support.runs import built, create_topics, job_of, received, table_rows
from support.shops import TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.deploy.values import BatchCompleted, DataTested, MachineUsage, QueryFailed, QueryStopped
from millstream.docs.export import exported_project
from millstream.docs.exporters import write_document
from millstream.docs.exporters.grafana import panels_of
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.ops.health import Health
from millstream.ops.lag import topic_lags
from millstream.ops.metrics import RunIdentity
from millstream.ops.notifications.sending import send_notices
from millstream.ops.serving import serve_metrics
from millstream.project.load import load_project
from millstream.project.secrets import Secret
from millstream.project.values import Target
from millstream.results.run_metrics import RUN_METRICS
from millstream.testing.data.repeated import keep_testing, repeated_tests

pytestmark = SPARK_WARNINGS

SINK = "{{ config(materialized='sink') }}"


def rows_of(run, query):
    return sum(batched.batch.rows for batched in run.of(BatchCompleted) if batched.query == query)


def test_what_comes_while_it_runs_is_done_and_a_build_goes_on_from_there(shop, first_spark):
    shop.model("plain", SINK + "select id from {{ source('web', 'events') }}")
    shop.model("totals", TOTALS)
    shop.send(event(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: rows_of(run, "events_topics") == 1 and rows_of(run, "totals") == 1)
        shop.send(event(2), event(3))
        run.until(lambda: rows_of(run, "events_topics") == 3 and rows_of(run, "totals") == 3)
    assert {stopped.query for stopped in run.of(QueryStopped)} == {"events_topics", "totals"}
    assert_explained(shop, run)
    assert [row["id"] for row in shop.values("plain")] == [1, 2, 3]
    assert table_rows(shop.root, "model.totals") == [{"user": "a", "total": 3.0}]
    shop.send(event(4))
    assert lag_of(shop, "--select", "totals") == [("totals", "events", 3, 4, 1)]
    results, _ = built(shop.root, first_spark)
    assert {result.rows_read for result in results.results} == {1}
    # `run` has committed its own offsets; only they are known if checkpoints are elsewhere.
    job = job_of(shop.root)
    admin = admin_of(Cluster(shop.bootstrap))
    elsewhere = {
        lag.query: lag.records
        for lag in topic_lags(admin, job.project, job.physical.queries, "s3a://bucket/x")
    }
    assert elsewhere == {"events_topics": 1, "totals": 1}
    assert lag_of(shop) == [("events_topics", "events", 4, 4, 0), ("totals", "events", 4, 4, 0)]
    assert [row["id"] for row in shop.values("plain")] == [1, 2, 3, 4]


def assert_explained(shop, run):
    """`explain` shows the medians of the batches that the run has told of."""
    for query in explained(shop):
        batches = [
            batched.batch
            for batched in run.of(BatchCompleted)
            if batched.query == query["name"] and batched.batch.rows
        ]
        medians = query["batches"]
        assert (medians["batches"], medians["rows"]) == (
            len(batches),
            statistics.median(batch.rows for batch in batches),
        )
        assert medians["seconds"] == statistics.median(batch.seconds for batch in batches)


def explained(shop):
    command = [*MILLSTREAM, "explain", "--output", "json"]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, check=True, text=True)
    return json.loads(done.stdout)["queries"]


def lag_of(shop, *selected):
    command = [*MILLSTREAM, "lag", "--output", "json", *selected]
    done = subprocess.run(command, cwd=shop.root, capture_output=True, check=True, text=True)
    lag_of_topics = json.loads(done.stdout)["lag"]
    assert all((topic_lag["seconds"] > 0) == (topic_lag["records"] > 0) for topic_lag in lag_of_topics)
    assert max(topic_lag["seconds"] for topic_lag in lag_of_topics) < 60
    return [
        (topic_lag["query"], topic_lag["topic"], one["read"], one["end"], one["records"])
        for topic_lag in lag_of_topics
        for one in topic_lag["partitions"]
    ]


@pytest.mark.long
def test_batches_have_as_many_records_as_the_source_says(shop, first_spark):
    shop.source(max_rows_per_trigger=4, min_rows_per_trigger=3, max_trigger_delay="1 hour")
    shop.model("plain", SINK + "select id from {{ source('web', 'events') }}")
    shop.send(event(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: rows_of(run, "events_topics") == 1)  # the first batch has waited for ever
        shop.send(event(2), event(3))
        shop.send(*map(event, range(4, 8)))
        run.until(lambda: rows_of(run, "events_topics") >= 5)
    batches = [batched.batch.rows for batched in run.of(BatchCompleted) if batched.batch.rows]
    assert batches[0] == 1
    assert all(3 <= rows <= 4 for rows in batches[1:])
    # A build reads what there is, however little it is.
    shop.send(event(8))
    built(shop.root, first_spark)
    assert [row["id"] for row in shop.values("plain")] == list(range(1, 9))


@pytest.mark.long
def test_offsets_are_committed_for_a_group_of_each_query(shop, first_spark):
    shop.model("plain", SINK + "select id from {{ source('web', 'events') }}")
    shop.send(event(1), event(2))
    with running(shop.root, first_spark) as run:
        run.until(lambda: rows_of(run, "events_topics") == 2)
    group = ConsumerGroupTopicPartitions("millstream.shop.events_topics")
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    (future,) = admin.list_consumer_group_offsets([group]).values()
    assert [(partition.topic, partition.offset) for partition in future.result(10).topic_partitions] == [
        ("events", 2)
    ]


GATE = """
    import os

    def gate(id: int) -> int:
        if id == 2 and not os.path.exists("{}"):
            raise ValueError("closed")
        return id
"""


@pytest.mark.long
def test_a_failing_query_is_started_again_while_others_go_on(shop, first_spark):
    opened = shop.root / "opened"
    shop.write("macros/gates.py", GATE.format(opened))
    shop.model("gated", SINK + "select gate(id) as id from {{ source('web', 'events') }}")
    shop.model("totals", TOTALS)
    shop.send(event(1), event(2))
    with (
        receiving() as receiver,
        send_notices(
            Target("shop", "local", {"notifications": [{"webhook": Secret(receiver.url), "format": "json"}]}),
            RunIdentity("shop", "local"),
            lambda _: None,
        ) as notify,
        running(shop.root, first_spark, also=[notify]) as run,
    ):
        run.until(lambda: len(run.of(QueryFailed)) >= 2)
        first, second = run.of(QueryFailed)[:2]
        assert (first.query, first.diagnostic.code) == ("events_topics", "MS861")
        assert (first.again, second.again) == (1, 2)
        shop.send(event(3))
        run.until(lambda: rows_of(run, "totals") == 3)
        opened.touch()
        run.until(lambda: rows_of(run, "events_topics") == 3)
        sent = [receiver.next() for _ in range(2)]
        assert [(notification["event"], notification["query"]) for notification in sent] == [
            ("failed", "events_topics"),
            ("recovered", "events_topics"),
        ]
        assert sent[0]["code"] == "MS861"
        assert "closed" in sent[0]["text"]
    assert receiver.received.empty()


def check_values(value):
    assert value('shop_spent_total{user="a"}') == 2
    assert value('shop_spent_total{user="another"}') == 7
    assert value("shop_highest") == 7
    assert value('shop_seen_total{kind="x",user="a",model="plain"}') == 2
    assert value('shop_seen_total{kind="_other",user="_other"}') == 1
    assert value('millstream_metric_dropped_total{metric="seen"}') == 1
    assert value("sum(shop_seen_per_second)") == pytest.approx(4 / 60)
    assert value('shop_sizes_bucket{le="1.0"}') == 1
    assert value('shop_sizes_bucket{le="5.0"}') == 2
    assert value("shop_sizes_count") == 3
    assert value("shop_waits_seconds_sum") == 12
    assert value('millstream_model_rows_total{model="plain"}') == 4
    assert value('millstream_event_latency_seconds_count{query="events_topics"}') == 4
    latency = value("histogram_quantile(0.95, sum by (le) (millstream_event_latency_seconds_bucket))")
    assert 0 < latency < 120
    assert value('millstream_jvm_heap_bytes{kind="used"}') > 1e7
    assert value('millstream_process_rss_bytes{process="jvm"}') > 1e8
    assert value('millstream_test_passed{test="row_count_totals"}') == 0
    assert value("count({__name__=~'shop_only.*'})") is None
    assert value('millstream_changed_rows_total{model="spread",change="inserted"}') == 2
    assert value('millstream_changed_rows_total{model="spread",change="deleted"}') == 0
    assert value('millstream_touched_keys_total{model="spread"}') >= 1
    assert value('millstream_computed_rows_total{model="spread"}') >= 2
    # The same rows, as a metric of the project counts them.
    assert value("shop_changes_total") == value("sum(millstream_changed_rows_total)")


EMPTY = {
    "Skipped records",
    "Dead letters",
    "Dead letters by reason",
    "Rows that fail tests",
    "Time to load the state at the last start",
}
"""The panels without data in a first run in which nothing goes wrong."""


def check_dashboard(prometheus, project):
    """Run each expression of the dashboard."""

    def empty():
        return {
            panel.title
            for panels in panels_of(project).values()
            for panel in panels
            for expression in panel.expressions
            if not prometheus.series(
                re.sub(r"\$(instance|query|model)", ".*", expression.promql).replace(
                    "$__rate_interval", "10s"
                )
            )
        }

    prometheus.until(EMPTY, empty)  # a rate needs two scrapes
    may_be = {panel.title for panels in panels_of(project).values() for panel in panels if panel.empty}
    assert not EMPTY - may_be


def check_alerts(prometheus):
    prometheus.until({"ok"}, lambda: {rule["health"] for rule in prometheus.rules()})
    fires = {
        rule["name"]: [alert["labels"]["test"] for alert in rule["alerts"]]
        for rule in prometheus.rules()
        if rule["state"] == "firing"
    }
    assert fires == {"MillstreamTestFailed": ["row_count_totals"]}


SPREAD = """
    {{ config(materialized='table', unique_key='high') }}
    select total > 2.5 as high, count(*) as users from {{ ref('totals') }} group by total > 2.5
"""


QUERIES = ("totals", "spread", "events_topics")


def inserted(run):
    changes = (batched.batch.changes for batched in run.of(BatchCompleted) if batched.query == "spread")
    return sum(change["spread"].inserted for change in changes)


def test_probes_and_metrics(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model("spread", SPREAD)
    shop.send(event(1), event(2))

    def got(path):
        try:
            with urllib.request.urlopen(address + path, timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    shop.source(tests="[{freshness: {column: _timestamp, within: 1 hour}}]")
    shop.write(
        "models/totals.yml",
        """
        models:
          - {name: totals, tests: [{unique: {columns: [user]}}, {row_count: {max: 1}}]}
        """,
    )

    shop.write(
        "models/metrics.yml",
        """
        metrics:
          - {name: spent, model: totals, type: counter, expression: sum(total), dimensions: [user]}
          - {name: changes, model: spread, type: counter, expression: count(*)}
          - {name: highest, model: totals, type: gauge, expression: max(total)}
          - {name: seen, model: plain, type: meter, expression: count(*), dimensions: [kind, user], most: 2}
          - {name: sizes, model: plain, type: histogram, expression: value, buckets: [1, 5], where: id > 1}
          - {name: waits, model: plain, type: timer, expression: value}
          - {name: only_described, model: plain, expression: sum(value)}
        """,
    )
    shop.model("plain", SINK + "select id, user, kind, value from {{ source('web', 'events') }} where id > 0")

    def alongside(run):
        tests = repeated_tests(
            load_project(shop.root, None, None, None), compile_project(shop.root), None, "log"
        )
        return [lambda spark: keep_testing(tests, 0.5, spark, run.stopping, run.tell)]

    def tested(run, passed):
        return {
            data_tested.test.split(".")[1]
            for data_tested in run.of(DataTested)
            if data_tested.passed is passed
        }

    health = Health(max_lag=0, max_staleness=30)
    with (
        running(shop.root, first_spark, alongside=alongside) as run,
        serve_metrics(
            run.totals, "127.0.0.1", port=0, health=health, identity=RunIdentity("shop", "local")
        ) as address,
    ):
        assert got("/readyz")[0] == 503
        run.until(lambda: rows_of(run, "totals") == 2 and rows_of(run, "events_topics") == 2)
        run.until(lambda: inserted(run) == 1)
        ready = json.loads(got("/readyz")[1])
        assert ready == {"good": True, "queries": dict.fromkeys(QUERIES, True), "reasons": {}}
        metrics = got("/metrics")[1]
        run.until(lambda: run.of(MachineUsage))
        assert 'millstream_rows_total{query="totals"} 2.0' in metrics
        assert 'millstream_lag{query="totals",topic="events"} 0.0' in metrics
        assert 'millstream_state_rows{query="totals",step="0 stateStoreSave"} 1.0' in metrics
        assert got("/healthz")[0] == 200
        assert got("/elsewhere")[0] == 404
        run.until(lambda: len(tested(run, passed=True)) == 3)
        shop.send(event(3, "another", value=7.0, kind="y"), event(4, "third", value=3.0, kind="y"))
        run.until(lambda: tested(run, passed=False))
        run.until(lambda: rows_of(run, "totals") == 4 and rows_of(run, "events_topics") == 4)
        run.until(lambda: inserted(run) == 2)
        project = exported_project(compile_project(shop.root))
        with scraped(address, write_document("alerts", project)) as prometheus:
            check_values(prometheus)
            check_dashboard(prometheus, project)
            check_alerts(prometheus)
        names = {family.name for family in text_string_to_metric_families(got("/metrics")[1])}
        run_metrics = {name for name in names if name.startswith("millstream_")}
        assert run_metrics == {metric.family for metric in RUN_METRICS}
    (failed,) = {
        (data_tested.test, data_tested.message)
        for data_tested in run.of(DataTested)
        if not data_tested.passed
    }
    assert failed == ("test.row_count_totals", "3 rows")


def test_an_edit_that_its_state_does_not_fit_is_refused_before_anything_runs(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model("plain", SINK + "select id from {{ source('web', 'events') }}")
    shop.send(event(1))
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(", "max("))
    shop.send(event(2))
    with pytest.raises(MillstreamError, match="MS870"), running(shop.root, first_spark) as run:
        run.until(lambda: run.of(BatchCompleted))
    assert [row["id"] for row in shop.values("plain")] == [1]


@pytest.mark.long
def test_a_lookup_waits_until_its_table_has_what_was_there(shop, first_spark):
    shop.write(
        "models/names.yml",
        """
        sources:
          - name: crm
            topics:
              - name: users
                table: true
                key: {name: user, type: string}
                columns: [{name: name, type: string}]
        """,
    )
    shop.model(
        "named",
        SINK + "select e.id, u.name from {{ source('web', 'events') }} e "
        "left join {{ source('crm', 'users') }} u on e.user = u.user",
    )
    create_topics(shop.bootstrap, "users", partitions=1)
    shop.send(("a", {"name": "Ann"}), topic="users")
    shop.send(event(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: rows_of(run, "named") == 1)
    assert [json.loads(message.value())["name"] for message in received(shop.bootstrap, "named")] == ["Ann"]


def test_two_runs_of_a_target_exclude_each_other(shop, first_spark):
    shop.model("plain", SINK + "select id from {{ source('web', 'events') }}")
    shop.send(event(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: rows_of(run, "events_topics") == 1)
        with pytest.raises(MillstreamError, match="MS874"):
            built(shop.root, first_spark)
