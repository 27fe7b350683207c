"""The records of sinks have the time of what they come from: compared with plain Python."""

import json
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from random import Random

import pytest
from confluent_kafka import Producer
from support.runs import built, create_topics, errors, queue_record, received
from support.shops import PROFILES, UNOPTIMIZED, Shop
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
MINUTE = 60_000
CLICKS = """
      - name: clicks
        key: {name: user, type: string}
        columns:
          - {name: id, type: int}
          - {name: at, type: timestamp}
        watermark: {column: at, delay: 1 minute}
"""
VISITS = """
    from collections.abc import Iterator
    from dataclasses import dataclass

    @dataclass
    class Event:
        id: int

    @dataclass
    class State:
        seen: int = 0

    @dataclass
    class Visit:
        number: int
        seen: int

    def visits(key: str, rows: Iterator[Event], state: State) -> Iterator[Visit]:
        for row in rows:
            state.seen += 1
            yield Visit(row.id, state.seen)
"""
EVENTS = "from {{ source('web', 'events') }}"
OTHERS = "from {{ source('web', 'clicks') }}"
MODELS = {
    "plain": f"{{{{ config(key='id') }}}} select id, kind {EVENTS} where id > 0",
    "again": "{{ config(key='id') }} select id, upper(kind) as kind from {{ ref('plain') }}",
    "twice": f"select id, part {EVENTS} lateral view explode(array(1, 2)) p as part",
    "named": f"""
        select id, labels.label {EVENTS} as e left join {{{{ ref('labels') }}}} as labels on labels.kind = e.kind
        """,
    "timed": f"{{{{ config(timestamp='at') }}}} select id, at {EVENTS}",
    "moved": f"{{{{ config(timestamp='at + interval 1 hour') }}}} select id, at {EVENTS}",
    "sent": f"{{{{ config(timestamp='processing_time') }}}} select id {EVENTS}",
    "exact": f"{{{{ config(guarantee='exactly_once') }}}} select id {EVENTS}",
    "both": f"select id, 'event' as what {EVENTS} union all select id, 'click' as what {OTHERS}",
    "totals": f"{{{{ config(key='kind') }}}} select kind, count(*) as n {EVENTS} group by kind",
    "changes": "{{ config(key='kind', emit='changes') }} select kind, n from {{ ref('stored') }}",
    "upserts": "{{ config(key='kind') }} select kind, n from {{ ref('stored') }}",
    "open": f"""
        {{{{ config(key=['kind', 'minute']) }}}}
        select kind, window(at, '1 minute').start as minute, count(*) as n {EVENTS}
        group by kind, window(at, '1 minute')
        """,
    "closed": f"""
        {{{{ config(emit='on_close') }}}}
        select window.start as minute, count(*) as n {EVENTS} group by window(at, '1 minute')
        """,
    "sessions": f"""
        {{{{ config(emit='on_close') }}}}
        select kind, session_window.end as ends, count(*) as n {EVENTS}
        group by kind, session_window(at, '10 seconds')
        """,
    "first": f"{{{{ config(dedupe={{'keys': ['name'], 'within': '1 hour'}}) }}}} select id % 7 as name, id, at {EVENTS}",
    "matched": f"""
        select e.id, c.id as click {EVENTS} as e
        join {OTHERS[5:]} as c on c.user = e.user and c.at between e.at - interval 5 minutes and e.at + interval 5 minutes
        """,
    "visits": f"select v.number, v.seen {EVENTS} as e lateral view visits(e.user) v as number, seen",
}
STORED = f"""
    {{{{ config(materialized='table', unique_key='kind', unbounded_state='accept') }}}}
    select kind, count(*) as n {EVENTS} group by kind
"""
LABELS = "kind,label\nx,Ex\n"


class Traffic:
    """Random records of both topics, with times and headers that their values don't have."""

    def __init__(self, bootstrap, seconds=1):
        self.bootstrap = bootstrap
        self.seconds = seconds
        self.random = Random(7)
        self.batches = []

    def more(self, count):
        producer = Producer({"bootstrap.servers": self.bootstrap})
        records = [self._record(number) for number in range(count)]
        for record in records:
            value = {name: record[name] for name in ("id", "kind")} | {"at": record["at"].isoformat()}
            headers = [("trace", str(record["id"]).encode()), ("trace", b"again"), ("none", None)]
            queue_record(
                producer, record["topic"], key=record["user"], value=json.dumps(value), timestamp=record["time"],
                headers=headers,
            )  # fmt: skip
        assert producer.flush(30) == 0
        self.batches.append(records)

    def _record(self, number):
        batch = len(self.batches)
        time = START + timedelta(
            minutes=10 * batch, seconds=self.seconds * number, milliseconds=self.random.randrange(1000)
        )
        return {
            "topic": "events" if number % 2 else "clicks",
            "user": f"u{number // 2}",
            "id": 1000 * batch + number + 1,
            "kind": self.random.choice("xyz"),
            "at": time,
            "time": millis(time) + self.random.randrange(-3_600_000, 3_600_000),
        }

    def of(self, topic):
        return [record for batch in self.batches for record in batch if record["topic"] == topic]


def millis(moment):
    return round(moment.timestamp() * 1000)


def at_of(text):
    return millis(datetime.fromisoformat(text.replace("Z", "+00:00")))


def times(bootstrap, topic, *names):
    """Return the times of a topic's records, by some of their values."""
    timestamps = defaultdict(list)
    for message in received(bootstrap, topic):
        value = json.loads(message.value())
        timestamps[tuple(value[name] for name in names)].append(message.timestamp()[1])
    return timestamps


@pytest.mark.parametrize(
    "profiles",
    [pytest.param(PROFILES, id="all"), pytest.param(UNOPTIMIZED, id="none", marks=pytest.mark.long)],
)
@pytest.mark.long
def test_records_have_the_time_of_what_they_come_from(tmp_path, broker, first_spark, profiles):
    began = millis(datetime.now(timezone.utc))
    shop = Shop(tmp_path, broker)
    shop.write("profiles.yml", profiles)
    shop.more(CLICKS)
    shop.write("macros/visits.py", VISITS)
    shop.write("seeds/labels.csv", LABELS)
    create_topics(broker, "events", "clicks")
    for name, sql in MODELS.items():
        options = "{{ config(materialized='sink', unbounded_state='accept') }}"
        shop.model(name, options + sql)
    shop.model("stored", STORED)
    traffic = Traffic(broker)
    newest, sent = {}, defaultdict(list)
    for count in (60, 40):
        traffic.more(count)
        _, messages = built(tmp_path, first_spark)
        assert not errors(messages), errors(messages)
        for record in traffic.batches[-1]:
            if record["topic"] == "events":
                newest[record["kind"],] = max(newest.get((record["kind"],), 0), record["time"])
        for kind in {(r["kind"],) for r in traffic.batches[-1] if r["topic"] == "events"}:
            sent[kind].append(newest[kind])
    events, clicks = traffic.of("events"), traffic.of("clicks")
    event_times = {(r["id"],): [r["time"]] for r in events}
    for topic in ("plain", "again", "named", "exact"):
        assert times(broker, topic, "id") == event_times, topic
    assert times(broker, "twice", "id", "part") == {(r["id"], p): [r["time"]] for r in events for p in (1, 2)}
    assert times(broker, "timed", "id") == {(r["id"],): [millis(r["at"])] for r in events}
    assert times(broker, "moved", "id") == {(r["id"],): [millis(r["at"]) + 60 * MINUTE] for r in events}
    assert times(broker, "sent", "id").keys() == event_times.keys()
    assert times(broker, "both", "id", "what") == {
        (r["id"], r["topic"][:-1]): [r["time"]] for r in (*events, *clicks)
    }
    assert times(broker, "totals", "kind") == sent
    for topic in ("changes", "upserts", "sent"):
        assert min(message.timestamp()[1] for message in received(broker, topic)) >= began, topic
    for topic in ("open", "closed"):
        windows = times(broker, topic, "minute")
        assert windows
        assert all(
            set(timestamps) == {at_of(minute) + MINUTE - 1} for (minute,), timestamps in windows.items()
        )
    sessions = times(broker, "sessions", "ends")
    assert sessions
    assert all(set(timestamps) == {at_of(end) - 1} for (end,), timestamps in sessions.items())
    by_id = {r["id"]: r["time"] for r in (*events, *clicks)}
    first = times(broker, "first", "id")
    assert len(first) == 7
    assert all(timestamps == [by_id[id_]] for (id_,), timestamps in first.items())
    matched = times(broker, "matched", "id", "click")
    assert len(matched) == len(events)
    assert all(timestamps == [max(by_id[id_], by_id[click])] for (id_, click), timestamps in matched.items())
    assert times(broker, "visits", "number") == event_times


CHAINED = {
    "closed": MODELS["closed"],
    "relayed": "{{ config(key='kind') }} select kind, count(*) as n from {{ ref('per_minute') }} group by kind",
    "gone": f"{{{{ config(key='kind') }}}} select kind, count(*) as n {EVENTS} group by kind having count(*) < 12",
    "ancient": f"{{{{ config(timestamp='at - interval 100 years') }}}} select id {EVENTS}",
    "tested": f"select id, kind {EVENTS}",
    "copied": f"{{{{ config(headers='keep', key='id') }}}} select id {EVENTS}",
    "more": f"{{{{ config(headers={{'*': 'keep', 'trace': 'kind'}}) }}}} select id, kind {EVENTS} as e",
}
PER_MINUTE = f"""
    {{{{ config(materialized='view', emit='on_close') }}}}
    select kind, window.start as minute, count(*) as n {EVENTS} group by kind, window(at, '1 minute')
"""
TESTED = """
    models:
      - name: tested
        columns:
          - name: kind
            data_tests:
              - accepted_values: {values: [x, y], severity: dead_letter}
"""


READER = """
sources:
  - name: web
    topics:
      - name: closed
        columns:
          - {name: minute, type: timestamp}
          - {name: n, type: bigint}
        watermark: {column: _timestamp, delay: 1 minute}
"""
DECADES = """
    {{ config(materialized='sink', key='decade') }}
    select window.start as decade, sum(n) as n, min(minute) as first, max(minute) as last
    from {{ source('web', 'closed') }} group by window(_timestamp, '10 minutes')
"""


@pytest.mark.long
def test_times_and_headers_reach_the_end_of_chains(tmp_path, broker, first_spark):
    began = millis(datetime.now(timezone.utc))
    shop = Shop(tmp_path, broker)
    shop.more(CLICKS)
    create_topics(broker, "events", "clicks")
    for name, sql in CHAINED.items():
        shop.model(name, "{{ config(materialized='sink', unbounded_state='accept') }}" + sql)
    shop.model("per_minute", PER_MINUTE)
    shop.write("models/tested.yml", TESTED)
    traffic = Traffic(broker, seconds=10)
    newest, sent = {}, defaultdict(set)
    for count in (60, 40, 30):
        traffic.more(count)
        _, messages = built(tmp_path, first_spark)
        assert not errors(messages), errors(messages)
        for record in traffic.batches[-1]:
            if record["topic"] == "events":
                newest[record["kind"]] = max(newest.get(record["kind"], 0), record["time"])
        for kind, time in newest.items():
            sent[kind].add(time)
    events = {r["id"]: r for r in traffic.of("events")}
    minutes = times(broker, "closed", "minute", "n")
    assert len(minutes) > 2
    # Windows over the times of records have what windows over the original would have.
    reader = Shop(tmp_path / "reader", broker)
    reader.write(
        "profiles.yml", PROFILES.replace("kafka: embedded", f"kafka: {{bootstrap_servers: '{broker}'}}")
    )
    reader.write("models/sources.yml", READER)
    reader.model("decades", DECADES)
    _, messages = built(reader.root, first_spark)
    assert not errors(messages), errors(messages)
    totals = defaultdict(int)
    for minute, n in minutes:
        totals[at_of(minute) // (10 * MINUTE) * 10 * MINUTE] += n
    decades = [json.loads(message.value()) for message in received(broker, "decades")]
    assert {at_of(decade["decade"]): decade["n"] for decade in decades} == totals
    for decade in decades:
        first, last = at_of(decade["first"]), at_of(decade["last"])
        assert at_of(decade["decade"]) <= first <= last < at_of(decade["decade"]) + 10 * MINUTE
    relayed = times(broker, "relayed", "kind")
    assert relayed
    ends = {at_of(minute) + MINUTE - 1 for minute, _ in minutes}
    assert all(set(timestamps) <= ends for timestamps in relayed.values())
    for message in received(broker, "gone"):
        assert message.timestamp()[1] in sent[message.key().decode()]
    assert any(message.value() is None for message in received(broker, "gone"))
    assert all(message.timestamp()[1] >= began for message in received(broker, "ancient"))
    assert {id_ for (id_,) in times(broker, "tested", "id")} == {
        id_ for id_, r in events.items() if r["kind"] != "z"
    }
    for letter in received(broker, "tested.dead_letter"):
        (original,) = (value for name, value in letter.headers() if name == "millstream.timestamp")
        moment = datetime.fromisoformat(original.decode())
        assert moment.utcoffset() is not None
        assert millis(moment) == events[json.loads(letter.value())["id"]]["time"]
        assert letter.timestamp()[1] >= began
    for topic in ("copied", "more"):
        copies = received(broker, topic)
        assert len(copies) == len(events)
        for message in copies:
            value = json.loads(message.value())
            passed = [header for header in message.headers() if not header[0].startswith("millstream.")]
            original = [("trace", str(value["id"]).encode()), ("trace", b"again"), ("none", None)]
            assert passed == original + ([("trace", value["kind"].encode())] if topic == "more" else []), (
                topic
            )
