"""A topic that models with and without a state need is read once in a build, with the rows of two reads."""

import json
from collections import Counter
from inspect import cleandoc
from typing import NamedTuple

import pytest
from confluent_kafka import Producer
from support.runs import built, create_topics, errors, job_of, queue_record, statuses
from support.shops import SOURCES, TOTALS, Shop, event
from support.spark import SPARK_WARNINGS

from millstream.engine.queries.shared_reads import SharedRead
from millstream.runner.commands import read_together
from millstream.runner.commands.read_together import is_worth_it, shared_reads, side_by_side

pytestmark = SPARK_WARNINGS

SINK = "{{ config(materialized='sink') }} "
BIG = SINK + "select id, user, value, _partition, _offset from {{ source('web', 'events') }} where value > 5"
TWICE = "{{ config(materialized='sink', key='id') }} select id, value * 2 as twice from {{ source('web', 'events') }}"
COUNTS = """
    {{ config(materialized='sink', key='kind', unbounded_state='accept') }}
    select kind, count(*) as events from {{ source('web', 'events') }} group by kind
"""
USERS = """
      - name: users
        table: true
        key: {name: user, type: string}
        columns: [{name: name, type: string}]
"""
NAMES = """
    {{ config(materialized='sink', key='name', unbounded_state='accept') }}
    select users.name, count(*) as events from {{ source('web', 'events') }} as events
    join {{ source('web', 'users') }} as users on users.user = events.user group by users.name
"""


class Named(NamedTuple):
    name: str


@pytest.fixture
def shop(tmp_path, broker):
    shop = Shop(tmp_path, broker)
    create_topics(shop.bootstrap, "events")
    return shop


@pytest.fixture
def answers(monkeypatch):
    """Let each pair share its read; return what guests were told, batch by batch."""
    answers = []
    original = SharedRead.has_sent

    def noted(self, batch):
        answer = original(self, batch)
        answers.append(answer)
        return answer

    monkeypatch.setattr(read_together, "is_worth_it", lambda *_: True)
    monkeypatch.setattr(SharedRead, "has_sent", noted)
    return answers


def sent(shop, first, number):
    events = [
        event(n, user=f"u{n % 7}", value=float(n % 11), kind="xyz"[n % 3])
        for n in range(first, first + number)
    ]
    shop.send(*events)
    return [{"user": user} | value for user, value in events]


def newest(shop, topic, key, value):
    return {row[key]: row[value] for row in shop.values(topic)}


def test_a_build_reads_a_topic_once(shop, first_spark, answers):
    shop.model("big", BIG)
    shop.model("twice", TWICE)
    shop.model("counts", COUNTS)
    events = []
    for turn, number in enumerate([100, 300]):
        events += sent(shop, len(events), number)
        results, _ = built(shop.root, first_spark)
        assert set(statuses(results).values()) == {"success"}
        assert answers == [True] * (turn + 1)
        assert [result.rows_read for result in results.results] == [number] * 3
        big = [(row["id"], row["user"]) for row in shop.values("big")]
        assert sorted(big) == [(event["id"], event["user"]) for event in events if event["value"] > 5]
        assert len({(row["_partition"], row["_offset"]) for row in shop.values("big")}) == len(big)
        assert sorted((row["id"], row["twice"]) for row in shop.values("twice")) == [
            (event["id"], event["value"] * 2) for event in events
        ]
        assert newest(shop, "counts", "kind", "events") == Counter(event["kind"] for event in events)


@pytest.mark.long
def test_each_batch_is_shared(shop, first_spark, answers):
    shop.source(max_rows_per_trigger=50)
    shop.model("twice", TWICE)
    shop.model("totals", TOTALS)
    events = sent(shop, 0, 200)
    built(shop.root, first_spark)
    assert len(answers) >= 4
    assert all(answers)
    assert sorted(row["id"] for row in shop.values("twice")) == [row["id"] for row in events]


def test_queries_at_different_records_go_on_alone(shop, first_spark, answers):
    shop.model("twice", TWICE)
    shop.model("counts", COUNTS)
    sent(shop, 0, 40)
    built(shop.root, first_spark, models=frozenset({"model.twice"}))
    events = [*range(40), *(row["id"] for row in sent(shop, 40, 30))]
    built(shop.root, first_spark)
    assert answers == [False]
    assert sorted(row["id"] for row in shop.values("twice")) == events
    assert sum(newest(shop, "counts", "kind", "events").values()) == 70
    events += [row["id"] for row in sent(shop, 70, 30)]
    built(shop.root, first_spark)
    assert answers == [False, True]  # both have read everything before
    assert sorted(row["id"] for row in shop.values("twice")) == events


FIRST = "cast(_headers[0].value as string)"


@pytest.mark.parametrize("aggregate", ["count(*)", f"max({FIRST})"])
def test_headers_which_the_host_does_not_need(shop, first_spark, answers, aggregate):
    shop.model("first", SINK + f"select id, {FIRST} as header from {{{{ source('web', 'events') }}}}")
    shop.model("counts", COUNTS.replace("count(*)", aggregate))
    producer = Producer({"bootstrap.servers": shop.bootstrap})
    for number in range(20):
        value = json.dumps({"id": number, "kind": "x"})
        queue_record(producer, "events", key=f"u{number}", value=value, headers={"no": f"h{number:02}"})
    assert producer.flush(10) == 0
    built(shop.root, first_spark)
    assert answers == [True]
    assert sorted((row["id"], row["header"]) for row in shop.values("first")) == [
        (number, f"h{number:02}") for number in range(20)
    ]
    assert newest(shop, "counts", "kind", "events") == {"x": 20 if aggregate == "count(*)" else "h19"}


def test_a_guest_that_fails_does_not_harm_its_host(shop, first_spark, answers):
    shop.model("halves", SINK + "select id, 1 div (id - 7) as half from {{ source('web', 'events') }}")
    shop.model("counts", COUNTS)
    sent(shop, 0, 20)
    results, events = built(shop.root, first_spark)
    assert answers[0] is False
    assert statuses(results) == {"halves": "error", "counts": "success"}
    (diagnostic,) = errors(events)
    assert "zero" in diagnostic.message.lower()
    assert sum(newest(shop, "counts", "kind", "events").values()) == 20
    shop.model("halves", SINK + "select id, 1 div (id + 7) as half from {{ source('web', 'events') }}")
    built(shop.root, first_spark)
    assert {row["id"] for row in shop.values("halves")} == set(range(20))
    assert sum(newest(shop, "counts", "kind", "events").values()) == 20


def test_a_host_that_fails_does_not_harm_its_guest(shop, first_spark, answers):
    shop.model("twice", TWICE)
    shop.model("counts", COUNTS.replace("count(*)", "sum(1 div (id - 7))"))
    sent(shop, 0, 20)
    results, _ = built(shop.root, first_spark)
    assert answers == [False]
    assert statuses(results) == {"twice": "success", "counts": "error"}
    assert {row["id"] for row in shop.values("twice")} == set(range(20))
    sent(shop, 20, 5)
    built(shop.root, first_spark)
    assert {row["id"] for row in shop.values("twice")} == set(range(25))


def test_a_host_that_fails_after_it_has_read_all(shop, first_spark, answers):
    shop.model("twice", TWICE)
    counts = COUNTS.replace("kind, count", "if(kind = 'x', null, kind) as kind, count")
    shop.model("counts", counts.replace("group by kind", "group by 1"))
    sent(shop, 0, 20)
    results, _ = built(shop.root, first_spark)
    assert answers == [True]
    assert statuses(results) == {"twice": "success", "counts": "error"}
    assert sorted(row["id"] for row in shop.values("twice")) == list(range(20))


def test_a_guest_whose_producer_fails(shop, first_spark, answers):
    bad = "config(materialized='sink', producer={'partitioner.class': 'no.Such'}"
    shop.model("twice", TWICE.replace("config(materialized='sink'", bad.removesuffix(")")))
    shop.model("counts", COUNTS)
    sent(shop, 0, 20)
    results, _ = built(shop.root, first_spark)
    assert answers == [False]
    assert statuses(results) == {"twice": "error", "counts": "success"}


@pytest.mark.long
def test_a_host_that_reads_no_record(shop, first_spark, answers):
    """Where Spark does not compile it, a join with no rows does not ask for those of the other side."""
    wide = [f"c{n}" for n in range(110)]
    (shop.root / "models/sources.yml").write_text(
        cleandoc(SOURCES).replace(
            "- {name: id, type: int}",
            "\n          ".join(f"- {{name: {name}, type: int}}" for name in ("id", *wide)),
        )
        + USERS
    )
    create_topics(shop.bootstrap, "users")
    shop.model("twice", TWICE)
    sums = ", ".join(f"sum(events.{name}) as {name}" for name in wide)
    shop.model("names", NAMES.replace("count(*) as events", sums))
    sent(shop, 0, 20)
    built(shop.root, first_spark)
    assert answers == [False]
    assert sorted(row["id"] for row in shop.values("twice")) == list(range(20))


@pytest.mark.long
def test_a_host_of_several_states(shop, first_spark, answers):
    shop.model("twice", TWICE)
    shop.model("counts", COUNTS)
    shop.model(
        "minutes",
        """
        {{ config(materialized='sink', key=['minute', 'kind']) }}
        select kind, window.start as minute, count(*) as events
        from {{ source('web', 'events') }} group by window(at, '1 minute'), kind
        """,
    )
    (host,) = (query for query in job_of(shop.root).physical.queries if "model.counts" in query.stored)
    assert len(host.stored) > 1
    events = sent(shop, 0, 100)
    built(shop.root, first_spark)
    assert answers == [True]
    assert sorted(row["id"] for row in shop.values("twice")) == list(range(100))
    assert newest(shop, "counts", "kind", "events") == Counter(event["kind"] for event in events)


def test_a_query_that_reads_a_topic_twice_has_no_guest(shop, first_spark, answers):
    shop.model("twice", TWICE)
    events_of = "select {} as kind from {{{{ source('web', 'events') }}}}"
    shop.model(
        "counts",
        "{{ config(materialized='sink', key='kind', unbounded_state='accept') }} select kind, count(*) as events"
        f" from ({events_of.format('kind')} union all {events_of.format('user')}) group by kind",
    )
    events = sent(shop, 0, 100)
    built(shop.root, first_spark)
    assert answers == [False]
    assert sorted(row["id"] for row in shop.values("twice")) == list(range(100))
    expected = Counter(event["kind"] for event in events) + Counter(event["user"] for event in events)
    assert newest(shop, "counts", "kind", "events") == expected


@pytest.mark.long
def test_exactly_once_is_not_shared(shop, first_spark, answers):
    shop.model("twice", TWICE)
    shop.model("counts", COUNTS)
    profiles = (shop.root / "profiles.yml").read_text()
    (shop.root / "profiles.yml").write_text(profiles.replace("embedded", "embedded, guarantee: exactly_once"))
    sent(shop, 0, 20)
    built(shop.root, first_spark)
    assert answers == []
    assert sorted(row["id"] for row in shop.values("twice")) == list(range(20))
    assert sum(newest(shop, "counts", "kind", "events").values()) == 20


def test_a_guest_starts_with_a_host_that_waits_for_other_queries(shop, first_spark, answers):
    shop.more(USERS)
    create_topics(shop.bootstrap, "users")
    shop.model("twice", TWICE)
    shop.model("names", NAMES)
    shop.send(*((f"u{n}", {"name": "abc"[n % 3]}) for n in range(7)), topic="users")
    events = sent(shop, 0, 30)
    results, _ = built(shop.root, first_spark)
    assert answers == [True]
    assert set(statuses(results).values()) == {"success"}
    assert newest(shop, "names", "name", "events") == Counter("abc"[n % 7 % 3] for n in range(30))
    assert sorted(row["id"] for row in shop.values("twice")) == [row["id"] for row in events]


def test_a_guest_runs_without_a_host_that_is_skipped(shop, first_spark, answers):
    shop.more(USERS)
    create_topics(shop.bootstrap, "users")
    shop.model("twice", TWICE)
    shop.model("names", NAMES)
    shop.send(("u1", "no object"), topic="users")
    sent(shop, 0, 30)
    results, _ = built(shop.root, first_spark)
    assert answers == [False]
    assert statuses(results) == {"web.users": "error", "twice": "success", "names": "skipped"}
    assert sorted(row["id"] for row in shop.values("twice")) == list(range(30))


def test_pairs_that_would_wait_for_each_other_are_not_shared():
    """Hosts that read what guests of other hosts write."""
    waits = {"a": set(), "host of a": {"b"}, "b": set(), "host of b": {"a"}, "c": set(), "host of c": {"c"}}
    waits = {name: frozenset(names) for name, names in waits.items()}
    candidates = [SharedRead("t", f"host of {name}", name) for name in "abc"]
    ordered, after, pairs = side_by_side([Named(name) for name in waits], waits, candidates)
    assert [pair.guest for pair in pairs] == ["a"]
    assert after == waits | {"a": frozenset("b")}
    assert [query.name for query in ordered][:2] == ["a", "host of a"]
    assert sorted(query.name for query in ordered) == sorted(waits)


def test_what_is_worth_sharing(shop, first_spark, monkeypatch):
    shop.model("twice", TWICE)
    shop.model("counts", COUNTS)
    sent(shop, 0, 20)
    queries = job_of(shop.root).physical.queries
    for enough, count in ((19, 1), (20, 1), (21, 0)):
        monkeypatch.setattr(read_together, "ENOUGH", enough)
        assert len(shared_reads(job_of(shop.root), queries, first_spark)) == count
    monkeypatch.setattr(read_together, "ENOUGH", 1)
    (guest,) = (query for query in queries if not query.signature.stateful)
    assert is_worth_it(job_of(shop.root), guest, 2)
    assert not is_worth_it(job_of(shop.root), guest, 3)  # a core would be idle
    profiles = (shop.root / "profiles.yml").read_text()
    (shop.root / "profiles.yml").write_text(profiles.replace("embedded", "embedded, grouping: 'off'"))
    assert shared_reads(job_of(shop.root), queries, first_spark) == []
