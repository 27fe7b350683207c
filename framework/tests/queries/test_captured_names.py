"""Names that queries give to things are never those that the user gave to something else."""

from __future__ import annotations

import pytest
from support.micro_batches import streamed
from support.sql_plans import project

EVENTS = "{{ source('shop', 'events') }}"
SINK = "{{ config(materialized='sink') }} "
MODELS = {
    # The relation is called as the variable of a lambda, in any case; also of a lambda within a lambda.
    "sized": f"{SINK}with c as (select user_id, tags, type from {EVENTS}) "
    "select user_id, transform(tags, C -> size(filter(tags, t -> t = C and type <> t))) as n from c",
    "closed": f"{SINK}with c as (select user_id, tags, type, rand() as r from {EVENTS}) "
    "select user_id, r < 2 as q, r > 2 as p, transform(tags, c -> size(filter(tags, t -> t = c and type <> c))) as n from c",
    "joined": f"{SINK}with c as (select user_id, tags, type from {EVENTS}) "
    "select c.user_id, filter(c.tags, x -> x <> p.category and x <> c.type) as n from c "
    "join {{ ref('products') }} as p on p.product_id = 'p1' and exists(tags, p -> p <> c.type)",
    "by_view": "{{ config(materialized='sink') }} select user_id, transform(tags, _rows -> concat(_rows, type)) as n from {{ ref('_rows') }}",
    "_rows": f"select user_id, tags, type from {EVENTS} where rand() < 2",
    "filtered": f"{SINK}select user_id, tags from {EVENTS} where exists(tags, events -> events = type or size(filter(tags, events_records -> events_records = type)) = 0)",
    "keyed": "{{ config(materialized='table', unique_key='user_id') }} "
    f"with events as (select user_id, tags, type from {EVENTS}) "
    "select user_id, max(size(transform(tags, events -> concat(events, type)))) as n from events group by user_id",
    # A CTE is called as what a subquery reads.
    "looked": f"{SINK}with products as (select user_id, rand() as r from {EVENTS}) "
    "select user_id, r < 2 as a, r > 2 as b, (select max(category) from {{ ref('products') }}) as m from products",
    # A column is called as the window of a group.
    "windowed": "{{ config(materialized='table', unique_key='w') }} "
    f"with x as (select user_id, at, type as window from {EVENTS}) "
    "select unix_millis(window(at, '1 minute').start) as w, count(*) as n from x group by window(at, '1 minute')",
    # SQL that is not understood has a CTE that is called as the topic that another one reads.
    "opaque": f"{SINK}with events as (select 'never' as user_id from {EVENTS}), "
    f"x as (select user_id from {EVENTS}) select x.user_id from x join (values (1)) as v(a) on true",
    # Columns are called as the calls of functions.
    "called": f"{SINK}select user_id, score(type, value) + _score as s from (select *, 1.5 as _score from {EVENTS})",
    "marked": "{{ config(materialized='table', unique_key='user_id') }} "
    f"select c.user_id, c.n, p._met from (select user_id, max(product_id) as k, count(*) as n from {EVENTS} group by user_id) as c "
    "join (select product_id, category as _met from {{ ref('products') }}) as p on p.product_id = c.k",
    "_branch": "{{ config(materialized='table', unique_key='user_id') }} "
    f"select user_id, max(value) as _branch from {EVENTS} group by user_id",
}
ROWS = [
    [
        {"_key": "u1", "type": "x", "product_id": "p1", "value": 1.5, "tags": ["a", "x"], "at": "2024-01-01T00:00:10Z"},
        {"_key": "u2", "type": "y", "product_id": "p2", "value": 2.5, "tags": ["b"], "at": "2024-01-01T00:00:20Z"},
    ],
    [{"_key": "u1", "type": "y", "product_id": "p1", "value": 3.5, "tags": ["c"], "at": "2024-01-01T00:10:10Z"}],
]  # fmt: skip
EXPECTED = {
    "sized": [{"user_id": "u1", "n": [1, 0]}, {"user_id": "u2", "n": [1]}, {"user_id": "u1", "n": [1]}],
    "closed": [
        {"user_id": "u1", "q": True, "p": False, "n": [1, 0]},
        {"user_id": "u2", "q": True, "p": False, "n": [1]},
        {"user_id": "u1", "q": True, "p": False, "n": [1]},
    ],
    "joined": [{"user_id": "u1", "n": ["a"]}, {"user_id": "u2", "n": ["b"]}, {"user_id": "u1", "n": ["c"]}],
    "by_view": [{"user_id": "u1", "n": ["ax", "xx"]}, {"user_id": "u2", "n": ["by"]}, {"user_id": "u1", "n": ["cy"]}],
    "filtered": [
        {"user_id": "u1", "tags": ["a", "x"]}, {"user_id": "u2", "tags": ["b"]}, {"user_id": "u1", "tags": ["c"]},
    ],
    "keyed": [{"user_id": "u1", "n": 2}, {"user_id": "u2", "n": 1}, {"user_id": "u1", "n": 2}],
    "looked": [{"user_id": user, "a": True, "b": False, "m": "books"} for user in ("u1", "u2", "u1")],
    "windowed": [{"w": 1704067200000, "n": 2}, {"w": 1704067800000, "n": 1}],
    "opaque": [{"user_id": "u1"}, {"user_id": "u2"}, {"user_id": "u1"}],
    "called": [{"user_id": "u1", "s": 3.0}, {"user_id": "u2", "s": 4.0}, {"user_id": "u1", "s": 5.0}],
    "marked": [{"user_id": "u1", "n": 1, "_met": "books"}, {"user_id": "u1", "n": 2, "_met": "books"}],
    "_branch": [
        {"user_id": "u1", "_branch": 1.5}, {"user_id": "u2", "_branch": 2.5}, {"user_id": "u1", "_branch": 3.5},
    ],
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(
    "target",
    ["all", "plain", "apart"],
)
def test_no_name_is_captured(spark, tmp_path, target):
    run = streamed(project(tmp_path, MODELS), target)
    stored_rows = {}
    for query in run.physical.queries:
        for model, row in run.run(spark, query, {"events": ROWS}):
            if not row.pop("_deleted", False):
                stored_rows.setdefault(model, []).append(row)
    assert stored_rows.keys() == EXPECTED.keys()
    for model, rows in EXPECTED.items():
        assert sorted(map(str, map(_ordered, stored_rows[model]))) == sorted(map(str, map(_ordered, rows))), (
            model
        )


def _ordered(row):
    return sorted(row.items())
