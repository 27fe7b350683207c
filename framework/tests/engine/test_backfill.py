"""A model that joins a query which has run before gets all that the topic holds, once."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from inspect import cleandoc
from pathlib import Path

import pytest
from support.runs import built, errors, headers, received, table_rows
from support.shops import SHARE
from support.spark import SPARK_WARNINGS

from millstream.deploy.values import DiagnosticEvent

pytestmark = SPARK_WARNINGS

SINK = "{{ config(materialized='sink') }} "
EVENTS = "{{ source('web', 'events') }}"
PLAIN = SINK + f"select id from {EVENTS}"
KINDS = SINK + f"select id, kind from {EVENTS} where value < 5"


def events(first, stop):
    return [(str(n % 7), {"id": n, "kind": f"k{n % 3}", "value": n % 10}) for n in range(first, stop)]


def few(first, stop):
    return {n: f"k{n % 3}" for n in range(first, stop) if n % 10 < 5}


def warnings(events):
    return [event.diagnostic.code for event in events if isinstance(event, DiagnosticEvent)]


def ids(shop, topic):
    return Counter(row["id"] for row in shop.values(topic))


def test_a_new_sink_gets_what_was_there_before_and_what_comes_once(shop, first_spark):
    shop.model("plain", PLAIN)
    shop.send(*events(0, 1000))
    built(shop.root, first_spark)
    shop.send(*events(1000, 1200))
    shop.model("kinds", KINDS)
    _, reported = built(shop.root, first_spark)
    assert (errors(reported), warnings(reported)) == ([], [])
    assert ids(shop, "plain") == dict.fromkeys(range(1200), 1)
    assert sorted((row["id"], row["kind"]) for row in shop.values("kinds")) == sorted(few(0, 1200).items())
    assert headers(received(shop.bootstrap, "kinds")[0])["millstream.position"] == "events-0-0"
    shop.send(*events(1200, 1210))
    built(shop.root, first_spark)
    assert ids(shop, "kinds") == dict.fromkeys(few(0, 1210), 1)


def test_a_new_partition_is_read_once(shop, first_spark):
    from confluent_kafka.admin import AdminClient, NewPartitions

    shop.model("plain", PLAIN)
    shop.send(*events(0, 20))
    built(shop.root, first_spark)
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    admin.create_partitions([NewPartitions("events", 3)])["events"].result(10)
    while any(p.leader < 0 for p in admin.list_topics("events").topics["events"].partitions.values()):
        pass
    shop.send(*events(20, 60))
    shop.model("kinds", KINDS)
    _, reported = built(shop.root, first_spark)
    assert errors(reported) == []
    assert ids(shop, "kinds") == dict.fromkeys(few(0, 60), 1)


LATEST = """
    {{{{ config(materialized='table', unique_key='user') }}}}
    select user, id{more} from {{{{ source('web', 'events') }}}}
"""


@pytest.mark.long
def test_a_new_table_has_the_rows_of_all_keys(shop, first_spark):
    shop.model("latest", LATEST.format(more=""))
    shop.send(*events(0, 50))
    built(shop.root, first_spark)
    shop.model("newest", LATEST.format(more=", kind"))
    shop.send(("0", {"id": 100, "kind": "last"}))
    _, reported = built(shop.root, first_spark)
    assert (errors(reported), warnings(reported)) == ([], [])
    rows = {row["user"]: (row["id"], row["kind"]) for row in table_rows(shop.root, "model.newest")}
    assert rows == {"0": (100, "last"), **{str(n % 7): (n, f"k{n % 3}") for n in range(43, 49)}}


@pytest.mark.long
def test_changes_of_a_table_reach_a_new_model(shop, first_spark):
    shop.model(
        "totals", "{{ config(materialized='table', unique_key='user') }} "
        f"select user, sum(value) as total from {EVENTS} group by user",
    )  # fmt: skip
    changes = "{{ config(materialized='sink', key='user') }} select user, total from {{ ref('totals') }}"
    shop.model("all_totals", changes)
    shop.send(("a", {"id": 1, "value": 2.0}), ("b", {"id": 2, "value": 3.0}))
    built(shop.root, first_spark)
    shop.send(("b", {"id": 3, "value": 1.0}))
    shop.model("large", changes + " where total > 2")
    _, reported = built(shop.root, first_spark)
    assert (errors(reported), warnings(reported)) == ([], [])
    newest = {record.key(): record.value() for record in received(shop.bootstrap, "large")}
    assert newest.pop(b"a", None) is None
    assert newest == {b"b": b'{"user":"b","total":4.0}'}


def test_a_sink_that_gets_another_topic_fills_it(shop, first_spark):
    shop.model("plain", PLAIN)
    shop.send(*events(0, 10))
    built(shop.root, first_spark)
    shop.model("plain", PLAIN.replace("'sink'", "'sink', topic='other'"))
    built(shop.root, first_spark)
    assert ids(shop, "other") == dict.fromkeys(range(10), 1)


def test_where_the_source_begins_at_its_end_there_is_nothing_before(shop, first_spark):
    shop.source(starting="latest")
    shop.model("plain", PLAIN)
    built(shop.root, first_spark)
    shop.send(*events(0, 10))
    built(shop.root, first_spark)
    shop.model("kinds", KINDS)
    _, reported = built(shop.root, first_spark)
    assert warnings(reported) == []
    shop.send(*events(10, 20))
    built(shop.root, first_spark)
    assert ids(shop, "plain") == dict.fromkeys(range(20), 1)
    assert ids(shop, "kinds") == dict.fromkeys(few(10, 20), 1)


@pytest.mark.parametrize("policy", ["skip", "dead_letter"])
def test_what_is_bad_for_one_model_is_good_for_a_new_one_that_does_not_read_it(shop, first_spark, policy):
    """As if all had been there from the start; what was sent to the dead letters is not sent again."""
    shop.source(on_bad_record=policy)
    shop.model("plain", SINK + f"select id, value from {EVENTS}")
    shop.send(("a", {"id": 1, "kind": "x", "value": 1.0}), ("b", {"id": 2, "kind": "y", "value": "none"}))
    built(shop.root, first_spark)
    shop.model("kinds", SINK + f"select id, kind from {EVENTS}")
    built(shop.root, first_spark)
    assert ids(shop, "kinds") == {1: 1, 2: 1}
    assert ids(shop, "plain") == {1: 1}
    if policy == "dead_letter":
        assert [record.key() for record in received(shop.bootstrap, "events.dead_letter")] == [b"b"]


def test_rows_on_which_a_function_of_the_new_model_fails_are_dead_letters(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.write("macros/shares.py", SHARE)
    shop.model("plain", PLAIN)
    shop.send(("a", {"id": 1, "value": 2.0}), ("b", {"id": 2, "value": 0.0}), ("c", "no JSON"))
    built(shop.root, first_spark)
    shop.model("shares", SINK + f"select id, share(value) as share from {EVENTS}")
    built(shop.root, first_spark)
    assert shop.values("shares") == [{"id": 1, "share": 0.5}]
    assert sorted(record.key() for record in received(shop.bootstrap, "events.dead_letter")) == [b"b", b"c"]


KILLED = """
    import os, signal, sys
    from pathlib import Path
    from support.runs import job_of
    from millstream.runner.commands.build import build_models
    from millstream.deploy.values import SetupStep

    def tell(event):
        if isinstance(event, SetupStep) and event.name == "backfill of kinds" and event.done:
            os.kill(os.getpid(), signal.SIGKILL)

    root = Path(sys.argv[1])
    build_models(job_of(root), root / ".millstream", tell)
"""


@pytest.mark.long
def test_a_build_that_is_killed_after_its_backfill_loses_nothing(shop, first_spark):
    shop.model("plain", PLAIN)
    shop.send(*events(0, 1000))
    built(shop.root, first_spark)
    shop.model("kinds", KINDS)
    shop.send(*events(1000, 1100))
    tests = str(Path(__file__).parents[1])
    ended = subprocess.run(
        [sys.executable, "-c", cleandoc(KILLED), str(shop.root)], env={**os.environ, "PYTHONPATH": tests}, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL
    assert ids(shop, "kinds") == dict.fromkeys(few(0, 1000), 1)
    _, reported = built(shop.root, first_spark)
    assert errors(reported) == []
    by_position = {headers(record)["millstream.position"]: json.loads(record.value())["id"]
                for record in received(shop.bootstrap, "kinds")}  # fmt: skip
    assert sorted(by_position.values()) == [*few(0, 1100)]
    assert ids(shop, "plain") == dict.fromkeys(range(1100), 1)
