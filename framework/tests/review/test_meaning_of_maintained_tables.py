"""What changes with an edit above tables over tables, column by column, and what an edit of their words changes."""

import pytest
from support.reviews import reviewed

TABLE = "{{{{ config(materialized='table', unique_key={}) }}}} "
MODELS = {
    "macros/cents.sql": "{% macro cents(c) %}{{ c }} / 100{% endmacro %}",
    "stg": "{{ config(materialized='view') }} select user_id, type, {{ cents('amount') }} as amount, at from {{ source('shop', 'events') }}",
    "purchases": TABLE.format("'user_id'") + "select user_id, type, amount, at from {{ ref('stg') }}",
    "rates": TABLE.format("'type'") + "select type, amount as rate, user_id from {{ source('shop', 'events') }}",
    "usd": TABLE.format("['user_id', 'type']")
    + "select p.user_id, p.type, p.amount * r.rate as usd, r.rate from {{ ref('purchases') }} p join {{ ref('rates') }} r on r.type = p.type",
    "daily": TABLE.format("'type'")
    + "select type, sum(usd) as revenue, count(*) as n from {{ ref('usd') }} group by type",
    "ranked": TABLE.format("'user_id'")
    + "select user_id, type, row_number() over (partition by type order by amount) as place from {{ ref('purchases') }}",
    "best": TABLE.format("'user_id'")
    + "select user_id, type from {{ ref('purchases') }} qualify row_number() over (partition by type order by amount) = 1",
    "never": TABLE.format("'user_id'")
    + "select user_id from {{ ref('purchases') }} p where not exists (select 1 from {{ ref('rates') }} r where r.user_id = p.user_id)",
    "counted": TABLE.format("'n'") + "select n, count(*) as days from {{ ref('daily') }} group by n",
    "visits": TABLE.format("'user_id'") + "select user_id, type, at from {{ source('shop', 'events') }}",
    "prices": TABLE.format("'type', versions='30 days', order_by='at'")
    + "select type, amount, at from {{ source('shop', 'events') }}",
    "priced": TABLE.format("'user_id'")
    + "select v.user_id, p.amount from {{ ref('visits') }} v left join {{ ref('prices') }} for system_time as of v.at p on p.type = v.type",
    "pairs": TABLE.format("'user_id'")
    + "select a.user_id, a.amount, b.amount as other from {{ ref('purchases') }} a join {{ ref('purchases') }} b on a.type = b.user_id",
}  # fmt: skip


def changes(tmp_path, name, before, after):
    """Return the changed columns of each listed model; `rows` among them if its rows are others."""
    assert before in MODELS[name]
    report = reviewed(tmp_path, MODELS, {name: MODELS[name].replace(before, after)})
    return {
        node.id.partition(".")[2]: {
            *(f"{c.kind} {c.name}" for c in node.columns),
            *(["rows"] if node.rows else []),
        }
        for node in report.nodes
        if node.kind == "model"
    }


def test_changed_values_reach_only_readers_of_the_column(tmp_path):
    assert changes(tmp_path, "macros/cents.sql", "/ 100", "/ 1000") == {
        "stg": {"meaning amount"},
        "purchases": {"meaning amount"},
        "usd": {"meaning usd"},
        "daily": {"meaning revenue"},
        "ranked": {"meaning place"},
        "best": {"rows", "meaning user_id", "meaning type"},
        "pairs": {"meaning amount", "meaning other"},
    }


def test_changed_rows_reach_all_readers(tmp_path):
    changed = changes(
        tmp_path, "purchases", "from {{ ref('stg') }}", "from {{ ref('stg') }} where amount > 0"
    )
    assert {name for name, what in changed.items() if "rows" in what} == {
        "purchases", "usd", "daily", "ranked", "best", "never", "counted", "pairs",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("name", "before", "after", "column"),
    [
        ("purchases", "amount, at", "amount, upper(type) as up, at", "added up"),
        ("usd", ", r.rate from", ", r.rate, r.rate + 1 as up from", "added up"),
        ("usd", ", r.rate from", " from", "removed rate"),
        ("daily", "count(*) as n", "count(*) as n, min(usd) as up", "added up"),
        ("ranked", "as place", "as place, amount as up", "added up"),
        ("pairs", "b.amount as other", "b.amount as other, b.amount + 1 as up", "added up"),
    ],
)
def test_an_added_or_removed_column_changes_no_other(tmp_path, name, before, after, column):
    assert changes(tmp_path, name, before, after) == {name: {column}}


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("usd", MODELS["usd"], MODELS["usd"].replace("p.", "x.").replace(" p ", " x ")),
        ("usd", "p.amount * r.rate", "r.rate * p.amount"),
        ("usd", "r.type = p.type", "p.type = r.type"),
        ("usd", MODELS["usd"], MODELS["usd"].replace("select p", "with c as (select * from {{ ref('purchases') }}) select p").replace("from {{ ref('purchases') }} p", "from c p")),
        ("priced", MODELS["priced"], MODELS["priced"].replace("v.", "x.").replace(" v ", " x ")),
        ("priced", MODELS["priced"], MODELS["priced"].replace("select v", "with c as (select * from {{ ref('visits') }}) select v").replace("from {{ ref('visits') }} v", "from c v")),
        ("daily", "group by type", "group by 1"),
        ("daily", "count(*)", "count(1)"),
        ("ranked", MODELS["ranked"], MODELS["ranked"].replace("user_id, type, row", "q.user_id, q.type, row") + " q"),
    ],
)  # fmt: skip
def test_other_words_for_the_same_rows_change_nothing(tmp_path, name, before, after):
    assert changes(tmp_path, name, before, after) == {}


@pytest.mark.parametrize(
    ("name", "before", "after", "expected"),
    [
        ("pairs", "a.amount, b.amount as other", "b.amount, a.amount as other", {"meaning amount", "meaning other"}),
        ("pairs", "on a.type = b.user_id", "on b.type = a.user_id", {"rows"}),
        ("usd", " join ", " left join ", {"rows"}),
        ("usd", "on r.type", "on r.rate > 1 and r.type", {"rows"}),
        ("priced", " for system_time as of v.at", "", {"rows"}),
        ("priced", "left join", "join", {"rows"}),
        ("daily", "sum(usd)", "max(usd)", {"meaning revenue"}),
        ("never", "not exists", "exists", {"rows", "meaning user_id"}),
        ("ranked", "order by amount", "order by at", {"meaning place"}),
        ("best", "order by amount", "order by at", {"rows", "meaning user_id", "meaning type"}),
    ],
)  # fmt: skip
def test_other_rows_are_not_missed(tmp_path, name, before, after, expected):
    assert expected <= changes(tmp_path, name, before, after)[name]
