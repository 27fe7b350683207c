"""The summary of a table over tables: the changed columns, or that all of them share a cause."""

from support.reviews import compared, version, written

from millstream.review.summary import find_lines

A = "{{ config(materialized='table', unique_key='user_id') }} select user_id, type, amount, value from {{ source('shop', 'events') }}"
JOINED = "{{ config(materialized='table', unique_key='user_id') }} select a.user_id, p.category, coalesce(a.value, 0.0) as value from {{ ref('a') }} as a left join {{ ref('products') }} as p on p.product_id = a.type"
GROUPED = "{{ config(materialized='table', unique_key='type') }} select type, coalesce(sum(amount), 0) as total, max(value) as best, count(*) as n from {{ ref('a') }} group by type"


GROUPED_WITH_SUBQUERY = GROUPED.replace(
    " group by", " where type in (select product_id from {{ ref('products') }}) group by"
)
"""What SQL with a subquery computes is compared as a whole."""


def reason(tmp_path, sql, before, after):
    base = version(written(tmp_path / "base", {"a": A, "m": sql}), "main")
    report = compared(base, tmp_path / "after", {"a": A, "m": sql.replace(before, after)})
    (line,) = (line for line in find_lines(report) if line.level is None)
    return line.why


def test_one_coalesce_changes_its_column(tmp_path):
    why = reason(tmp_path, JOINED, "0.0", "1.0")
    assert why == "different values of `value`"


def test_columns_that_share_their_cause_are_one_phrase(tmp_path):
    why = reason(tmp_path, GROUPED_WITH_SUBQUERY, ", 0)", ", 1)")
    assert why == "different values of all columns"


def test_one_aggregate_changes_its_column(tmp_path):
    why = reason(tmp_path, GROUPED, ", 0)", ", 1)")
    assert why == "different values of `total`"
