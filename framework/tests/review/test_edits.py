"""Edits, each with what a review must say of it."""

from __future__ import annotations

import json

import pytest
from support.long import every_second_long
from support.reviews import compared, query, reviewed, version, written

BASE = {
    "clicks": "select user_id, type, value, amount, at from {{ source('shop', 'events') }} where type = 'click'",
    "sent": (
        "{{ config(materialized='sink', key='user_id') }}\n"
        "select user_id, type, value, score(type, value) as points from {{ ref('clicks') }}"
    ),
    "totals": (
        "{{ config(materialized='table', unique_key='user_id') }}\n"
        "select user_id, sum(amount) as total, count(*) as n, max(value) as most\n"
        "from {{ ref('clicks') }} group by user_id"
    ),
    "hourly": (
        "{{ config(materialized='sink', key='id', emit='on_close') }}\n"
        "select concat(user_id, '@', unix_millis(window.start)) as id, user_id, sum(amount) as total\n"
        "from {{ ref('clicks') }} where user_id is not null group by window(at, '1 hour'), user_id"
    ),
    "firsts": (
        "{{ config(materialized='sink', dedupe={'keys': ['user_id', 'type'], 'within': '1 hour'}) }}\n"
        "select user_id, type, at from {{ source('shop', 'events') }}"
    ),
    "met": (
        "{{ config(materialized='sink') }}\n"
        "select e.user_id, e.value, h.path from {{ source('shop', 'events') }} as e\n"
        "join {{ source('shop', 'hits') }} as h on h.visitor = e.user_id\n"
        "and h.seen between e.at and e.at + interval 1 hour"
    ),
    "named": (
        "{{ config(materialized='sink') }}\n"
        "select e.user_id, e.amount, p.category from {{ source('shop', 'events') }} as e\n"
        "left join {{ ref('products') }} as p on p.product_id = e.product_id"
    ),
    "both": (
        "{{ config(materialized='sink') }}\n"
        "select user_id, amount from {{ source('shop', 'events') }} where type = 'view'\n"
        "union all\nselect visitor, cast(0 as bigint) from {{ source('shop', 'hits') }}"
    ),
    "tags": (
        "{{ config(materialized='sink') }}\n"
        "select e.user_id, t.tag from {{ source('shop', 'events') }} as e lateral view explode(e.tags) t as tag"
    ),
}


def edit(model, *pairs):
    """Return the model with each text replaced by the next one."""
    text = BASE[model]
    for was, now in pairs:
        assert was in text
        text = text.replace(was, now)
    return {model: text}


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return version(written(tmp_path_factory.mktemp("base"), BASE), "main")


SAME = [
    pytest.param(edit("clicks", ("select ", "SELECT\n    "), ("from", "\nFROM")), id="formatting"),
    pytest.param(edit("clicks", ("select", "-- who clicked\nselect")), id="a comment"),
    pytest.param(edit("clicks", ("where type = 'click'", "where (type = 'click')")), id="parentheses"),
    pytest.param(
        edit("clicks", ("select ", "with e as (select * from {{ source('shop', 'events') }})\nselect "),
             ("from {{ source('shop', 'events') }} where", "from e where")),
        id="a CTE",
    ),
    pytest.param(
        {
            "clicks": "with e as (select * from {{ source('shop', 'events') }} where type = 'click')\n"
            "select user_id, type, value, amount, at from e"
        },
        id="a filter goes into a CTE",
    ),
    pytest.param(
        edit("clicks", ("user_id, type, value, amount, at from", "E.user_id, E.type, e.VALUE as value, e.amount, e.at from"),
             ("}} where type", "}} AS e where e.TYPE")),
        id="an alias, in any case",
    ),
    pytest.param(
        {"macros/clicked.sql": "{% macro clicked(column) %}{{ column }} = 'click'{% endmacro %}"}
        | edit("clicks", ("type = 'click'", "{{ clicked('type') }}")),
        id="a macro that renders the same",
    ),
    pytest.param(
        {"everything": "select * from {{ source('shop', 'events') }}"}
        | edit("clicks", ("{{ source('shop', 'events') }}", "{{ ref('everything') }}")),
        id="a part becomes a model of its own",
    ),
    pytest.param(edit("totals", ("group by user_id", "group by 1")), id="GROUP BY a number"),
    pytest.param(edit("totals", ("user_id, sum", "user_id, SUM")), id="a function's case"),
    pytest.param(edit("clicks", ("type = 'click'", "not 'click' <> type")), id="a comparison said otherwise"),
    pytest.param(edit("met", (" as e\njoin", " as ev\njoin"), ("e.user_id, e.value", "ev.user_id, ev.value"),
                      ("= e.user_id", "= ev.user_id"), ("e.at and e.at", "ev.at and ev.at")), id="aliases of a join"),
    pytest.param(
        {"macros/functions.py": '''
def score(type: str | None, value: float | None) -> float:
    """Say it otherwise."""
    # A comment.
    return (value or 0.0) * (2 if type == "purchase" else 1)
'''}, id="a function's docstring"),
]  # fmt: skip


@pytest.mark.parametrize("after", every_second_long(SAME))
def test_a_refactoring_is_no_change(after, base, tmp_path):
    report = compared(base, tmp_path, {**BASE, **after})
    assert [(node.id, node.status, node.what) for node in report.nodes if node.status != "added"] == []
    assert (report.levels, report.queries, report.contracts, report.costs) == ((), (), (), ())


@pytest.mark.parametrize(
    ("after", "model"),
    [
        (edit("hourly", ("'1 hour'", "'60 minutes'")), "hourly"),
        (edit("totals", ("count(*)", "count(1)")), "totals"),
    ],
)
def test_the_same_rows_in_other_words_keep_the_sql_that_runs(after, model, base, tmp_path):
    report = compared(base, tmp_path, {**BASE, **after})
    assert [(node.id, node.status) for node in report.nodes if node.status != "added"] == []
    (query,) = report.queries
    assert (query.status, query.notes) == ("same", (f"{model} means the same, and keeps the SQL that runs",))
    assert (report.levels, report.contracts, report.costs) == ((), (), ())


CHANGED = [
    # what happens to rows before a state
    pytest.param(edit("clicks", ("'click'", "'view'")), {"mixed"}, {"totals": "mixed", "hourly": "mixed"}, id="a filter"),
    pytest.param(edit("firsts", ("}}\nselect", "}}\nselect "), ("'events') }}", "'events') }} where amount > 0")),
                 {"mixed"}, {"firsts": "mixed"}, id="a filter before a dedupe"),
    # what a state keeps
    pytest.param(edit("totals", ("sum(amount)", "max(amount)")), {"rebuild"}, {"totals": "rebuild"}, id="sum to max"),
    pytest.param(edit("totals", ("sum(amount)", "sum(amount * 2)")), {"rebuild"}, {"totals": "rebuild"}, id="a sum's argument"),
    pytest.param(edit("totals", ("max(value) as most", "max(value) as most, min(value) as least")), {"rebuild"},
                 {"totals": "rebuild"}, id="an aggregate more"),
    pytest.param(edit("totals", ("sum(amount) as total, count(*) as n", "count(*) as n, sum(amount) as total")), set(),
                 {}, id="aggregates in another order"),
    pytest.param(edit("clicks", ("amount, at", "amount + 1 as amount, at")), {"rebuild"},
                 {"totals": "rebuild", "hourly": "rebuild"}, id="a column that a view computes otherwise"),
    pytest.param(edit("hourly", ("'1 hour'", "'2 hours'")), {"rebuild"}, {"hourly": "rebuild"}, id="a window's length"),
    pytest.param(edit("hourly", ("window(at, '1 hour')", "window(at, '1 hour', '30 minutes')")), {"rebuild"},
                 {"hourly": "rebuild"}, id="a window's slide"),
    pytest.param(edit("hourly", (", emit='on_close'", "")), {"breaking", "rebuild"}, {"hourly": "rebuild"}, id="emit"),
    pytest.param(edit("firsts", ("'1 hour'", "'2 hours'")), {"rebuild"}, {"firsts": "rebuild"}, id="how long a dedupe remembers"),
    pytest.param(edit("firsts", ("['user_id', 'type']", "['type', 'user_id']")), set(), {},
                 id="order of a dedupe's keys"),
    pytest.param(edit("met", ("+ interval 1 hour", "+ interval 2 hours")), {"rebuild"}, {"met": "rebuild"}, id="a join's bound"),
    pytest.param(edit("met", ("join {{", "left join {{")), {"rebuild"}, {"met": "rebuild"}, id="a join's kind"),
    # columns of topics
    pytest.param(edit("named", ("e.amount", "e.amount * 2 as amount")), set(), {}, id="another meaning of a column"),
    pytest.param(edit("named", ("e.user_id, e.amount", "e.user_id")), {"breaking"}, {}, id="a column less"),
    pytest.param(edit("named", ("e.amount", "e.amount as money")), {"breaking"}, {}, id="a column renamed"),
    pytest.param(edit("named", ("e.amount", "cast(e.amount as string) as amount")), {"breaking"}, {}, id="a number to a string"),
    pytest.param(edit("named", ("e.amount", "cast(e.amount as int) as amount")), set(), {}, id="a smaller number"),
    pytest.param(edit("named", ("e.amount", "e.amount as Amount")), {"breaking"}, {}, id="a column's case"),
    pytest.param(edit("named", ("p.category", "p.category, e.value")), set(), {}, id="a column more"),
    pytest.param(edit("both", ("where type = 'view'", "where type = 'click'")), set(), {}, id="a filter of one side"),
    pytest.param(edit("tags", ("explode(", "explode_outer(")), set(), {}, id="rows without tags"),
    # topics and tables
    pytest.param(edit("sent", ("key='user_id'", "key='type'")), {"breaking"}, {}, id="a topic's key"),
    pytest.param(edit("sent", ("key='user_id'", "key='user_id', topic='sent_v2'")), {"breaking"}, {}, id="a topic's name"),
    pytest.param(edit("sent", ("key='user_id'", "key='user_id', format='csv'")), {"breaking"}, {}, id="a topic's format"),
    pytest.param(edit("sent", ("key='user_id'", "key='user_id', partitions=12")), set(), {}, id="partitions"),
    pytest.param(edit("sent", ("key='user_id'", "key='user_id', topic_config={'cleanup.policy': 'compact'}")), {"breaking"}, {},
                 id="cleanup policy"),
    pytest.param(edit("totals", ("sum(amount) as total", "cast(sum(amount) as double) as total")), {"breaking", "stored"}, {"totals": "stored"},
                 id="a table's column gets another type"),
    pytest.param(edit("totals", ("sum(amount) as total", "sum(amount) as total, 1 as version")), {"stored"}, {"totals": "stored"}, id="a table gets a column"),
    pytest.param(edit("totals", ("max(value) as most", "max(value) + 1 as most")), {"stored"}, {"totals": "stored"}, id="what is done with an aggregate"),
    pytest.param(edit("totals", ("as most", "as highest")), {"breaking", "stored"}, {"totals": "stored"}, id="a table's column renamed"),
    pytest.param({"totals": ""}, {"breaking"}, {"totals": "removed"}, id="a table is gone"),
    pytest.param({"more": "{{ config(materialized='sink') }}\nselect user_id, amount from {{ ref('clicks') }}"}, set(), {},
                 id="a sink more"),
    pytest.param({"counts": "{{ config(materialized='table', unique_key='type') }}\nselect type, count(*) as n from {{ source('shop', 'hits') }} "
                  "cross join (select 1 as one) group by path".replace("select type", "select path as type")
                  .replace(" cross join (select 1 as one)", "")}, {"cost"}, {"counts": "new"}, id="a state more"),
    # functions and seeds
    pytest.param({"macros/functions.py": "def score(type: str | None, value: float | None) -> float:\n    return value or 1.0\n"},
                 set(), {}, id="a function's body"),
    pytest.param({"seeds/products.csv": "product_id,category\np1,music\n"}, set(), {}, id="a seed's rows"),
]  # fmt: skip


@pytest.mark.parametrize(("after", "levels", "queries"), every_second_long(CHANGED))
def test_what_an_edit_does(after, levels, queries, base, tmp_path):
    report = compared(base, tmp_path, {**BASE, **after})
    assert {change.name: change.status for change in report.queries if change.status != "same"} == queries
    assert set(report.levels) == levels
    assert report.nodes


def test_fields_that_trade_places_in_an_avro_schema(tmp_path):
    fields = [{"name": name, "type": "int"} for name in ("a", "b", "c")]
    files = {
        "models/s.yml": "sources: [{name: s, topics: [{name: pairs, format: avro, schema: schemas/r.avsc}]}]\n",
        "models/sums.sql": "{{ config(materialized='table', unique_key='c') }}\n"
        "select c, sum(b) as total, count(*) as n from {{ source('s', 'pairs') }} group by c\n",
        "schemas/r.avsc": json.dumps({"type": "record", "name": "R", "fields": fields}),
    }
    traded = {
        "schemas/r.avsc": json.dumps(
            {"type": "record", "name": "R", "fields": [fields[1], fields[0], fields[2]]}
        )
    }
    report = reviewed(tmp_path, files, traded)
    nodes = {node.id: node for node in report.nodes}
    assert nodes["source.s.pairs"].what == ("finds `b`, `a` elsewhere in records, or reads it differently",)
    assert "model.sums" in nodes
    changed = query(report, "sums")
    assert changed is not None
    assert changed.status == "rebuild", changed
