"""Columns whose names SQL must quote, as fields of JSON and of other formats are called."""

import pytest
from support.runs import built, create_topics, received, send, statuses, table_rows
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project

pytestmark = SPARK_WARNINGS

SOURCES = """
sources:
  - name: web
    topics:
      - name: orders
        key: {name: user-id, type: string}
        columns:
          - {name: order-id, type: bigint, tests: [not_null]}
          - {name: total.amount, type: double}
          - {name: Größe, type: string}
          - {name: two words, type: string}
          - {name: "struct", type: "struct<a: int>"}
          - {name: at-ms, type: bigint}
          - {name: at, type: timestamp, from: timestamp_millis(`at-ms`)}
          - {name: amount, type: double, from: "`total.amount` * 2"}
        watermark: {column: at, delay: 1 minute}
        on_bad_record: dead_letter
      - name: users
        table: true
        key: {name: user-id, type: string}
        columns: [{name: home.city, type: string}]
      - name: lines
        format: csv
        format_options: {header: true}
        columns: [{name: order-id, type: bigint}, {name: unit.price, type: double}]
"""
ORDERS = "{{ source('web', 'orders') }}"
MODELS = {
    "renamed": "{{ config(materialized='sink', key='user') }} select `user-id` as user, `order-id` as id, `total.amount` as total, "
    f"`Größe`, `two words`, amount, at from {ORDERS}",
    "same": f"{{{{ config(materialized='sink', key='order-id') }}}} select `order-id`, `total.amount`, `two words` from {ORDERS} where `order-id` > 1",
    "totals": "{{ config(materialized='table', unique_key='user-id') }} "
    f"select `user-id`, sum(`total.amount`) as `sum-of`, count(*) as n from {ORDERS} group by `user-id`",
    "cities": "{{ config(materialized='sink') }} select o.`order-id`, u.`home.city` from "
    f"{ORDERS} as o join {{{{ source('web', 'users') }}}} as u on u.`user-id` = o.`user-id`",
    "prices": "{{ config(materialized='sink') }} select `order-id` as id, `unit.price` * 2 as double from {{ source('web', 'lines') }}",
    "of_totals": "{{ config(materialized='table', unique_key='n') }} "
    "select n, sum(`sum-of`) as `all-of` from {{ ref('totals') }} group by n",
}


def test_names_that_are_quoted(shop, first_spark):
    create_topics(shop.bootstrap, "orders", "users", "lines", partitions=1)
    shop.write("models/sources.yml", SOURCES)
    for name, sql in MODELS.items():
        shop.model(name, sql)
    order = {"order-id": 1, "total.amount": 2.5, "Größe": "XL", "two words": "a b", "at-ms": 60_000}
    send(shop.bootstrap, {
        "orders": [("ann", order), ("ann", {"order-id": 2, "total.amount": 1.0}), ("bob", "no JSON")],
        "users": [("ann", {"home.city": "Oslo"})],
        "lines": [(None, "unit.price,order-id\n1.5,7")],
    })  # fmt: skip
    results, _ = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}
    assert shop.values("renamed") == [
        {
            "user": "ann",
            "id": 1,
            "total": 2.5,
            "Größe": "XL",
            "two words": "a b",
            "amount": 5.0,
            "at": "1970-01-01T00:01:00.000000Z",
        },
        {"user": "ann", "id": 2, "total": 1.0, "amount": 2.0},
    ]
    assert shop.values("same") == [{"order-id": 2, "total.amount": 1.0}]
    assert table_rows(shop.root, "model.totals") == [{"user-id": "ann", "sum-of": 3.5, "n": 2}]
    assert table_rows(shop.root, "model.of_totals") == [{"n": 2, "all-of": 3.5}]
    assert {row["home.city"] for row in shop.values("cities")} == {"Oslo"}
    assert shop.values("prices") == [{"id": 7, "double": 3.0}]
    assert len(received(shop.bootstrap, "orders.dead_letter")) == 1


@pytest.mark.parametrize("name", ["a`b", " a", "a ", "a\\nb", "a\\tb"])
def test_names_that_are_refused(shop, name):
    shop.write("models/sources.yml", SOURCES.replace("{name: two words", f'{{name: "{name}"'))
    errors = compile_project(shop.root, use_cache=False).diagnostics
    assert [diagnostic.code for diagnostic in errors] == ["MS110"]
