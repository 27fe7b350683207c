"""Queries that Kafka or Spark stops: each remedy is followed as it is written, and the query goes on."""

import json
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.committed_records import committed
from support.console import run_tool
from support.databases import of_postgres
from support.postgres import PASSWORD
from support.running import running
from support.runs import built, errors
from support.shops import PROFILES, event
from support.spark import SPARK_WARNINGS

from millstream.core.errors import MillstreamError
from millstream.deploy.planning.intents import Apply, FullRefresh
from millstream.deploy.values import BatchCompleted, DiagnosticEvent

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

COUNTS = """
    {{{{ config(materialized='sink', key='user') }}}}
    select {key} as user, count(*) as events from {{{{ source('web', 'events') }}}} {where} group by {key}
"""
NEWEST = """
    {{{{ config(materialized='table', unique_key='user') }}}}
    select user, id from {{{{ source('web', 'events') }}}} {where}
"""
FOLLOWER = """
    {{{{ config(materialized='sink', key='user') }}}}
    select {key} as user, id from {{{{ ref('newest') }}}} {where}
"""
REBUILD = Apply()
NULL_KEYS = (
    "leave out rows whose key is NULL, or give them one with coalesce; where a topic follows a table: in that "
    "table"
)


def stopped(shop, spark, **options):
    """Build; return the code and the remedy of the query that fails."""
    _, events = built(shop.root, spark, **options)
    (diagnostic,) = errors(events)
    return diagnostic.code, diagnostic.help


def go_on(shop, spark, **options):
    _, events = built(shop.root, spark, **options)
    assert errors(events) == []


def create_topic(shop, name, **config):
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1, config=config)])[name].result(10)


def configure(shop, topic, text):
    """Do what a remedy says with `kafka-configs.sh`, of which it names the setting."""
    arguments = shlex.split(re.search(r"kafka-configs\.sh ([^;]*)", text)[1])
    if "--bootstrap-server" not in arguments:
        arguments += ["--bootstrap-server", shop.bootstrap]
    arguments = [topic if argument == "…" else argument for argument in arguments]
    run_tool("kafka.admin.ConfigCommand", *arguments)


def test_rows_without_a_key_get_one_or_are_left_out(shop, first_spark):
    shop.send(event(1), (None, {"id": 2}))
    fixes = {"coalesced": {"key": "coalesce(user, 'none')"}, "left_out": {"where": "where user is not null"}}
    written = {"key": "user", "where": ""}
    for name, fix in fixes.items():
        shop.model(name, COUNTS.format(**written))
        code, remedy = stopped(shop, first_spark)
        assert (code, remedy) == ("MS849", NULL_KEYS)
        shop.model(name, COUNTS.format(**(written | fix)))
        go_on(shop, first_spark, intent=REBUILD)
    assert {row["user"] for row in shop.values("coalesced")} == {"a", "none"}
    assert {row["user"] for row in shop.values("left_out")} == {"a"}


def test_a_topic_that_refuses_times_ahead_takes_them_once_it_is_configured(shop, first_spark):
    create_topic(shop, "timed", **{"message.timestamp.after.max.ms": "3600000"})
    shop.model(
        "timed",
        "{{ config(materialized='sink', timestamp='at') }} select id, at from {{ source('web', 'events') }}",
    )
    shop.send(("a", {"id": 1, "at": "2199-01-01T00:00:00Z"}))
    code, remedy = stopped(shop, first_spark)
    assert code == "MS858"
    configure(shop, "timed", remedy)
    go_on(shop, first_spark)
    assert [(row["id"], row["at"][:4]) for row in shop.values("timed")] == [(1, "2199")]


def test_a_record_that_is_too_large_is_sent_with_larger_limits_or_left_out(shop, first_spark):
    sink = "{{{{ config(materialized='sink'{}) }}}} select id, repeat(kind, 300) as kind from {{{{ source('web', 'events') }}}}"
    shop.model("large", sink.format(""))
    shop.send(event(1), event(2, kind="x" * 9_000))
    code, remedy = stopped(shop, first_spark)
    assert code == "MS695"
    assert remedy.startswith(
        "set max.request.size in `producer` to more bytes, and max.message.bytes of the topic; or go on"
    )
    limits = ", producer={'max.request.size': 9000000}, topic_config={'max.message.bytes': 9000000}"
    shop.model("large", sink.format(limits))
    # The topic exists: the warning has the command that changes it.
    _, events = built(shop.root, first_spark)
    assert [diagnostic.code for diagnostic in errors(events)] == ["MS695"]
    (warning,) = [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)]
    configure(shop, "large", warning.help)
    go_on(shop, first_spark)
    assert [row["id"] for row in shop.values("large")][-1] == 2
    shop.model("skipping", sink.format(", on_bad_record='skip'"))
    go_on(shop, first_spark)
    assert [row["id"] for row in shop.values("skipping")] == [1]


SLOW = """
    import time

    def slow(value: float) -> float:
        if value > 1:
            time.sleep(25)
        return value
"""


def test_transactions_whose_timeout_is_too_long_or_too_short(shop, first_spark):
    sink = """
        {{{{ config(materialized='sink', guarantee='exactly_once', producer={{'transaction.timeout.ms': {}}}) }}}}
        select id, slow(value) as value from {{{{ source('web', 'events') }}}}
    """
    shop.write("macros/slow.py", SLOW)
    # Spark gives Python ten thousand rows at a time: the first ones are sent when the last one is computed.
    shop.send(*(event(1) for _ in range(20_000)), event(2, value=2.0))
    shop.model("sent", sink.format(3_600_000))
    code, remedy = stopped(shop, first_spark)
    assert (code, remedy) == (
        "MS819",
        "set transaction.timeout.ms in `producer` to at most the brokers' transaction.max.timeout.ms",
    )
    shop.model("sent", sink.format(1000))
    code, remedy = stopped(shop, first_spark)
    assert (code, remedy) == (
        "MS810",
        "let batches be smaller with max_rows_per_trigger, or set transaction.timeout.ms in `producer`",
    )
    shop.model("sent", sink.format(60_000))
    go_on(shop, first_spark)
    assert Counter(json.loads(record.value())["id"] for record in committed(shop.bootstrap, "sent")) == {
        1: 20_000,
        2: 1,
    }


def test_what_spark_refuses_is_in_its_log(shop, first_spark):
    sql = """
        {{{{ config(materialized='sink') }}}}
        select id, map_from_arrays(array(id), {}) as ids from {{{{ source('web', 'events') }}}}
    """
    shop.model("mapped", sql.format("array(id, id)"))
    shop.send(event(1))
    code, remedy = stopped(shop, first_spark)
    assert code == "MS860"
    assert Path(remedy.removeprefix("see Spark's log: ")).name.endswith(".log")
    shop.model("mapped", sql.format("array(id)"))
    go_on(shop, first_spark)
    assert [row["id"] for row in shop.values("mapped")] == [1]


def test_a_table_without_a_change_feed_is_stored_elsewhere_or_looked_up(
    shop, first_spark, postgres, monkeypatch
):
    monkeypatch.setenv("DATABASE_PASSWORD", PASSWORD)
    shop.write("profiles.yml", of_postgres(postgres).profiles(default=False))
    shop.model("newest", NEWEST.format(where="").replace("'user')", "'user', store='postgres')"))
    shop.model("follower", FOLLOWER.format(key="user", where=""))
    shop.send(event(1))
    code, remedy = stopped(shop, first_spark)
    assert (code, remedy) == ("MS875", "give 'newest' store: delta, or look it up in a join")
    looked_up = """
        {{ config(materialized='sink') }}
        select e.id, n.id as newest from {{ source('web', 'events') }} as e
        left join {{ ref('newest') }} as n on n.user = e.user
    """
    shop.model("looked_up", looked_up)
    (shop.root / "models/follower.sql").unlink()
    go_on(shop, first_spark)
    shop.model("newest", NEWEST.format(where="").replace("'user')", "'user', store='delta')"))
    shop.model("follower", FOLLOWER.format(key="user", where=""))
    go_on(shop, first_spark, intent=FullRefresh())
    assert shop.values("follower")[-1] == {"user": "a", "id": 1}


def test_real_time_mode_needs_a_core_for_each_partition(shop, first_spark):
    shop.write("profiles.yml", PROFILES.replace("embedded,", "embedded, trigger: realtime,"))
    sink = "{{{{ config(materialized='sink', key='user') }}}} select user from {{{{ source('web', '{}') }}}}"
    shop.more("""
      - {name: others, partitions: 2, key: {name: user, type: string}, columns: [{name: id, type: int}]}
    """)
    shop.model("plain", sink.format("events"))
    shop.model("other", sink.format("others"))
    shop.send(event(1))
    with pytest.raises(MillstreamError) as caught, running(shop.root, first_spark) as run:
        run.until(lambda: False)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "MS879"
    assert diagnostic.help.startswith(
        "give Spark as many cores as partitions, with `master: local[8]` or more"
    )
    assert diagnostic.help.endswith("or read fewer partitions in one target")
    with running(shop.root, first_spark, models=frozenset({"model.plain"})) as run:
        run.until(lambda: run.of(BatchCompleted))
    assert shop.values("plain") == [{"user": "a"}]
