"""Rows that fail a data test with severity `error`: which rows, how to go on, and that all else goes on."""

import json
import subprocess

import pytest
from support.commands import MILLSTREAM
from support.running import running
from support.runs import built, create_topics, errors, received, statuses, table_rows
from support.shops import UNOPTIMIZED, Shop, event
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import LeftOut, QueryFailed
from millstream.local.broker import keep_broker, stop_broker

pytestmark = SPARK_WARNINGS

EVENTS = "from {{ source('web', 'events') }}"
LATEST = "{{ config(materialized='table', unique_key='id') }} select id, kind, value " + EVENTS
KINDS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, count(*) as n, sum(value) as value from {{ ref('latest') }} group by kind
"""
SINK = "{{ config(materialized='sink', key='id') }} select id, kind, value " + EVENTS
SUMS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, sum(value) as value from {{ source('web', 'events') }} group by kind
"""


def small(shop, **severities):
    """Let models test that values are small."""
    tests = "".join(
        f"""
  - name: {name}
    tests: [{{expression: {{expression: "value < 10", severity: {severity}}}}}]"""
        for name, severity in severities.items()
    )
    shop.write("models/tests.yml", f"models:{tests}")


def failures(events):
    return [*errors(events), *(event.diagnostic for event in events if isinstance(event, LeftOut))]


def kinds(shop, name):
    return sorted(row["kind"] for row in table_rows(shop.root, f"model.{name}"))


@pytest.mark.long
def test_a_table_over_tables_fails_alone_whatever_the_severity(shop, first_spark):
    shop.model("latest", LATEST)
    names = {"strict": "error", "warned": "warn", "dropped": "drop", "parted": "dead_letter"}
    for name in names:
        shop.model(name, KINDS)
    small(shop, **names)
    shop.send(event(1), event(2, kind="y", value=20.0))
    results, events = built(shop.root, first_spark)
    assert statuses(results) == {
        "latest": "success", "strict": "error", "warned": "success", "dropped": "success", "parted": "success",
    }  # fmt: skip
    (diagnostic,) = failures(events)
    assert diagnostic.code == "MS863"
    assert "a row fails a data test: model strict, test expression_strict: kind = y, value = 20.0" in (
        diagnostic.message
    )
    assert {name: kinds(shop, name) for name in ("warned", "dropped", "parted")} == {
        "warned": ["x", "y"], "dropped": ["x"], "parted": ["x"],
    }  # fmt: skip
    assert [record.key() for record in received(shop.bootstrap, "parted.dead_letter")] == [b"y"]
    for name in ("warned", "dropped", "parted"):
        (shop.root / f"models/{name}.sql").unlink()
    # As its remedy says: without the row as long as it is dropped; then its SQL still gives the row.
    small(shop, strict="drop")
    results, events = built(shop.root, first_spark)
    assert failures(events) == []
    assert kinds(shop, "strict") == ["x"]
    shop.send(event(2, kind="y", value=2.0))
    small(shop, strict="error")
    results, events = built(shop.root, first_spark)
    assert failures(events) == []
    assert kinds(shop, "strict") == ["x", "y"]


@pytest.mark.long
def test_a_run_goes_on_after_a_row_of_a_table_over_tables_fails(shop, first_spark):
    shop.model("latest", LATEST)
    shop.model("strict", KINDS)
    small(shop, strict="error")
    shop.send(event(1), event(2, kind="y", value=20.0))
    with running(shop.root, first_spark) as going:
        failed = going.until(lambda: going.of(QueryFailed))
        assert {event.diagnostic.code for event in failed} == {"MS863"}
        shop.send(event(2, kind="y", value=2.0))
        going.until(lambda: kinds(shop, "strict") == ["x", "y"])
    assert {event.query for event in going.of(QueryFailed)} == {"strict"}


@pytest.mark.long
def test_a_table_over_tables_in_a_database_fails_alone(shop, first_spark, database):
    shop.write("profiles.yml", database.profiles(default=False))
    shop.model("latest", LATEST)
    shop.model("strict", KINDS.replace("unique_key", f"store='{database.store}', unique_key"))
    small(shop, strict="error")
    shop.send(event(1), event(2, kind="y", value=20.0))
    results, events = built(shop.root, first_spark)
    assert statuses(results) == {"latest": "success", "strict": "error"}
    (diagnostic,) = failures(events)
    assert diagnostic.code == "MS863"
    assert "model strict, test expression_strict: kind = y, value = 20.0" in diagnostic.message
    small(shop, strict="drop")
    results, events = built(shop.root, first_spark)
    assert failures(events) == []
    shop.send(event(2, kind="y", value=2.0))
    small(shop, strict="error")
    results, events = built(shop.root, first_spark)
    assert failures(events) == []
    assert database.rows("select kind, n, value from strict order by 1") == [
        ("x", 1, 1.0), ("y", 1, 2.0),
    ]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("sql", "edited"), [(SUMS, "sum(10 * value)"), (KINDS, "sum(10 * value)")])
def test_an_apply_reports_the_row_and_keeps_the_running_version(shop, first_spark, sql, edited):
    shop.model("latest", LATEST)
    shop.model("strict", sql)
    small(shop, strict="error")
    shop.send(event(1), event(2, kind="y", value=2.0))
    assert not built(shop.root, first_spark)[0].failed
    before = table_rows(shop.root, "model.strict")
    shop.model("strict", sql.replace("sum(value)", edited))
    results, events = built(shop.root, first_spark, intent=Apply({NodeId("model", "strict"): ("kind",)}))
    assert statuses(results)["strict"] == "error"
    assert {diagnostic.code for diagnostic in failures(events)} == {"MS863"}
    assert table_rows(shop.root, "model.strict") == before
    small(shop, strict="drop")
    results, events = built(
        shop.root, first_spark, intent=Apply({NodeId("model", "strict"): ("kind",)}, accept_differences=True)
    )
    assert failures(events) == []
    assert table_rows(shop.root, "model.strict") == []


@pytest.mark.long
def test_run_results_have_the_row(tmp_path):
    shop = Shop(tmp_path, keep_broker(tmp_path).address)
    try:
        create_topics(shop.bootstrap, "events", partitions=1)
        shop.model("latest", LATEST)
        shop.model("strict", KINDS)
        small(shop, strict="error")
        shop.send(event(2, kind="y", value=20.0))
        done = subprocess.run(
            [*MILLSTREAM, "build"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1, done.stderr
        results = json.loads((tmp_path / "target/run_results.json").read_text())["results"]
        by_id = {result["id"]: (result["status"], result["message"]) for result in results}
        assert by_id["model.latest"] == ("success", "")
        assert by_id["model.strict"][0] == "error"
        assert "test expression_strict: kind = y, value = 20.0" in by_id["model.strict"][1]
        assert "MS863" in done.stdout + done.stderr
    finally:
        stop_broker(tmp_path)


STRICT = {
    "sink": (SINK, ", topic events, partition 0, offset 1: id = 2, value = 20.0"),
    "table": (LATEST, ": id = 2, value = 20.0; the batch reads topic events, partition 0, offset 1"),
    "sums": (SUMS, ": kind = x, value = 21.0; the batch reads topic events, partition 0, offset 1"),
}
"""Models of each kind, and what the error says of the row."""


@pytest.mark.parametrize("severity", [pytest.param("drop", marks=pytest.mark.long), "dead_letter"])
def test_the_error_names_the_record_and_each_remedy_goes_on(shop, first_spark, severity):
    shop.write("profiles.yml", UNOPTIMIZED)
    small(shop, **dict.fromkeys(STRICT, "error"))
    for name, (sql, _) in STRICT.items():
        shop.model(name, sql)
    shop.send(event(1))
    assert not built(shop.root, first_spark)[0].failed
    shop.send(event(2, value=20.0))
    results, events = built(shop.root, first_spark)
    assert statuses(results) == dict.fromkeys(STRICT, "error")
    diagnostics = failures(events)
    assert {diagnostic.code for diagnostic in diagnostics} == {"MS863"}
    for name, (_, row) in STRICT.items():
        (diagnostic,) = (diagnostic for diagnostic in diagnostics if f"model {name}, " in diagnostic.message)
        assert diagnostic.message.endswith(f"model {name}, test expression_{name}{row}")
        assert "set its severity to drop or dead_letter, and back after the next build" in diagnostic.help
    small(shop, **dict.fromkeys(STRICT, severity))
    assert not built(shop.root, first_spark)[0].failed
    small(shop, **dict.fromkeys(STRICT, "error"))
    shop.send(event(3, kind="z"))
    assert not built(shop.root, first_spark)[0].failed
    for name in STRICT:
        letters = received(shop.bootstrap, f"{name}.dead_letter") if severity == "dead_letter" else []
        assert len(letters) == (severity == "dead_letter")
