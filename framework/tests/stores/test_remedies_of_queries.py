"""Queries that are refused, and the same queries as the remedy asks for them."""

import pytest

from millstream.core.errors import MillstreamError
from millstream.stores.query import run_query
from millstream.stores.tables.datafusion_errors import INSTEAD


def refused(sql, rest):
    with pytest.raises(MillstreamError) as caught:
        run_query(sql, rest)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


@pytest.mark.parametrize(
    ("sql", "code", "remedy", "instead"),
    [
        ("select * from totls", "MS842", "did you mean 'totals'?", "select * from totals"),
        ('select * from "shop.products"', "MS842", "write shop.products without quotes", "select * from shop.products"),
        ('select * from "shop.products"', "MS842", 'quote each part: "shop"."products"', 'select * from "shop"."products"'),
        ("select totl from totals", "MS845", "did you mean 'total'?", "select total from totals"),
        ("selct * from totals", "MS848", "did you mean 'select'?", "select * from totals"),
    ],
)  # fmt: skip
def test_a_query_is_answered_with_the_edit_that_the_remedy_asks_for(rest, sql, code, remedy, instead):
    diagnostic = refused(sql, rest())
    assert (diagnostic.code, remedy in diagnostic.help) == (code, True), diagnostic
    assert run_query(instead, rest()).rows


@pytest.mark.parametrize("function", INSTEAD)
def test_a_function_of_spark_is_reported_with_what_datafusion_has_instead(rest, function):
    diagnostic = refused(f"select {function}(total, 1) as x from totals", rest())
    assert diagnostic.code == "MS845"
    assert diagnostic.help == f"DataFusion runs this query: write {INSTEAD[function]}"
    expression = (
        INSTEAD[function].replace("case when … then … else … end", "case when n > 1 then 1 else 2 end")
        .replace("'…'", "'a(.)'").replace("…", "n > 1")
    )  # fmt: skip
    values = "timestamp '2026-01-01 00:00:00' as at, 'ab' as x, 3 as n, [2, 1] as xs, "
    values += "timestamp '2026-01-01 00:00:00' as a, timestamp '2026-01-03 00:00:00' as b"
    assert run_query(f"select {expression} as y from (select {values}) as t", rest()).rows
