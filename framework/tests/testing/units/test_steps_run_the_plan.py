"""Unit tests of tables over tables run the touched keys and weights of production: a wrong plan fails them."""

from importlib import import_module

import pytest
from support.spark import SPARK_WARNINGS

from millstream.plan.nodes.maintenance import Maintenance

derive = import_module("millstream.plan.maintained.derive")
pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]

STORED = "{{ config(materialized='table', unique_key='user') }} select user, kind, value from {{ source('web', 'events') }}"
KINDS = "{{ config(materialized='table', unique_key='kind') }} select kind, max(value) as most from {{ ref('stored') }} group by kind"
COUNTS = "{{ config(materialized='table', unique_key='kind') }} select kind, count(*) as n from {{ ref('stored') }} group by kind"
STEPS = """
    - name: t
      model: by_kind
      steps:
        - given: [{{input: "ref('stored')", rows: [{{user: a, kind: x, value: 1.0}}, {{user: b, kind: y, value: 2.0}}]}}]
          expect: [{{kind: x, {0}}}, {{kind: y, {1}}}]
        - given: [{{input: "ref('stored')", rows: [{{user: c, kind: x, value: 3.0}}]}}]
          expect: [{{kind: x, {2}}}]
        - given: [{{input: "ref('stored')", rows: [{{user: c, kind: y, value: 3.0}}]}}]
          expect: [{{kind: x, {0}}}, {{kind: y, {3}}}]
        - given: [{{input: "ref('stored')", rows: [{{user: a, _deleted: true}}]}}]
          expect: [{{kind: x, _deleted: true}}]
"""
MOST = STEPS.format("most: 1.0", "most: 2.0", "most: 3.0", "most: 3.0")
COUNTED = STEPS.format("n: 1", "n: 1", "n: 2", "n: 2")


@pytest.fixture
def tables(shop):
    (shop.root / "models/stored.sql").write_text(STORED)
    return shop


def fail(tables, test):
    (verdict,) = tables.judged(test)
    return [diagnostic.code for diagnostic in verdict.diagnostics]


@pytest.mark.parametrize(("sql", "test"), [(KINDS, MOST), (COUNTS, COUNTED)], ids=["touched keys", "weights"])
def test_steps_give_what_production_stores(tables, sql, test):
    (tables.root / "models/by_kind.sql").write_text(sql)
    tables.passes(test)


def test_steps_fail_if_a_change_touches_no_key(tables, monkeypatch):
    (tables.root / "models/by_kind.sql").write_text(KINDS)
    touching = Maintenance.touching

    def misses_all(maintenance, changed):
        sql = touching(maintenance, changed)
        return f"select * from ({sql}) where false" if sql else sql

    monkeypatch.setattr(Maintenance, "touching", misses_all)
    assert fail(tables, MOST)


def test_steps_fail_if_weights_add_wrongly(tables, monkeypatch):
    (tables.root / "models/by_kind.sql").write_text(COUNTS)
    weighted = derive.weigh_rows
    monkeypatch.setattr(
        derive, "weigh_rows", lambda *arguments: weighted(*arguments).replace("cast(sum(", "cast(max(")
    )
    assert fail(tables, COUNTED)


def test_steps_fail_if_touched_rows_are_computed_wrongly(tables, monkeypatch):
    (tables.root / "models/by_kind.sql").write_text(KINDS)
    rows = derive._restricted
    monkeypatch.setattr(derive, "_restricted", lambda *arguments: rows(*arguments).replace("max(", "min("))
    assert fail(tables, MOST)
