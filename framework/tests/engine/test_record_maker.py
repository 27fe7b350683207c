"""Records that are made where they are sent are those that Spark's own plan gives."""

import json
from datetime import datetime, timedelta, timezone
from inspect import cleandoc
from random import Random

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from support.broker import lend
from support.long import FRESH
from support.runs import built, create_topics, errors, queue_record, received
from support.shops import UNOPTIMIZED, Shop, event
from support.spark import SPARK_WARNINGS

from millstream.engine.queries import start
from millstream.engine.queries.record_maker import RecordMaker

pytestmark = SPARK_WARNINGS

COLUMNS = {
    "id": "int",
    "user": "string",
    "value": "double",
    "price": "decimal(12, 3)",
    "n": "bigint",
    "small": "smallint",
    "tiny": "tinyint",
    "ratio": "float",
    "ok": "boolean",
    "day": "date",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "raw": "binary",
    "tags": "array<string>",
    "device": "struct<os: string, versions: array<int>, size: struct<w: double>>",
    "attributes": "map<string, int>",
    "items": "array<struct<sku: string, price: decimal(6, 2)>>",
}
FUNCTIONS = '''
    def share(value: float) -> float:
        """Fails on zero."""
        return 1 / value

    def label(user: str, n: int) -> str:
        return f"{user.upper()}:{n % 7}"

    def shown(value: float) -> str:
        return f"{int(1 / value)}"
'''
ALL = "select * from {{ source('web', 'events') }}"
EVENTS = "from {{ source('web', 'events') }}"
MODELS = {
    "whole": f"{{{{ config(key='user', timestamp='at', headers={{'kind': 'upper(user)', 'no': 'id'}}) }}}} {ALL}",
    "some": f"{{{{ config(key=['user', 'id']) }}}} select id, user, price * 2 as price, value / n as rate {EVENTS} where ok",
    "avro": f"{{{{ config(key='id', format='avro') }}}} select id, user, price, device, tags, at {EVENTS} where value > 0",
    "shares": f"select id, share(value) as share, label(user, n) as label, value {EVENTS} where id % 3 > 0",
    "shown": f"{{{{ config(on_bad_record='skip') }}}} select id, shown(value) as shown, label(user, n) as label {EVENTS}",
    "tested": f"select id, value, ratio, small {EVENTS}",
    "nested": f"""
        select
          id,
          transform(items, each -> struct(each.sku as sku, each.price * 2 as twice)) as twice,
          device.size.w as w,
          map_filter(attributes, (name, number) -> number > 1) as attributes,
          case when ok then tags when value is null then array('none') end as tags,
          date_add(day, 3) as later, local, raw, coalesce(device.os, user, 'none') as os
        {EVENTS}
        """,
    "joined": f"""
        select events.id, labels.label {EVENTS} as events
        left join {{{{ ref('labels') }}}} as labels on labels.user = events.user where labels.label is distinct from 'B'
        """,
    "exploded": f"select id, item.sku, item.price {EVENTS} lateral view explode(items) as item",
    "staged": "{{ config(key='id') }} select id, upper(user) as user, value from {{ ref('some_view') }} where id > 10",
    "renamed": "select id as value, value as id, concat(user, '-', id) as user from {{ ref('staged') }}",
}
VIEW = "{{ config(materialized='view') }} select id, user, value from {{ source('web', 'events') }} where value is not null"
TESTS = """
    metrics:
      - {name: values, model: ref('tested'), type: histogram, expression: value, buckets: [0, 50]}
    functions:
      - {name: shown, runs: python}
    models:
      - name: tested
        log: {when: "value > 90", columns: [id]}
        columns:
          - {name: value, tests: [{not_null: {severity: dead_letter}}, {expression: {expression: "value < 90", severity: warn}}]}
          - {name: ratio, tests: [{expression: {expression: "ratio is null or ratio < 900", severity: drop}}]}
"""


def values(random, number):
    """Return a record whose values are of all types, often null or absent."""
    time = datetime(2026, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=random.randrange(10**6))
    record = {
        "id": number,
        "user": random.choice(["a", "ä", "", 'b"c', "x" * 40]),
        "value": random.choice([0.0, 1.5, -2.25, 91.0, 1e300]),
        "price": random.choice(["1.5", "-999999999.999", "0"]),
        "n": random.choice([1, -7, 2**62]),
        "small": random.choice([0, -32768, 32767]),
        "tiny": random.choice([-128, 127]),
        "ratio": random.choice([0.25, 1000.0, -1e10]),
        "ok": random.random() < 0.6,
        "day": random.choice(["2026-01-01", "1582-10-15"]),
        "at": time.isoformat(),
        "local": time.replace(tzinfo=None).isoformat(),
        "raw": random.choice(["AAEC", "", "/w=="]),
        "tags": random.choice([[], ["a", None, "b"]]),
        "device": random.choice([{"os": "x", "versions": [1, 2], "size": {"w": 0.5}}, {"os": None}, {}]),
        "attributes": random.choice([{}, {"a": 1, "b": 2, "ü": 3}]),
        "items": [{"sku": str(n), "price": "1.25"} for n in range(random.randrange(4))],
    }
    return {name: value for name, value in record.items() if name == "id" or random.random() < 0.85}


def send_at_once(bootstrap, records):
    """Send records, all with the same time, which dead letters name."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50})
    for key, value in records:
        data = json.dumps(value) if isinstance(value, dict) else value
        queue_record(producer, "events", key=key, value=data, timestamp=1_767_225_600_000)
    assert producer.flush(30) == 0


def made_by(root, server, spark, monkeypatch, policy, records, *, maker):
    """Build a project; return the records of each topic, what was counted, and which queries made their records."""
    shop = project(root, lend(server, root), policy)
    create_topics(shop.bootstrap, "events")
    send_at_once(shop.bootstrap, records)
    with_maker = {}

    def of(rows, query, stores, shared):
        record_maker = RecordMaker.of(rows, query, stores, shared) if maker else None
        with_maker[query.name] = record_maker is not None
        return record_maker

    with monkeypatch.context() as patched:
        patched.setattr(start, "RecordMaker", type("Switched", (), {"of": staticmethod(of)}))
        results, events = built(root, spark)
    assert not results.failed, [errors(events), results]
    topics = {
        name: sorted(map(comparable, received(shop.bootstrap, name)), key=repr)
        for name in AdminClient({"bootstrap.servers": shop.bootstrap}).list_topics(timeout=10).topics
        if name in MODELS or name.endswith(".dead_letter")
    }
    fates = (
        (result.rows_written, result.skipped, result.dead_letters, result.tests) for result in results.results
    )
    return topics, dict(zip((result.id for result in results.results), fates, strict=True)), with_maker


def comparable(message):
    """Return a record without its batch, and without the time of sending."""
    kind, time = message.timestamp()
    stable_headers = [(name, value) for name, value in message.headers() or () if name != "millstream.batch"]
    return (
        message.key(),
        message.value(),
        stable_headers,
        time if kind == 1 and time < 1_770_000_000_000 else None,
    )


def project(root, broker, policy):
    shop = Shop(root, broker)
    columns = "".join(f"          - {{name: {name}, type: '{kind}'}}\n" for name, kind in COLUMNS.items())
    (root / "models/sources.yml").write_text(
        "sources:\n  - name: web\n    topics:\n      - name: events\n"
        f"        on_bad_record: {policy}\n        columns:\n{columns}"
    )
    shop.write("pyproject.toml", f'{cleandoc(PYPROJECT)}\nguarantee = "{GUARANTEE}"')
    shop.write("macros/own.py", FUNCTIONS)
    shop.model("some_view", VIEW)
    shop.write("seeds/labels.csv", "user,label\na,A\nb,B\nä,\n")
    for name, sql in MODELS.items():
        shop.model(name, sql)
    shop.write("models/tests.yml", TESTS)
    return shop


GUARANTEE = "at_least_once"
PYPROJECT = """
    [project]
    name = "shop"
    [tool.millstream]
    name = "shop"
    [tool.millstream.models]
    materialized = "sink"
    """


@pytest.mark.parametrize(
    ("policy", "guarantee"),
    [
        ("dead_letter", "at_least_once"),
        ("skip", "at_least_once"),
        ("fail", "at_least_once"),
        pytest.param("dead_letter", "exactly_once", marks=pytest.mark.long),
    ],
)
def test_records_are_those_of_sparks_plan(
    tmp_path, broker_server, first_spark, monkeypatch, policy, guarantee
):
    monkeypatch.setattr(f"{__name__}.GUARANTEE", guarantee)
    random = Random(f"{FRESH}{policy}")
    records = [(str(n), values(random, n)) for n in range(300)]
    if policy == "fail":
        without = {"shares"}
        monkeypatch.setattr(f"{__name__}.MODELS", {k: v for k, v in MODELS.items() if k not in without})
    else:
        bad = ["no JSON", '{"id": "one"}', '{"id": 1, "device": 3}', b"\xff", None]
        records += [("bad", value) for value in bad]
        random.shuffle(records)
    by_spark, counted, never = made_by(
        tmp_path / "spark", broker_server, first_spark, monkeypatch, policy, records, maker=False
    )
    by_maker, counted_by_maker, queries = made_by(
        tmp_path / "own", broker_server, first_spark, monkeypatch, policy, records, maker=True
    )
    assert not any(never.values())
    assert queries.keys() == never.keys()
    assert all(queries.values()), queries
    assert by_maker.keys() == by_spark.keys() >= MODELS.keys()
    for topic, rows in by_spark.items():
        assert by_maker[topic] == rows, topic
    assert counted_by_maker == counted
    assert len(by_spark["whole"]) == 300
    assert len(by_spark["tested"]) > 100
    if policy == "dead_letter":
        assert len(by_spark["events.dead_letter"]) > 4


def test_the_time_of_a_batch_is_that_of_each_batch(shop, first_spark):
    shop.source(max_rows_per_trigger=1)
    shop.model("timed", "{{ config(materialized='sink') }} select id, current_timestamp() as time " + EVENTS)
    shop.send(event(1), event(2), event(3))
    results, _ = built(shop.root, first_spark)
    assert not results.failed
    assert len({row["time"] for row in shop.values("timed")}) == 3


def test_what_a_filter_keeps_of_a_huge_fan_out_is_the_same(shop, first_spark):
    """Code that is too large for a method of the JVM is in several."""
    columns = ", ".join(f"value * {n} as v{n}" for n in range(150))
    for number in range(12):
        shop.model(
            f"wide{number}",
            f"{{{{ config(materialized='sink') }}}} select id, {columns} {EVENTS} where id % 12 = {number}",
        )
    shop.send(*(event(n, value=float(n)) for n in range(48)))
    results, _ = built(shop.root, first_spark)
    assert not results.failed
    for number in range(12):
        rows = sorted(shop.values(f"wide{number}"), key=lambda row: row["id"])
        assert [row["id"] for row in rows] == [number, number + 12, number + 24, number + 36]
        assert all(row[f"v{n}"] == row["id"] * n for row in rows for n in range(150))


def test_a_filter_can_be_the_first_step(shop, first_spark):
    shop.write("profiles.yml", UNOPTIMIZED)
    shop.write("seeds/labels.csv", "user,label\na,A\nb,B\n")
    shop.model(
        "labelled",
        "{{ config(materialized='view') }} select events.id, events.value, labels.label "
        f"{EVENTS} as events left join {{{{ ref('labels') }}}} as labels on labels.user = events.user "
        "where events.value >= 10",
    )
    shop.model(
        "shown",
        "{{ config(materialized='sink') }} "
        "with renamed as (select id, struct(label, value * 2 as twice) as shown from {{ ref('labelled') }}) "
        "select id, shown from renamed",
    )
    shop.send(event(1, value=9.0), event(2, value=10.0), event(3, user="c", value=11.0))
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert shop.values("shown") == [
        {"id": 2, "shown": {"label": "A", "twice": 20.0}},
        {"id": 3, "shown": {"twice": 22.0}},
    ]
