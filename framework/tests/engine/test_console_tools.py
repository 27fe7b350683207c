"""Records of Java's console producer are read, and its console consumer reads ours."""

import pytest
from support.console import consumed, produce
from support.runs import built, create_topics, errors, table_rows
from support.spark import SPARK_WARNINGS

pytestmark = [SPARK_WARNINGS, pytest.mark.long]

SOURCES = """
sources:
  - name: java
    topics:
      - {name: orders, key: {name: id, type: bigint}, columns: [{name: what, type: string}, {name: n, type: int}]}
      - {name: notes, format: string, key: {name: k, type: string}}
      - {name: newest, table: true, key: {name: k, type: string}, columns: [{name: v, type: int}]}
"""
ORDERS = [("1", '{"what": "Zürich € 𝄞", "n": -2147483648}'), ("9223372036854775807", '{"n": null}')]
NOTES = [("", "a|b \\"), (None, "naïve"), ("k", "")]
NEWEST = [("a", '{"v": 1}'), ("b", '{"v": 2}'), ("a", None), ("b", '{"v": 3}')]
MODELS = {
    "orders_copy": ("materialized='table', unique_key='id'", "select id, what, n from {{ source('java', 'orders') }}"),
    "notes_copy": (
        "materialized='table', unique_key='_offset'",
        "select k, value, _offset from {{ source('java', 'notes') }}",
    ),
    "newest_seen": (
        "materialized='table', unique_key='k'",
        "select o.id, n.k, n.v from {{ source('java', 'orders') }} as o cross join {{ source('java', 'newest') }} as n where o.id = 1",
    ),
    "jsons": ("materialized='sink', key='id'", "select id, what, n from {{ source('java', 'orders') }}"),
    "longs": (
        "materialized='sink', key='what', format='long'",
        "select what, id from {{ source('java', 'orders') }}",
    ),
    "long_keys": (
        "materialized='sink', key='id', key_format='long', format='string'",
        "select id, coalesce(what, 'none') as what from {{ source('java', 'orders') }}",
    ),
    "json_keys": ("materialized='sink', key=['n', 'id']", "select n, id from {{ source('java', 'orders') }}"),
}  # fmt: skip


def test_both_directions(shop, first_spark):
    shop.write("models/java.yml", SOURCES)
    for name, (config, sql) in MODELS.items():
        shop.model(name, f"{{{{ config({config}) }}}} {sql}")
    create_topics(shop.bootstrap, "orders", "notes", "newest", partitions=1)
    for topic, records in (("orders", ORDERS), ("notes", NOTES), ("newest", NEWEST)):
        produce(shop.bootstrap, topic, records)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    assert sorted(table_rows(shop.root, "model.orders_copy"), key=lambda row: row["id"]) == [
        {"id": 1, "what": "Zürich € 𝄞", "n": -(2**31)},
        {"id": 2**63 - 1, "what": None, "n": None},
    ]
    notes = sorted(table_rows(shop.root, "model.notes_copy"), key=lambda row: row["_offset"])
    assert [(row["k"], row["value"]) for row in notes] == NOTES
    assert table_rows(shop.root, "model.newest_seen") == [{"id": 1, "k": "b", "v": 3}]
    last = str(2**63 - 1)
    assert consumed(shop.bootstrap, "jsons", 2) == [
        ("1", '{"id":1,"what":"Zürich € 𝄞","n":-2147483648}'),
        (last, f'{{"id":{last}}}'),
    ]
    assert consumed(shop.bootstrap, "longs", 2, value="Long") == [("<null>", last), ("Zürich € 𝄞", "1")]
    assert consumed(shop.bootstrap, "long_keys", 2, key="Long") == [("1", "Zürich € 𝄞"), (last, "none")]
    assert consumed(shop.bootstrap, "json_keys", 2) == [
        (f'{{"id":{last}}}', f'{{"id":{last}}}'),
        ('{"n":-2147483648,"id":1}', '{"n":-2147483648,"id":1}'),
    ]
