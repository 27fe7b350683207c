"""Runs that lose their JVM, their topic, their code or an apply: the remedy is followed, and no row is lost."""

import json
import os
import signal
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from engine.test_handover import ANY, MOST, applied, totals
from engine.test_handover import TOTALS as TOTALS_AND_EVENTS
from support.commands import PATIENCE, Run, descendants, refused, succeed
from support.running import running
from support.runs import built, errors, table_rows
from support.shops import PROFILES, TOTALS, event
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.deploy.planning.intents import FullRefresh
from millstream.deploy.values import BatchCompleted, QueryFailed

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

SINK = "{{ config(materialized='sink') }} "
PLAIN = SINK + "select id from {{ source('web', 'events') }}"
HALVES = SINK + "select id, half(value) as half from {{ source('web', 'events') }}"
HALF = """
    from macros.halves import computed

    def half(value: float) -> float:
        return computed(value)
"""
COMPUTED = """
    import pathlib

    def computed(value: float) -> float:
        if pathlib.Path({!r}).exists():
            raise ValueError("not now")
        return value / {}
"""


def total(shop):
    return {row["user"]: row["total"] for row in table_rows(shop.root, "model.totals")}


def java_of(process):
    return [
        child for child in descendants(process.pid) if Path(f"/proc/{child}/comm").read_text() == "java\n"
    ]


def test_a_run_whose_jvm_ended_is_started_again(shop):
    shop.model("totals", TOTALS)
    shop.send(event(1))
    run = Run(shop.root)
    run.until("batch")
    for process in java_of(run.process):
        os.kill(process, signal.SIGKILL)
    run.until("problem")
    reported_event = json.loads(run.output[-1])
    assert reported_event["code"] == "MS883"
    assert reported_event["help"].startswith("start it again: no data is lost")
    assert run.process.wait(PATIENCE) == 2
    shop.send(event(2))
    succeed(shop.root, "build")
    assert total(shop) == {"a": 2.0}


def test_states_of_a_model_that_has_none(shop):
    shop.model("totals", TOTALS)
    shop.send(event(1))
    succeed(shop.root, "build")
    reported = json.loads(refused(shop.root, "state", "get", "totls", "a", "--output", "json"))
    (diagnostic,) = reported["diagnostics"]
    assert (diagnostic["code"], diagnostic["help"]) == ("MS899", "did you mean 'totals'?")
    succeed(shop.root, "state", "get", "totals", "a")


def test_settings_that_java_refuses(shop):
    shop.model("totals", TOTALS)
    shop.send(event(1))
    shop.write("profiles.yml", PROFILES.replace("{spark.sql", "{spark.driver.memory: 1z, spark.sql"))
    (diagnostic,) = json.loads(refused(shop.root, "build", "--output", "json"))["diagnostics"]
    assert diagnostic["code"] == "MS873"
    remedy, log = diagnostic["help"].split("; see ")
    assert remedy == "fix `master` or `spark:` of target 'local'"
    assert "Invalid maximum heap size: -Xmx1z" in "".join(
        file.read_text() for file in Path(log.removesuffix(" for Java's output")).iterdir()
    )
    shop.write("profiles.yml", PROFILES)
    succeed(shop.root, "build")
    assert total(shop) == {"a": 1.0}


def delete_topic(shop, name):
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    admin.delete_topics([name])[name].result(10)


def test_a_topic_that_was_removed_is_created_by_a_build_from_the_start(shop, first_spark):
    shop.model("plain", PLAIN)
    shop.send(event(1))
    with running(shop.root, first_spark) as run:
        run.until(lambda: run.of(BatchCompleted))
        delete_topic(shop, "events")
        failed = run.until(lambda: run.of(QueryFailed))[0].diagnostic
    assert failed.code == "MS865"
    assert "if it is read, `millstream build --full-refresh` creates it" in failed.help
    assert errors(built(shop.root, first_spark, intent=FullRefresh())[1]) == []
    shop.send(event(2))
    assert errors(built(shop.root, first_spark)[1]) == []
    assert [row["id"] for row in shop.values("plain")] == [1, 2]


def reported(run, code):
    """Wait for a failure with a code; return its remedy."""
    while True:
        event = run.until("failed")
        if event["code"] == code:
            return event["help"]


def test_functions_whose_module_was_edited_start_once_it_is_restored(shop):
    broken = shop.root / "broken"
    shop.model("halves", HALVES)
    shop.write("macros/half.py", HALF)
    shop.write("macros/halves.py", COMPUTED.format(str(broken), 2))
    shop.send(event(1))
    run = Run(shop.root)
    run.until("batch")
    broken.touch()
    shop.write("macros/halves.py", COMPUTED.format(str(broken), 4))
    shop.send(event(2))
    remedy = reported(run, "MS889")
    assert remedy == "restore it, or stop the run, run `millstream apply`, and start the run again"
    broken.unlink()
    shop.write("macros/halves.py", COMPUTED.format(str(broken), 2))
    run.until("batch")
    assert run.stop() == 0
    assert [(row["id"], row["half"]) for row in shop.values("halves")] == [(1, 0.5), (2, 0.5)]
    shop.write("macros/halves.py", COMPUTED.format(str(broken), 4))
    succeed(shop.root, "apply", "--yes")
    shop.send(event(3))
    run = Run(shop.root)
    run.until("batch")
    assert run.stop() == 0
    assert shop.values("halves")[-1] == {"id": 3, "half": 0.25}


def test_an_apply_whose_run_stops_is_repeated(shop, first_spark):
    shop.model("totals", TOTALS_AND_EVENTS)
    shop.send(event(1, value=2.0), event(2, value=3.0))
    with running(shop.root, first_spark) as run:
        run.until(lambda: run.of(BatchCompleted))
        shop.model("totals", MOST)
        with pytest.raises(MillstreamError) as caught:
            applied(shop, tell=lambda _: run.stopping.set())
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.help) == ("MS890", "repeat the command: it continues")
    assert errors(built(shop.root, first_spark, intent=ANY)[1]) == []
    assert totals(shop) == {"a": (3.0, 2)}
