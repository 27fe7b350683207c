"""Metrics with a type: what can't be computed is refused with its location."""

import pytest
from support.shops import Shop

from millstream.compile import compile_project

MODEL = """
    {{ config(materialized='sink') }}
    select id, kind, value, try_cast(kind as int) as number from {{ source('web', 'events') }}
"""


@pytest.mark.parametrize(
    ("metric", "wrong"),
    [
        ("type: counter, expression: count(*), dimensions: [kind]", None),
        ("type: counter, expression: 'sum(value)', where: id > 1", None),
        ("type: counter, expression: \"sum(if(kind = ')', value, 0))\"", None),
        ("type: gauge, expression: avg(value)", None),
        ("type: timer, expression: value / 1000", None),
        ("expression: sum(value) / nosuch(id)", None),  # without a type, it is only described
        ("type: counter, expression: max(value)", "one of count(…), count_if(…), sum(…)"),
        ("type: counter, expression: sum(value) / sum(id)", "one of count(…)"),
        ("type: counter, expression: count(distinct id)", "one of count(…)"),
        ("type: counter, expression: count(distinct(id))", "one of count(…)"),
        ("type: gauge, expression: value", "one of count(…), count_if(…), sum(…), min(…)"),
        ("type: histogram, expression: value", "needs buckets"),
        ("type: histogram, expression: value, buckets: [5, 1]", "not in ascending order"),
        ("type: counter, expression: count(*), buckets: [5]", "has no buckets"),
        ("type: counter, expression: count(*), dimensions: [sort]", "'sort' is not a column"),
        ("type: counter, expression: sum(nosuch)", "nosuch"),
        ("type: counter, expression: sum(cast(kind as int))", "can fail on a row"),
        ("type: counter, expression: sum(rand())", "can fail on a row, or needs more"),
    ],
)
def test_metrics(tmp_path, metric, wrong):
    shop = Shop(tmp_path, "")
    shop.model("plain", MODEL)
    shop.write("models/metrics.yml", f"metrics:\n  - {{name: m, model: plain, {metric}}}")
    diagnostics = [
        diagnostic
        for diagnostic in compile_project(tmp_path, use_cache=False).diagnostics
        if diagnostic.severity == "error"
    ]
    if wrong is None:
        assert diagnostics == []
        return
    (error,) = diagnostics
    assert wrong in error.message
    assert error.message.startswith("metric 'm': ")
    assert (error.location.path, error.location.line) == ("models/metrics.yml", 2)


def test_a_view_stores_no_rows(tmp_path):
    shop = Shop(tmp_path, "")
    shop.model("plain", "select id from {{ source('web', 'events') }}")
    shop.write(
        "models/metrics.yml", "metrics: [{name: m, model: plain, type: counter, expression: count(*)}]"
    )
    (error,) = (
        diagnostic
        for diagnostic in compile_project(tmp_path, use_cache=False).diagnostics
        if diagnostic.severity == "error"
    )
    assert "its model is a view" in error.message
