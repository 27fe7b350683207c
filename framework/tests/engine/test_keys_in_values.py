"""Reference topics whose values have their key as well: a record without a value deletes the row of its key."""

import pytest
from support.runs import built, create_topics, errors, table_rows
from support.shops import Shop, event
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project

pytestmark = SPARK_WARNINGS

USERS = """
      - name: users
        table: true
        key: %s
        columns:
          - {name: id, type: bigint}
          - {name: city, type: string}
"""
USER = "{{ source('web', 'users') }}"
MODELS = {
    "stored": f"{{{{ config(materialized='table', unique_key='id') }}}} select id, city from {USER}",
    "cities": f"{{{{ config(materialized='table', unique_key='city') }}}} select city, count(*) as n from {USER} group by city",
    "named": f"{{{{ config(materialized='sink') }}}} select e.id, u.city from {{{{ source('web', 'events') }}}} as e left join {USER} as u on u.id = e.id",
    "sent": "{{ config(materialized='sink', key='id') }} select id, city from {{ ref('stored') }}",
    "again": "{{ config(materialized='table', unique_key='id') }} select id, city from {{ ref('sent') }}",
}


def users(shop, **cities):
    records = [
        (key.removeprefix("u"), city and {"id": int(key.removeprefix("u")), "city": city})
        for key, city in cities.items()
    ]
    shop.send(*records, topic="users")


def good_build(shop, spark):
    _, events = built(shop.root, spark)
    assert errors(events) == []


def test_a_record_without_a_value_deletes_the_row_of_its_key(shop, first_spark):
    create_topics(shop.bootstrap, "users")
    shop.more(USERS % "id")
    for name, sql in MODELS.items():
        shop.model(name, sql)
    users(shop, u1="rom", u2="bern", u3="bern")
    good_build(shop, first_spark)
    users(shop, u1=None, u3="oslo")
    good_build(shop, first_spark)
    shop.send(event(1), event(2), event(3))
    good_build(shop, first_spark)
    rows = {2: "bern", 3: "oslo"}
    for model in ("stored", "again"):
        assert {row["id"]: row["city"] for row in table_rows(shop.root, f"model.{model}")} == rows, model
    assert {row["city"]: row["n"] for row in table_rows(shop.root, "model.cities")} == {"bern": 1, "oslo": 1}
    assert {row["id"]: row.get("city") for row in shop.values("named")} == {1: None, **rows}


@pytest.mark.parametrize(
    ("key", "id_", "message", "right"),
    [
        (
            "{name: id, type: string}",
            "type: bigint",
            "'id' is read from the record's key: that is string, and the column is bigint",
            "{name: id, type: bigint}",
        ),
        (
            "id",
            "type: array<int>",
            "'id' is read from the record's key: string can't hold array<int>",
            '{name: id, type: "array<int>", format: json}',
        ),
        (
            "id",
            "from: cast(city as bigint)",
            "'id' is the key of a table: it is read from the record's key, not computed",
            "{name: id_key}",
        ),
    ],
)
def test_a_column_that_is_not_the_key_of_records_is_reported(tmp_path, key, id_, message, right):
    shop = Shop(tmp_path, "")
    declaration = (USERS % "%s").replace("name: id, type: bigint", f"name: id, {id_}")
    shop.more(declaration % key)
    (diagnostic,) = compile_project(tmp_path, use_cache=False).diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.location.path) == (
        "MS107",
        message,
        "models/sources.yml",
    )
    shop.more(declaration % right)
    assert compile_project(tmp_path, use_cache=False).diagnostics == ()
