"""A model's log: which rows and columns it accepts."""

import pytest
from support.runs import job_of
from support.shops import Shop

from millstream.compile import compile_project
from millstream.plan.nodes import RowLog
from millstream.queries.values import logs_of

MODEL = """
    {{ config(materialized='MATERIALIZED', unique_key='id') }}
    select id, kind, value, at, try_cast(kind as int) as number from {{ source('web', 'events') }}
"""


def shop_with(root, log, materialized="table"):
    shop = Shop(root, "")
    config = MODEL if materialized == "table" else MODEL.replace(", unique_key='id'", "")
    shop.model("plain", config.replace("MATERIALIZED", materialized))
    shop.write("models/plain.yml", f"models: [{{name: plain, log: {log}}}]")
    return shop


@pytest.mark.parametrize("materialized", ["sink", "table"])
@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("{}", RowLog()),
        ("{when: 'try_divide(value, id) > 1'}", RowLog()),
        ("{when: value > 10 and kind is not null, columns: [ID, at]}", RowLog()),
        ("{when: number > 1, level: error, sample: 0.25, per_minute: 5}", RowLog("error", 0.25, 5)),
    ],
)
def test_logs(tmp_path, log, expected, materialized):
    shop_with(tmp_path, log, materialized)
    (query,) = (query for query in job_of(tmp_path).physical.queries if "model.plain" in query.stored)
    assert logs_of(query) == {"model.plain": expected}


@pytest.mark.parametrize(
    ("log", "code", "wrong"),
    [
        ("{when: value}", "MS672", "of the type double"),
        ("{when: cast(kind as int) > 1}", "MS672", "can fail on a row"),
        ("{when: count(*) > 1}", "MS672", "can fail on a row, or needs more"),
        ("{when: value > rand()}", "MS672", "can fail on a row, or needs more"),
        ("{when: nosuch > 1}", "MS402", "column 'nosuch' does not exist"),
        ("{columns: [sort]}", "MS671", "'sort' is not a column"),
        ("{level: warn}", "MS107", "debug, info, warning, error"),
        ("{sample: 0}", "MS107", "a number above 0, at most 1"),
        ("{where: id > 1}", "MS106", "unknown key 'where'"),
    ],
)
def test_what_is_refused_has_its_location(tmp_path, log, code, wrong):
    shop_with(tmp_path, log)
    (error,) = (
        diagnostic
        for diagnostic in compile_project(tmp_path, use_cache=False).diagnostics
        if diagnostic.severity == "error"
    )
    assert (error.code, error.location.path, error.location.line) == (code, "models/plain.yml", 1)
    assert wrong in error.message
