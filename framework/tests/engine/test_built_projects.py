"""Small projects, built on Kafka, Spark and Delta."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from msgspec import structs
from support.runs import (
    built,
    create_topics,
    engines_of,
    errors,
    headers,
    job_of,
    received,
    send,
    statuses,
    table_rows,
)
from support.shops import SHARE, TOTALS
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import FullRefresh, Update
from millstream.deploy.values import DiagnosticEvent, RunEnded, SetupStep
from millstream.engine.spark.target_lock import target_lock
from millstream.queries.verdict import AcceptedModels
from millstream.runner.commands.build import build_models

pytestmark = SPARK_WARNINGS

GOOD = [("a", {"id": 1, "kind": "x", "value": 2.0}), ("b", {"id": 2, "kind": "y", "value": 0.0})]
SINK = "{{ config(materialized='sink') }}"


def test_a_record_that_cannot_be_decoded_stops_its_models_and_says_where_it_is(shop, first_spark):
    shop.model("plain", SINK + "select id, kind from {{ source('web', 'events') }}")
    shop.send(*GOOD, ("c", "no JSON"))
    results, events = built(shop.root, first_spark)
    assert (results.failed, statuses(results)) == (True, {"plain": "error"})
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS862"
    assert diagnostic.message.startswith("plain: bad record: topic events, partition 0, offset 2: not JSON: ")


def test_records_that_cannot_be_decoded_are_skipped(shop, first_spark):
    shop.source(on_bad_record="skip")
    shop.model("plain", SINK + "select id, kind from {{ source('web', 'events') }}")
    shop.send(*GOOD, ("c", "no JSON"), ("d", {"id": "one"}))
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"plain": "success"}
    assert [row["id"] for row in shop.values("plain")] == [1, 2]


def test_records_that_cannot_be_decoded_are_dead_letters_as_they_were(shop, first_spark):
    shop.source(on_bad_record="dead_letter")
    shop.model("plain", SINK + "select id, kind from {{ source('web', 'events') }}")
    shop.send(*GOOD, ("c", "no JSON"))
    built(shop.root, first_spark)
    assert len(shop.values("plain")) == 2
    (letter,) = received(shop.bootstrap, "events.dead_letter")
    assert (letter.key(), letter.value()) == (b"c", b"no JSON")
    message = headers(letter)
    assert (message["millstream.topic"], message["millstream.partition"], message["millstream.offset"]) == (
        "events",
        "0",
        "2",
    )
    assert message["millstream.reason"].startswith("not JSON: ")


def test_a_function_that_fails_says_on_which_record_and_in_which_line(shop, first_spark):
    shop.write("macros/shares.py", SHARE)
    shop.model("shares", SINK + "select id, share(value) as share from {{ source('web', 'events') }}")
    shop.send(*GOOD)
    _, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert diagnostic.code == "MS861"
    assert diagnostic.message == (
        "shares: model shares, topic events, partition 0, offset 1: "
        "share(): ZeroDivisionError: float division by zero (macros/shares.py:2)"
    )


@pytest.mark.parametrize("policy", ["skip", "dead_letter"])
def test_rows_on_which_a_function_fails(shop, first_spark, policy):
    shop.source(on_bad_record=policy)
    shop.write("macros/shares.py", SHARE)
    shop.model("shares", SINK + "select id, share(value) as share from {{ source('web', 'events') }}")
    shop.model("plain", SINK + "select id from {{ source('web', 'events') }}")
    shop.send(*GOOD)
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"shares": "success", "plain": "success"}
    assert shop.values("shares") == [{"id": 1, "share": 0.5}]
    assert [row["id"] for row in shop.values("plain")] == [1, 2]
    if policy == "dead_letter":
        (letter,) = received(shop.bootstrap, "events.dead_letter")
        assert letter.key() == b"b"
        assert headers(letter)["millstream.reason"].startswith("shares: share(): ZeroDivisionError")


def test_a_call_that_several_models_want_fails_only_where_it_is_wanted(shop, first_spark):
    shop.write("macros/shares.py", SHARE)
    select = "select id, share(value) as share from {{ source('web', 'events') }} "
    shop.model("all", "{{ config(materialized='sink', on_bad_record='dead_letter') }}" + select)
    shop.model("some", SINK + select + "where kind = 'x'")
    shop.send(
        *GOOD, ("c", {"id": 3, "kind": None, "value": 0.0}), ("d", {"id": 4, "kind": "x", "value": 4.0})
    )
    results, _ = built(shop.root, first_spark)
    assert statuses(results) == {"all": "success", "some": "success"}
    assert [row["id"] for row in shop.values("some")] == [1, 4]
    assert [row["id"] for row in shop.values("all")] == [1, 4]
    assert len(received(shop.bootstrap, "events.dead_letter")) == 2


def test_records_say_what_they_were_made_from(shop, first_spark):
    shop.model("plain", SINK + "select id from {{ source('web', 'events') }}")
    shop.model(
        "counts", "{{ config(materialized='sink', key='kind') }} "
        "select kind, count(*) as n from {{ source('web', 'events') }} group by kind",
    )  # fmt: skip
    shop.send(*GOOD)
    built(shop.root, first_spark)
    assert [headers(record)["millstream.position"] for record in received(shop.bootstrap, "plain")] == [
        "events-0-0", "events-0-1",
    ]  # fmt: skip
    (batch,) = {headers(record)["millstream.batch"] for record in received(shop.bootstrap, "counts")}
    assert batch.startswith("counts/")
    assert batch.endswith("/0")


@pytest.mark.long
def test_records_have_the_time_of_a_column(shop, first_spark):
    shop.model(
        "timed", "{{ config(materialized='sink', timestamp='at', key='id', headers={'kind': 'kind'}) }} "
        "select id, kind, at from {{ source('web', 'events') }}",
    )  # fmt: skip
    shop.send(("a", {"id": 1, "kind": "x", "at": "2026-01-02T03:04:05.678Z"}))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    (record,) = received(shop.bootstrap, "timed")
    assert record.timestamp()[1] == 1767323045678
    assert (record.key(), headers(record)["kind"]) == (b"1", "x")


def test_a_table_goes_on_where_it_stopped(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(*GOOD)
    built(shop.root, first_spark)
    shop.send(("a", {"id": 3, "kind": "x", "value": 3.0}))
    results, _ = built(shop.root, first_spark)
    assert results.results[0].rows_read == 1
    assert {row["user"]: row["total"] for row in table_rows(shop.root, "model.totals")} == {
        "a": 5.0,
        "b": 0.0,
    }
    # Batches of few records, also the first one, are stored without Spark.
    assert engines_of(shop.root, "totals") == ["delta-rs", "delta-rs"]


def test_rows_that_stop_matching_leave_a_table(shop, first_spark):
    shop.model("totals", TOTALS + "having sum(value) < 4")
    shop.send(*GOOD)
    built(shop.root, first_spark)
    assert {row["user"] for row in table_rows(shop.root, "model.totals")} == {"a", "b"}
    shop.send(("a", {"id": 3, "kind": "x", "value": 3.0}))
    built(shop.root, first_spark)
    assert {row["user"] for row in table_rows(shop.root, "model.totals")} == {"b"}


def test_the_newest_row_of_a_key_is_kept(shop, first_spark):
    shop.model(
        "latest", "{{ config(materialized='table', unique_key='user', order_by='id', delete_when=\"kind = 'gone'\") }} "
        "select user, id, kind from {{ source('web', 'events') }}",
    )  # fmt: skip
    shop.send(("a", {"id": 2, "kind": "new"}), ("a", {"id": 1, "kind": "old"}), ("b", {"id": 1, "kind": "x"}))
    built(shop.root, first_spark)
    rows = {row["user"]: row["kind"] for row in table_rows(shop.root, "model.latest")}
    assert rows == {"a": "new", "b": "x"}
    shop.send(("a", {"id": 1, "kind": "late"}), ("b", {"id": 2, "kind": "gone"}))
    built(shop.root, first_spark)
    assert {row["user"]: row["kind"] for row in table_rows(shop.root, "model.latest")} == {"a": "new"}


def test_an_edit_that_its_state_does_not_fit_is_refused_until_it_is_built_anew(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(*GOOD)
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("sum(value)", "max(value)"))
    results, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert (statuses(results), diagnostic.code) == ({"totals": "error"}, "MS870")
    assert diagnostic.help == "rebuild it alongside the running version, then swap: millstream apply"
    built(shop.root, first_spark, intent=FullRefresh())
    assert {row["user"]: row["total"] for row in table_rows(shop.root, "model.totals")} == {
        "a": 2.0,
        "b": 0.0,
    }


@pytest.mark.long
def test_an_edit_behind_a_state_goes_on(shop, first_spark):
    """What is done with aggregates, and columns beside them, change nothing of what is kept, or of its order."""
    table = "{{ config(materialized='table', unique_key='user') }} select user, "
    rest = " from {{ source('web', 'events') }} group by user"
    shop.model("totals", f"{table}sum(value) as total, count(*) as n, max(id) as newest{rest}")
    shop.send(*GOOD)
    built(shop.root, first_spark)
    before = {
        row["user"]: (row["total"], row["n"], row["newest"]) for row in table_rows(shop.root, "model.totals")
    }
    edited = "round(sum(value), 2) as total, 1 as version, count(*) as n, max(id) + 0 as newest"
    shop.model("totals", f"{table}{edited}{rest}")
    shop.send(("b", {"id": 30, "kind": "x", "value": 9.0}))
    results, events = built(
        shop.root,
        first_spark,
        intent=Update(accepted=AcceptedModels(stored=frozenset({NodeId("model", "totals")}))),
    )
    assert (statuses(results), errors(events)) == ({"totals": "success"}, [])
    rows = {
        row["user"]: (row["total"], row["n"], row["newest"]) for row in table_rows(shop.root, "model.totals")
    }
    total, n, _ = before["b"]
    assert rows["b"] == (total + 9.0, n + 1, 30)
    assert rows["a"] == before["a"]


@pytest.mark.long
def test_a_model_leaves_a_state_that_another_one_needs(shop, first_spark):
    shop.model("counts", "select user, count(*) as n from {{ source('web', 'events') }} group by user")
    shop.model(
        "kept", "{{ config(materialized='table', unique_key='user') }} select * from {{ ref('counts') }}"
    )
    shop.model("gone", "{{ config(materialized='sink', key='user') }} select * from {{ ref('counts') }}")
    shop.send(*GOOD)
    built(shop.root, first_spark)
    before = {row["user"]: row["n"] for row in table_rows(shop.root, "model.kept")}
    (shop.root / "models/gone.sql").unlink()
    shop.send(("b", {"id": 30, "kind": "x", "value": 9.0}))
    results, events = built(shop.root, first_spark)
    assert (statuses(results), errors(events)) == ({"kept": "success"}, [])
    assert {row["user"]: row["n"] for row in table_rows(shop.root, "model.kept")} == before | {
        "b": before["b"] + 1
    }


def test_an_edit_before_a_state_waits_for_a_word(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.send(*GOOD)
    built(shop.root, first_spark)
    shop.model("totals", TOTALS.replace("group by", "where kind = 'x' group by"))
    _, events = built(shop.root, first_spark)
    assert errors(events)[0].code == "MS871"
    shop.send(("b", {"id": 3, "kind": "y", "value": 9.0}), ("b", {"id": 4, "kind": "x", "value": 1.0}))
    built(
        shop.root,
        first_spark,
        intent=Update(accepted=AcceptedModels(mixed=frozenset({NodeId("model", "totals")}))),
    )
    assert {row["user"]: row["total"] for row in table_rows(shop.root, "model.totals")} == {
        "a": 2.0,
        "b": 1.0,
    }


def test_what_reads_a_failed_model_is_skipped(shop, first_spark):
    shop.write("macros/shares.py", SHARE)
    shop.model("totals", TOTALS.replace("sum(value)", "sum(share(value))"))
    shop.model(
        "named", SINK + "select e.id, t.total from {{ source('web', 'events') }} as e "
        "left join {{ ref('totals') }} as t on t.user = e.user",
    )  # fmt: skip
    shop.send(*GOOD)
    results, events = built(shop.root, first_spark)
    assert statuses(results) == {"totals": "error", "named": "skipped"}
    assert errors(events)[0].message.startswith("totals: model totals, user b: share(): ZeroDivisionError")
    assert next(result.message for result in results.results if result.id == "model.named") == (
        "it reads totals, which failed"
    )


@pytest.mark.long
def test_a_lookup_sees_the_table_that_was_built_before(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model(
        "named", SINK + "select e.id, t.total from {{ source('web', 'events') }} as e "
        "left join {{ ref('totals') }} as t on t.user = e.user",
    )  # fmt: skip
    shop.send(*GOOD)
    results, _ = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}
    assert sorted((row["id"], row["total"]) for row in shop.values("named")) == [(1, 2.0), (2, 0.0)]


def test_only_what_is_asked_for_is_built(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model("plain", SINK + "select id from {{ source('web', 'events') }}")
    shop.send(*GOOD)
    results, _ = built(shop.root, first_spark, models=frozenset({"model.plain"}))
    assert statuses(results) == {"plain": "success"}


def test_changes_of_a_table_are_read_as_they_come(shop, first_spark):
    shop.model("totals", TOTALS)
    shop.model(
        "large", "{{ config(materialized='sink', key='user') }} select user, total from {{ ref('totals') }} "
        "where total > 1",
    )  # fmt: skip
    shop.send(*GOOD)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    newest = {record.key(): record.value() for record in received(shop.bootstrap, "large")}
    assert newest[b"a"] == b'{"user":"a","total":2.0}'
    assert newest.get(b"b") is None


KAFKA = """
    shop:
      target: there
      outputs:
        there:
          master: local[2]
          kafka: {{bootstrap_servers: "{bootstrap}"}}
          tables: {{path: tables}}
          checkpoints: checkpoints
"""


def test_a_kafka_of_ones_own(shop, first_spark):
    shop.write("profiles.yml", KAFKA.format(bootstrap=shop.bootstrap))
    shop.model("totals", TOTALS)
    shop.send(*GOOD)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert {row["user"]: row["total"] for row in table_rows(shop.root, "model.totals")} == {
        "a": 2.0,
        "b": 0.0,
    }
    assert (shop.root / "checkpoints/totals/millstream.json").exists()


def test_topics_of_sources_are_not_created_elsewhere(shop, first_spark):
    shop.write("profiles.yml", KAFKA.format(bootstrap=shop.bootstrap))
    shop.source(topic="evnts")
    shop.model("totals", TOTALS)
    with pytest.raises(MillstreamError, match="MS872: the topic 'evnts' of a source does not exist"):
        built(shop.root, first_spark)


def test_a_missing_topic_is_reported_before_anything_is_started(shop):
    shop.write("profiles.yml", KAFKA.format(bootstrap=shop.bootstrap))
    shop.source(topic="evnts")
    shop.model("totals", TOTALS)
    events = []
    with pytest.raises(MillstreamError, match="MS872"):
        build_models(job_of(shop.root), shop.root / ".millstream", events.append)
    assert events == []


def test_a_kafka_that_does_not_answer(shop, first_spark):
    shop.write("profiles.yml", KAFKA.format(bootstrap="127.0.0.1:1"))
    shop.model("totals", TOTALS)
    with pytest.raises(MillstreamError, match="MS822"):
        built(shop.root, first_spark)


def test_two_builds_of_one_target_exclude_each_other(shop, first_spark):
    shop.model("totals", TOTALS)
    folder = shop.root / ".millstream/local"
    with target_lock(folder, "local"), pytest.raises(MillstreamError, match="MS874") as refused:
        built(shop.root, first_spark)
    assert re.search(
        rf"`[\w-]+` \(process {os.getpid()}, since \d\d:\d\d:\d\d\) is using", str(refused.value)
    )


def test_a_build_can_wait_for_another_one(shop, first_spark):
    """The other one is a process, since a lock belongs to the kernel."""
    shop.model("totals", TOTALS)
    code = (
        "import sys; from pathlib import Path; from millstream.engine.spark.target_lock import target_lock\n"
        f"with target_lock(Path({str(shop.root / '.millstream/local')!r}), 'local'):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout.readline() == "held\n"
        events = []

        def tell(event):
            events.append(event)
            if isinstance(event, SetupStep) and event.message.startswith("waiting until"):
                other.stdin.close()

        build_models(
            structs.replace(job_of(shop.root), wait=True), shop.root / ".millstream", tell, first_spark
        )
        assert other.wait() == 0
    assert f"(process {other.pid}, since " in next(
        event.message for event in events if isinstance(event, SetupStep)
    )
    assert [event.result.status for event in events if isinstance(event, RunEnded)] == ["success"]


def test_a_checkpoint_of_another_project(shop, first_spark):
    shop.model("totals", TOTALS)
    built(shop.root, first_spark)
    record = shop.root / ".millstream/local/checkpoints/totals/millstream.json"
    record.write_text(record.read_text().replace('"project": "shop"', '"project": "other"'))
    _, events = built(shop.root, first_spark)
    assert errors(events)[0].code == "MS869"


def test_a_topic_with_other_partitions_is_told_of(shop, first_spark):
    shop.source(partitions="3")
    shop.model("totals", TOTALS)
    _, events = built(shop.root, first_spark)
    (warning,) = [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)]
    assert (warning.code, warning.message) == (
        "MS826", "topic 'events' has partitions 1, but the project configures 3"
    )  # fmt: skip


def test_a_table_in_a_database(shop, first_spark, database):
    shop.write("profiles.yml", database.profiles())
    shop.model("totals", TOTALS)
    shop.model(
        "named", SINK + "select e.id, t.total from {{ source('web', 'events') }} as e "
        "left join {{ ref('totals') }} as t on t.user = e.user",
    )  # fmt: skip
    shop.send(*GOOD)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    shop.send(("a", {"id": 3, "kind": "x", "value": 3.0}))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    query = 'select "user", total from totals order by 1'
    assert database.rows(query) == [("a", 5.0), ("b", 0.0)]
    assert sorted((row["id"], row["total"]) for row in shop.values("named")) == [
        (1, 2.0),
        (2, 0.0),
        (3, 5.0),
    ]


def test_what_a_kill_left_of_the_first_offsets_does_not_matter(shop, first_spark):
    """Spark writes them to a file of another name first, and later refuses to start next to that."""
    shop.model("totals", TOTALS)
    shop.send(*GOOD)
    (query,) = job_of(shop.root).physical.queries
    offsets = shop.root / f".millstream/local/checkpoints/{query.name}/spark/offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.a17ef0a6.tmp").write_text("v1")
    results, events = built(shop.root, first_spark)
    assert (errors(events), statuses(results)) == ([], {"totals": "success"})


def test_where_another_version_would_have_begun_does_not_matter(shop, first_spark):
    """Spark notes the first offsets of a source before a batch; the next version may read other topics."""
    create_topics(shop.bootstrap, "others", partitions=1)
    send(shop.bootstrap, {"others": [("c", {"id": 3, "value": 5.0})]})
    shop.write("models/others.yml", OTHERS)
    shop.send(*GOOD)
    shop.model("named", SINK + "select id, value from {{ source('web', 'events') }}")
    built(shop.root, first_spark)
    (query,) = job_of(shop.root).physical.queries
    spark = shop.root / f".millstream/local/checkpoints/{query.name}/spark"
    for folder in ("offsets", "commits"):
        shutil.rmtree(spark / folder)
    shop.model("named", SINK + "select id, value from {{ source('more', 'others') }}")
    results, events = built(shop.root, first_spark)
    assert (errors(events), statuses(results)) == ([], {"named": "success"})
    assert [row["id"] for row in shop.values("named")] == [1, 2]


OTHERS = """
sources:
  - name: more
    topics:
      - name: others
        starting: latest
        key: {name: user, type: string}
        columns: [{name: id, type: bigint}, {name: value, type: double}]
"""
