"""Versions of rows, built on Kafka, Spark and Delta: of a reference topic, of events, and of a table."""

from collections import defaultdict

import duckdb
import pytest
from confluent_kafka import Producer
from support.runs import built, create_topics, errors, queue_record, table_rows
from support.shops import Shop
from support.spark import SPARK_WARNINGS
from versions.history import START, history, timestamp, valid

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

TOPICS = """
      - name: orders
        key: {name: id, type: string}
        columns: [{name: currency, type: string}, {name: amount, type: bigint}, {name: at, type: timestamp}]
        watermark: {column: at, delay: 1 minute}
      - name: rates
        table: true
        versions: 30 minutes
        key: {name: currency, type: string}
        columns: [{name: rate, type: bigint}, {name: at, type: timestamp}]
        watermark: {column: at, delay: 1 minute}
"""
ALL_ORDERS = """
    {{ config(materialized='table', unique_key='id') }}
    select id, currency, at from {{ source('web', 'orders') }}
"""
CONVERTED = """
    {{ config(materialized='table', unique_key='id') }}
    select o.id, r.rate from {{ ref('all_orders') }} as o
    left join {{ source('web', 'rates') }} for system_time as of o.at as r on r.currency = o.currency
"""
LOOKED_UP = """
    {{ config(materialized='sink', key='id') }}
    select o.id, r.rate from {{ source('web', 'orders') }} as o
    left join {{ source('web', 'rates') }} as r
    on r.currency = o.currency and r.valid_from <= o.at and (r.valid_to is null or o.at < r.valid_to)
"""
RATES = "{{ config(materialized='table', unique_key=['currency', 'valid_from']) }} select currency, valid_from, rate from {{ source('web', 'rates') }}"
NEWEST = "{{ config(materialized='table', unique_key='currency', order_by='at', delete_when='rate < 0') }} select currency, rate, at from {{ source('web', 'changes') }}"
OF_EVENTS = "{{ config(materialized='table', unique_key='currency', order_by='at', delete_when='rate < 0', versions='all') }} select currency, rate, at from {{ source('web', 'changes') }}"
OF_A_TABLE = "{{ config(materialized='table', unique_key='currency', versions='all') }} select currency, rate from {{ ref('newest') }}"
CHANGES = """
      - name: changes
        columns: [{name: currency, type: string}, {name: rate, type: bigint}, {name: at, type: timestamp}]
"""
BUILDS = [
    (
        [("EUR", 0, 10), ("EUR", 20, 12), ("USD", 0, 5)],
        [("o1", "EUR", 10), ("o2", "EUR", 25), ("o3", "USD", 0), ("o4", "GBP", 3)],
    ),
    (
        [("EUR", 15, 11), ("GBP", 1, 7), ("USD", 18, None)],
        [("o5", "USD", 17), ("o6", "USD", 18), ("o7", "EUR", 15)],
    ),
    ([], [("o8", "EUR", 40)]),
    ([("USD", 10, 6), ("USD", 18, 8), ("USD", 22, None), ("USD", 24, None)], [("o9", "USD", 23)]),
    ([("USD", 23, 9), ("EUR", 20, 13), ("GBP", 30, 8)], []),
]
"""Of each build: rates by currency and minute, None deletes; orders with their currency and minute."""


def send(bootstrap, rates, orders):
    producer = Producer({"bootstrap.servers": bootstrap})
    for currency, minute, rate in rates:
        value = None if rate is None else f'{{"rate": {rate}, "at": "{timestamp(minute).isoformat()}"}}'
        time = int(timestamp(minute).timestamp() * 1000)
        queue_record(producer, "rates", key=currency, value=value, timestamp=time)
    for id_, currency, minute in orders:
        value = f'{{"currency": "{currency}", "amount": 1, "at": "{timestamp(minute).isoformat()}"}}'
        queue_record(producer, "orders", key=id_, value=value)
    assert producer.flush(30) == 0


def asof(rates, orders):
    """Return the rate of each order, according to DuckDB; rates of one minute replace each other."""
    newest = {(currency, minute): rate for currency, minute, rate in rates}
    with duckdb.connect() as connection:
        connection.execute("create table rates (currency text, minute int, rate int)")
        connection.execute("create table orders (id text, currency text, minute int)")
        connection.executemany(
            "insert into rates values (?, ?, ?)", [(*key, rate) for key, rate in newest.items()]
        )
        connection.executemany("insert into orders values (?, ?, ?)", orders)
        joined = "select id, rate from orders o asof left join rates r on o.currency = r.currency and o.minute >= r.minute"
        return dict(connection.execute(joined).fetchall())


def minute_of(time):
    return None if time is None else round((time - START).total_seconds() / 60)


def stored(root, relation, keep=None):
    versions = (
        (row["currency"], row["rate"], minute_of(row["valid_from"]), minute_of(row["valid_to"]))
        for row in table_rows(root, relation)
    )
    return sorted(versions, key=repr)


@pytest.fixture
def shop(tmp_path, broker):
    return Shop(tmp_path, broker)


def test_versions_of_a_reference_topic_are_joined_as_they_were_valid(shop, first_spark):
    create_topics(shop.bootstrap, "events", "orders", "rates")
    shop.more(TOPICS)
    for name, sql in {
        "all_orders": ALL_ORDERS,
        "converted": CONVERTED,
        "looked_up": LOOKED_UP,
        "copied": RATES,
    }.items():
        shop.model(name, sql)
    rates, orders = [], []
    for more_rates, more_orders in BUILDS:
        send(shop.bootstrap, more_rates, more_orders)
        rates += more_rates
        orders += more_orders
        _, events = built(shop.root, first_spark)
        assert not errors(events), errors(events)
        assert stored(shop.root, "source.web.rates") == history(rates, 30)
        converted = {row["id"]: row["rate"] for row in table_rows(shop.root, "model.converted")}
        assert converted == {id_: valid(rates, currency, minute) for id_, currency, minute in orders}
        assert converted == asof(rates, orders)
        copied = {
            (row["currency"], minute_of(row["valid_from"])): row["rate"]
            for row in table_rows(shop.root, "model.copied")
        }
        assert copied == {(currency, begins): rate for currency, rate, begins, _ in history(rates, 30)}
    # A lookup reads the versions that are known when the record comes.
    seen = defaultdict(list)
    for more_rates, more_orders in BUILDS:
        seen["rates"] += more_rates
        seen["found"] += [
            (id_, valid(seen["rates"], currency, minute)) for id_, currency, minute in more_orders
        ]
    assert {(row["id"], row.get("rate")) for row in shop.values("looked_up")} == set(seen["found"])


def test_versions_of_events_and_of_a_table(shop, first_spark):
    create_topics(shop.bootstrap, "events", "changes", partitions=1)
    shop.more(CHANGES)
    for name, sql in {"newest": NEWEST, "of_events": OF_EVENTS, "of_a_table": OF_A_TABLE}.items():
        shop.model(name, sql)
    seen, before, ended = [], {}, []
    for rates, _ in BUILDS:
        rows = [
            (
                currency,
                {
                    "currency": currency,
                    "rate": -1 if rate is None else rate,
                    "at": timestamp(minute).isoformat(),
                },
            )
            for currency, minute, rate in rates
        ]
        shop.send(*rows, topic="changes")
        seen += rates
        _, events = built(shop.root, first_spark)
        assert not errors(events), errors(events)
        assert stored(shop.root, "model.of_events") == history(seen)
        versions = table_rows(shop.root, "model.of_a_table")
        newest = {row["currency"]: row["rate"] for row in table_rows(shop.root, "model.newest")}
        current = {row["currency"]: row["rate"] for row in versions if row["valid_to"] is None}
        assert current == newest
        # A version ended when the row was changed or deleted.
        ended += [(key, rate) for key, rate in newest.items() if before.get(key) != rate]
        before = newest
        assert sorted((row["currency"], row["rate"]) for row in versions) == sorted(ended)
        for row in versions:
            following = [
                r["valid_from"]
                for r in versions
                if r["currency"] == row["currency"] and r["valid_from"] > row["valid_from"]
            ]
            assert row["valid_to"] is None or row["valid_to"] <= min(following, default=row["valid_to"])
