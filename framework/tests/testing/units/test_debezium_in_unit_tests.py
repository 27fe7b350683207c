"""Unit tests give rows of a table that Debezium captures, with what happened to them."""

from inspect import cleandoc

import pytest
from engine.test_debezium_on_kafka import CHANGES, CUSTOMERS, IN_AVRO, KEYED, OF_PAIRS, PAIRS, SOURCES, pin
from support.debezium import Recorded
from support.spark import SPARK_WARNINGS

pytestmark = SPARK_WARNINGS


def test_rows_and_what_happened_to_them(shop):
    files = {"shop.yml": SOURCES, "kept.sql": CUSTOMERS, "changes_of.sql": CHANGES}
    for path, text in files.items():
        (shop.root / "models" / path).write_text(cleandoc(text) + "\n")
    verdicts = shop.judged("""
        - name: rows_come_and_go
          model: kept
          steps:
            - given:
                - input: source('shop', 'customers')
                  rows:
                    - {id: 1, first_name: Ada, _source: {ts_ms: 1000}}
                    - {id: 2, first_name: Ben, _op: r}
              expect:
                - {id: 1, first_name: Ada, op: c, changed_at: "1970-01-01 00:00:01"}
                - {id: 2, first_name: Ben, op: r}
            - given:
                - input: source('shop', 'customers')
                  rows: [{id: 1, first_name: Eve, _op: u}, {id: 2, _op: d}]
              expect: [{id: 1, first_name: Eve, op: u}, {id: 2, _deleted: true}]
        - name: each_change_is_a_row
          model: changes_of
          given:
            - input: source('shop', 'changes')
              rows: [{id: 1, first_name: Ada}, {id: 1, first_name: Ada, _op: d}, {_value: null}]
          expect: [{id: 1, op: c, changes: 1}, {id: 1, op: d, changes: 1}]
    """)
    assert [verdict.diagnostics for verdict in verdicts] == [(), ()]


def of_pairs(source):
    return f"""
        - name: rows_of_a_key_with_two_columns
          model: pairs_kept
          steps:
            - given:
                - input: source('shop', '{source}')
                  rows: [{{shop: eu, number: 1, word: a}}, {{shop: eu, number: 2, word: b}}]
              expect: [{{shop: eu, number: 1, word: a}}, {{shop: eu, number: 2, word: b}}]
            - given:
                - input: source('shop', '{source}')
                  rows: [{{shop: eu, number: 1, word: c, _op: u}}, {{shop: eu, number: 2, _op: d}}]
              expect: [{{shop: eu, number: 1, word: c}}, {{shop: eu, number: 2, _deleted: true}}]
    """


@pytest.mark.parametrize("avro", [True, False])
def test_rows_whose_key_has_two_columns(shop, avro):
    model = PAIRS.replace(", note", "") if avro else OF_PAIRS["stored"]
    for path, text in {"shop.yml": IN_AVRO if avro else KEYED, "pairs_kept.sql": model}.items():
        (shop.root / "models" / path).write_text(cleandoc(text) + "\n")
    if avro:
        recorded = Recorded("postgres")
        for table in ("kinds", "pairs"):
            for part in ("key", "value"):
                schema = recorded.avro_schema(recorded.of(table)[0], part)
                pin(shop.root, f"postgres.public.{table}-{part}", schema)
    (verdict,) = shop.judged(of_pairs("pairs" if avro else "postgres"))
    assert verdict.diagnostics == ()
