"""Formats that are Python functions, from topic to topic on Kafka and Spark: bad records, restarts, keys, tables."""

import struct
from collections import Counter

import pytest
from support.runs import built, create_topics, errors, headers, pairs, received, send, table_rows
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS

CODECS = '''
import struct
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from typing import NamedTuple, TypedDict, NotRequired


@dataclass
class Order:
    id: int
    name: str | None
    total: Decimal
    at: datetime
    tags: list[str]


ODD = {
    b"float id": Order(1.5, "a", Decimal(1), datetime(2026, 1, 1), []),
    b"long id": Order(2**63, "a", Decimal(1), datetime(2026, 1, 1), []),
    b"no id": Order(None, "a", Decimal(1), datetime(2026, 1, 1), []),
    b"bytes name": Order(1, b"a\\nb", Decimal(1), datetime(2026, 1, 1), []),
    b"surrogate": Order(1, "\\ud800", Decimal(1), datetime(2026, 1, 1), []),
    b"decimals": Order(1, "a", Decimal("0.1234567890123456789"), datetime(2026, 1, 1), []),
    b"text time": Order(1, "a", Decimal(1), "2026-01-01", []),
    b"int tag": Order(1, "a", Decimal(1), datetime(2026, 1, 1), ["x", 7]),
    b"dict": {"id": 1},
    b"nothing": None,
}


def decode_order(value: bytes) -> Order:
    """An order, in a layout that only this shop uses."""
    if value in ODD:
        return ODD[value]
    number, cents, micros = struct.unpack_from(">qqq", value)
    name, *tags = value[24:].decode().split("|")
    at = datetime.fromtimestamp(micros / 1_000_000, timezone.utc)
    return Order(number, name or None, Decimal(cents) / 100, at, tags)


def encode_order(row: Order) -> bytes:
    if row.name == "none":
        return None
    if row.name == "raises":
        raise ValueError("two\\nlines")
    micros = round(row.at.timestamp() * 1_000_000)
    head = struct.pack(">qqq", row.id, int(row.total * 100), micros)
    return head + "|".join([row.name or "", *row.tags]).encode()


class Key(NamedTuple):
    shop: str
    number: int


def decode_key(key: bytes) -> Key:
    shop, number = key.split(b":")
    return Key(shop.decode(), int(number))


def encode_key(key: Key) -> bytes:
    return f"{key.shop}:{key.number}".encode()


def decode_number(key: bytes) -> int:
    return int(key)


def encode_number(key: int) -> bytes:
    return b"%05d" % key


class Price(TypedDict):
    amount: float
    note: NotRequired[str]


def decode_price(value: bytes) -> Price | None:
    if value.startswith(b"#"):
        return None
    return {"amount": float(value)}


def encode_price(row: Price) -> bytes | None:
    return None if row["amount"] < 0 else repr(row["amount"]).encode()
'''
SOURCES = """
sources:
  - name: shop
    topics:
      - {name: orders, format: "python:decode_order", on_bad_record: POLICY,
         key: {name: k, format: "python:decode_key"}}
"""
COPY = "{{ config(materialized='sink', format='python:encode_order', key='k', key_format='python:encode_key') }} "
REASONS = {
    b"float id": "field id: 1.5 is not a bigint",
    b"long id": "field id: 9223372036854775808 is not a bigint",
    b"no id": "field id: the value is missing",
    b"bytes name": "field name: b'a\\nb' is not a string",
    b"surrogate": "field name: '\\ud800' contains a lone surrogate, which is half a character",
    b"decimals": "field total: 0.1234567890123456789 is not a decimal(38,18)",
    b"text time": "field at: '2026-01-01' is not a timestamp",
    b"int tag": "field tags[1]: 7 is not a string",
    b"dict": "decode_order(): returned {'id': 1}, not Order",
    b"nothing": "decode_order(): returned None, not Order",
    b"short": "decode_order(): error: unpack_from requires a buffer of at least 24 bytes "
    "for unpacking 24 bytes at offset 0 (actual buffer size is 5) (macros/codecs.py:35)",
}


def order(number, name="a", tags=("x",)):
    head = struct.pack(">qqq", number, number * 100 + 25, 1_700_000_000_123_456 + number)
    return head + "|".join([name, *tags]).encode()


def write(shop, policy="dead_letter", sources=SOURCES):
    shop.write("macros/codecs.py", CODECS)
    shop.write("models/shop.yml", sources.replace("POLICY", policy))


@pytest.mark.long
def test_bad_records_of_several_batches_are_dead_letters(shop, first_spark):
    write(shop)
    shop.model("copy", COPY + "select id, name, total, at, tags, k from {{ source('shop', 'orders') }}")
    create_topics(shop.bootstrap, "orders", partitions=1)
    bad = list(REASONS)
    for batch in range(3):
        numbers = range(batch * 100, batch * 100 + 100)
        good = [(f"eu:{n}", order(n, "" if n % 7 == 0 else "Zoë", ("x", "y")[: n % 3])) for n in numbers]
        mixed = (
            good[:50]
            + [(f"b:{batch}", value) for value in bad]
            + [("broken", order(1)), ("n:1", None)]
            + good[50:]
        )
        send(shop.bootstrap, {"orders": mixed})
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
        copies = pairs(shop.bootstrap, "copy")
        assert len(copies) == (batch + 1) * 100
        assert copies[-100:] == [(key.encode(), value) for key, value in good]
    letters = received(shop.bootstrap, "orders.dead_letter")
    assert Counter(letter.value() for letter in letters) == dict.fromkeys([*bad, order(1), None], 3)
    reasons = {letter.value(): headers(letter)["millstream.reason"] for letter in letters}
    assert reasons.pop(None) == "the record has no value"
    assert reasons.pop(order(1)).startswith("the key: decode_key(): ValueError: not enough values")
    assert reasons == REASONS


@pytest.mark.parametrize(
    ("value", "code", "why"),
    [
        (
            b"no id",
            "MS862",
            "bad record: topic orders, partition 0, offset 1: field id: the value is missing",
        ),
        (
            order(2, "none"),
            "MS861",
            "model copy, topic orders, partition 0, offset 1: encode_order(): returned None, whose hint is not optional",
        ),
    ],
)
def test_a_record_stops_the_query_with_its_place(shop, first_spark, value, code, why):
    write(shop, "fail")
    shop.model("copy", COPY + "select id, name, total, at, tags, k from {{ source('shop', 'orders') }}")
    create_topics(shop.bootstrap, "orders", partitions=1)
    send(shop.bootstrap, {"orders": [("eu:1", order(1)), ("eu:2", value)]})
    _, events = built(shop.root, first_spark)
    (diagnostic,) = errors(events)
    assert diagnostic.code == code
    assert why in diagnostic.message


def test_rows_that_a_function_can_t_encode(shop, first_spark):
    write(shop, "skip")
    columns = "select id, name, total, at, tags from {{ source('shop', 'orders') }} where id > 0"
    for policy in ("skip", "dead_letter"):
        options = f"materialized='sink', format='python:encode_order', on_bad_record='{policy}'"
        shop.model(policy, f"{{{{ config({options}) }}}} {columns}")
    shop.model(
        "plain",
        "{{ config(materialized='sink', format='string') }} select name from {{ source('shop', 'orders') }}",
    )
    create_topics(shop.bootstrap, "orders", partitions=1)
    rows = [order(1), order(2, "none"), b"short", order(3, "raises"), order(0, "raises"), order(4)]
    for batch in range(2):
        send(shop.bootstrap, {"orders": [("eu:1", row) for row in rows]})
        _, events = built(shop.root, first_spark)
        assert errors(events) == []
        for topic in ("skip", "dead_letter"):
            assert [value for _, value in pairs(shop.bootstrap, topic)] == [order(1), order(4)] * (batch + 1)
    assert len(pairs(shop.bootstrap, "plain")) == 10
    letters = received(shop.bootstrap, "orders.dead_letter")
    assert [letter.value() for letter in letters] == [order(2, "none"), order(3, "raises")] * 2
    assert [headers(letter)["millstream.reason"] for letter in letters[:2]] == [
        "dead_letter: encode_order(): returned None, whose hint is not optional: binary",
        "dead_letter: encode_order(): ValueError: two lines (macros/codecs.py:45)",
    ]


PRICES = """
sources:
  - name: shop
    topics:
      - {name: prices, format: "python:decode_price", table: true, on_bad_record: skip,
         key: {name: number, format: "python:decode_number"}}
"""


@pytest.mark.long
def test_a_table_of_newest_rows(shop, first_spark):
    write(shop, sources=PRICES)
    options = (
        "materialized='sink', format='python:encode_price', key='number', key_format='python:encode_number'"
    )
    rows = "select number, amount, note from {{ source('shop', 'prices') }} where amount < 100"
    shop.model("cheap", f"{{{{ config({options}) }}}} {rows}")
    shop.model("stored", f"{{{{ config(materialized='table', unique_key='number') }}}} {rows}")
    create_topics(shop.bootstrap, "prices", partitions=1)
    first = [
        ("7", "1.5"),
        ("8", "# a comment"),
        ("9", "200"),
        ("x", "1"),
        ("10", "oops"),
        ("11", "-1"),
        ("12", "3"),
    ]
    send(shop.bootstrap, {"prices": first})
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    written = dict(pairs(shop.bootstrap, "cheap"))
    assert {k: v for k, v in written.items() if v} == {b"00007": b"1.5", b"00012": b"3.0"}
    assert written[b"00011"] is None
    assert {row["number"]: row["amount"] for row in table_rows(shop.root, "model.stored")} == {
        7: 1.5,
        11: -1.0,
        12: 3.0,
    }
    send(shop.bootstrap, {"prices": [("7", "300"), ("12", None), ("8", "8")]})
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    written = dict(pairs(shop.bootstrap, "cheap"))
    assert {k: v for k, v in written.items() if v} == {b"00008": b"8.0"}
    assert {row["number"]: row["amount"] for row in table_rows(shop.root, "model.stored")} == {
        8: 8.0,
        11: -1.0,
    }
