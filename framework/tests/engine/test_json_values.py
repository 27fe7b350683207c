"""JSON values that are no objects: a list, a number or a text as one column."""

import json

import pytest
from support.runs import built, create_topics, received, send, statuses
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project

pytestmark = SPARK_WARNINGS

SOURCES = """
sources:
  - name: web
    topics:
      - name: lists
        key: {name: user, type: string}
        format_options: {single: true}
        columns: [{name: orders, type: "array<struct<id: bigint, total: double>>"}]
        on_bad_record: dead_letter
      - name: numbers
        format_options: {single: true}
        columns:
          - {name: degrees, type: "decimal(10,2)"}
          - {name: warm, type: boolean, from: degrees > 20}
"""
SINK = "{{ config(materialized='sink', key='id', format_options={'single': true}) }}\n"


@pytest.fixture
def shop_of_values(shop):
    create_topics(shop.bootstrap, "lists", "numbers", partitions=1)
    shop.write("models/sources.yml", SOURCES)
    return shop


def test_lists_and_numbers_are_read_and_written(shop_of_values, first_spark):
    shop = shop_of_values
    shop.model(
        "orders",
        "{{ config(materialized='sink') }} select l.user, o.id, o.total "
        "from {{ source('web', 'lists') }} as l lateral view explode(l.orders) as o",
    )
    shop.model(
        "warm", "{{ config(materialized='sink') }} select degrees, warm from {{ source('web', 'numbers') }}"
    )
    shop.model(
        "counted",
        "{{ config(materialized='sink', key='n') }} select 1 as n, count(*) as records from {{ source('web', 'numbers') }}",
    )
    shop.model(
        "ids",
        SINK
        + "select l.user as id, transform(l.orders, o -> o.id) as ids from {{ source('web', 'lists') }} as l",
    )
    lists = [[{"id": 1, "total": 2.5}, {"id": 2}], [], None]
    send(
        shop.bootstrap,
        {"lists": [("a", json.dumps(value)) for value in lists] + [("b", '{"id": 1}'), ("c", "[")]},
    )
    send(shop.bootstrap, {"numbers": [(None, "12.5"), (None, "20.75"), (None, "null")]})
    results, _ = built(shop.root, first_spark)
    assert set(statuses(results).values()) == {"success"}
    assert shop.values("orders") == [{"user": "a", "id": 1, "total": 2.5}, {"user": "a", "id": 2}]
    assert shop.values("warm") == [{"degrees": 12.5, "warm": False}, {"degrees": 20.75, "warm": True}, {}]
    assert shop.values("counted")[-1] == {"n": 1, "records": 3}
    assert [record.value() for record in received(shop.bootstrap, "ids")] == [b"[1,2]", b"[]", None]
    assert [record.key() for record in received(shop.bootstrap, "lists.dead_letter")] == [b"b", b"c"]


@pytest.mark.parametrize(
    ("sources", "code", "message"),
    [
        (
            SOURCES.replace("columns: [{name: orders", "columns: [{name: id, type: int}, {name: orders"),
            "MS107",
            "a value in json (single true) is one column, and id and orders are declared",
        ),
        (SOURCES.replace("single: true", "single: many", 1), "MS107", "'many' is not a valid single"),
        (
            SOURCES.replace("columns: [{name: orders", "schema: x.json\n        columns: [{name: orders"),
            "MS122",
            "values in json have no schema",
        ),
    ],
)
def test_what_a_single_value_can_not_be(shop_of_values, sources, code, message):
    shop_of_values.write("models/sources.yml", sources)
    shop_of_values.model("m", "select degrees from {{ source('web', 'numbers') }}")
    errors = compile_project(shop_of_values.root, use_cache=False).diagnostics
    assert [(diagnostic.code, message in diagnostic.message) for diagnostic in errors] == [(code, True)], (
        errors
    )


def test_a_sink_of_two_values(shop_of_values):
    shop_of_values.model("m", SINK + "select user as id, orders, 1 as more from {{ source('web', 'lists') }}")
    (diagnostic,) = compile_project(shop_of_values.root, use_cache=False).diagnostics
    assert diagnostic.code == "MS124"
    assert diagnostic.message.endswith("is a single column, and orders and more are not in the key")
