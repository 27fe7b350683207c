"""Unit tests of topics whose keys have formats."""

import json

import pytest
from support.spark import SPARK_WARNINGS

pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]

ID = {
    "type": "record",
    "name": "Id",
    "fields": [
        {"name": "shop", "type": "string"},
        {"name": "n", "type": "long"},
        {"name": "kind", "type": "int", "default": 7},
    ],
}
SOURCES = """
sources:
- name: keyed
  topics:
  - {name: visits, key: {name: id, format: avro, schema: schemas/id.avsc}, columns: [{name: value, type: int}], on_bad_record: dead_letter}
  - {name: clicks, key: {name: n, format: long}, columns: [{name: value, type: int}]}
  - {name: prices, table: true, key: {name: n, type: 'decimal(10,2)', format: json}, columns: [{name: price, type: int}]}
"""


def test_given_rows_have_keys_in_their_format_and_rows_of_sinks_too(shop):
    (shop.root / "schemas").mkdir()
    (shop.root / "schemas/id.avsc").write_text(json.dumps(ID))
    (shop.root / "models/keyed.yml").write_text(SOURCES)
    (shop.root / "models/joined.sql").write_text(
        "{{ config(materialized='sink', key=['shop', 'n'], key_format='avro') }}\n"
        "select v.id.shop, v.id.n, v.id.kind, v.value, p.price from {{ source('keyed', 'visits') }} v\n"
        "left join {{ source('keyed', 'prices') }} p on p.n = v.id.n\n"
    )
    (shop.root / "models/added.sql").write_text(
        "{{ config(materialized='sink', key='n', key_format='long', unbounded_state='accept') }}\n"
        "select n, sum(value) as total from {{ source('keyed', 'clicks') }} where n is not null\n"
        "group by n having sum(value) > 0\n"
    )
    verdicts = shop.judged("""
        - name: joins
          model: joined
          given:
            - input: source('keyed', 'visits')
              rows: [{id: {shop: a, n: 1}, value: 5}, {id: {shop: b, n: 2}, value: 6}]
            - {input: "source('keyed', 'prices')", rows: [{n: 2, price: 7}]}
          expect: [{shop: a, n: 1, kind: 7, value: 5, price: null}, {shop: b, n: 2, value: 6, price: 7}]
        - name: sums
          model: added
          steps:
            - given: [{input: "source('keyed', 'clicks')", rows: [{n: 1, value: 1}, {n: -1, value: 2}, {value: 3}]}]
              expect: [{n: 1, total: 1}, {n: -1, total: 2}]
            - given: [{input: "source('keyed', 'clicks')", rows: [{n: 1, value: -1}]}]
              expect: [{n: 1, _deleted: true}]
    """)
    assert [verdict.diagnostics for verdict in verdicts] == [(), ()]
