"""Builds that have nothing to do, and start no Spark; and everything after which there is something to do."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.commands import MILLSTREAM
from support.runs import built, create_topics, job_of
from support.shops import SUMS, TOTALS, WINDOWS, Shop, event, minute
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply
from millstream.local.broker import keep_broker, stop_broker
from millstream.runner.commands.up_to_date import up_to_date

pytestmark = SPARK_WARNINGS

PLAIN = "{{ config(materialized='sink') }} select id from {{ source('web', 'events') }}"
OF_USERS = """
    {{ config(materialized='table', unique_key='total') }}
    select total, count(*) as users from {{ ref('totals') }} group by total
"""


@pytest.fixture
def done(shop, first_spark):
    """A shop whose models are built: topics, tables, windows, and a table over a table."""
    shop.model("plain", PLAIN)
    shop.model("totals", TOTALS)
    shop.model("windows", WINDOWS)
    shop.model("sums", SUMS)
    shop.model("of_users", OF_USERS)
    shop.send(event(1), *map(minute, range(5)))
    built(shop.root, first_spark)
    return shop


def idle(shop, **options):
    return {query.name for query in up_to_date(job_of(shop.root, **options), shop.root / ".millstream") or ()}


def test_a_build_has_nothing_to_do_until_records_come(done, first_spark):
    every = idle(done)
    assert every == {query.name for query in job_of(done.root).physical.queries}
    assert idle(done, models=frozenset({"model.totals"})) < every
    done.send(event(9))
    assert idle(done) == set()
    built(done.root, first_spark)
    assert idle(done) == every


@pytest.mark.long
def test_an_edit_a_batch_that_did_not_end_and_a_topic_that_was_remade(done, first_spark):
    every = idle(done)
    done.model("plain", PLAIN.replace("select id", "select id + 1 as id"))
    assert idle(done) == set()
    done.model("plain", PLAIN)
    assert idle(done) == every
    (commits,) = done.root.glob(".millstream/*/checkpoints/totals/*/commits")
    last = max(
        (commit for commit in commits.iterdir() if commit.name.isdigit()), key=lambda commit: int(commit.name)
    )
    text = last.read_text()
    last.unlink()
    assert idle(done) == set()
    last.write_text(text)
    assert idle(done) == every
    (commits,) = done.root.glob(".millstream/*/checkpoints/windows/*/commits")
    last = max(
        (commit for commit in commits.iterdir() if commit.name.isdigit()), key=lambda commit: int(commit.name)
    )
    version, facts = last.read_text().splitlines()[:2]
    later = json.loads(facts) | {"nextBatchWatermarkMs": json.loads(facts)["nextBatchWatermarkMs"] + 1}
    before = last.read_text()
    last.write_text(f"{version}\n{json.dumps(later)}\n")
    assert idle(done) == set()  # a window may have to be closed
    last.write_text(before)
    assert idle(done) == every


@pytest.mark.long
def test_an_apply_has_nothing_to_do_unless_one_was_interrupted(done, first_spark):
    every = idle(done)
    assert idle(done, intent=Apply()) == every
    done.model("totals", TOTALS.replace("sum(value)", "max(value)"))
    assert idle(done, intent=Apply()) == set()
    built(
        done.root, first_spark, intent=Apply({NodeId("model", "totals"): ("user",)}, accept_differences=True)
    )
    assert idle(done, intent=Apply()) == every
    (note,) = done.root.glob(".millstream/*/checkpoints/applied.json")
    ended = note.read_text()
    note.write_text(json.dumps(json.loads(ended) | {"done": False}))
    assert idle(done, intent=Apply()) == set()
    built(done.root, first_spark, intent=Apply())
    assert idle(done, intent=Apply()) == every
    assert note.read_text() == ended


@pytest.mark.long
def test_without_spark_and_without_the_broker(tmp_path, tmp_path_factory):
    without = tmp_path_factory.mktemp("without")
    (without / "pyspark.py").write_text("raise ImportError('PySpark must not be imported')")
    # Neither can a JVM start with these, nor PySpark be imported.
    nothing = {"JAVA_HOME": "/nowhere", "PATH": str(Path(MILLSTREAM[0]).parent), "PYTHONPATH": str(without)}
    shop = Shop(tmp_path, keep_broker(tmp_path).address)
    try:
        create_topics(shop.bootstrap, "events", partitions=1)
        shop.model("plain", PLAIN)
        shop.model("totals", TOTALS)
        shop.send(event(1), event(2))
        first = build(shop)
        assert [result["rows_read"] for result in first["results"]] == [2, 2]
        for stopped in (False, True):
            if stopped:
                stop_broker(tmp_path)
            again = build(shop, **nothing)
            assert [(result["id"], result["rows_read"], result["status"]) for result in again["results"]] == [
                (result["id"], 0, "success") for result in first["results"]
            ]
            assert [state["models"] for state in run(shop, "state", **nothing)["states"]] == [["totals"]]
            assert run(shop, "plan", **nothing)["rebuilds"] == []
            applied = run(shop, "apply", "--no-tests", **nothing)
            assert [result["rows_read"] for result in applied["results"]] == [0, 0]
            assert applied["compared"] == []
        shop = Shop(tmp_path, keep_broker(tmp_path).address)
        shop.model("plain", PLAIN)
        shop.model("totals", TOTALS)
        shop.send(event(3))
        assert [result["rows_read"] for result in build(shop)["results"]] == [1, 1]
    finally:
        stop_broker(tmp_path, force=True)


def build(shop, **environment):
    return run(shop, "build", "--no-tests", **environment)


def run(shop, *command, **environment):
    done = subprocess.run(
        [*MILLSTREAM, *command, "--output", "json"],
        cwd=shop.root,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_models_without_a_state(shop, first_spark):
    """No groups of states are recorded for them."""
    shop.model("plain", PLAIN)
    shop.send(event(1))
    built(shop.root, first_spark)
    assert idle(shop) == {"events_topics"}
    shop.send(event(2))
    assert idle(shop) == set()
