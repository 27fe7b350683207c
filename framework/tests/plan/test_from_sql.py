"""SQL becomes nodes, clause by clause."""

from __future__ import annotations

from inspect import cleandoc

import pytest
from support.plan_text import plan_text
from support.sql_plans import nodes, plan_of

from millstream.core.types import DOUBLE
from millstream.plan.nodes import Union

EVENTS = "{{ source('shop', 'events') }}"
HITS = "{{ source('shop', 'hits') }}"
USERS = "{{ source('shop', 'users') }}"


def above_topics(text: str) -> str:
    """Leave out how topics are read, which is the same everywhere."""
    lines = text.splitlines()
    above = [line for line in lines if not line.strip().startswith(("watermark", "decode", "topic"))]
    return "\n".join(above)


def built(**models: str) -> str:
    return above_topics(plan_text(plan_of(**models)))


def test_a_topic_is_scanned_decoded_and_given_its_watermark():
    lines = plan_text(plan_of(m=f"select type from {EVENTS}")).splitlines()
    assert [line.split(":")[0].strip() for line in lines] == [
        "view m",
        "project type",
        "watermark at delay 10 seconds",
        "decode json",
        "topic events",
    ]


CASES = [
    (
        "select e.type as kind, e.value * 2 as double from EVENTS as e where e.type = 'x' and e.value > 1",
        """
        view m
          project kind = type, double = value * 2
            filter type = 'x' and value > 1
        """,
    ),
    (
        "select value + 1 as a, a * 2 as b, a + b as c from EVENTS",
        """
        view m
          project a, b, c = a + b
            project user_id, type, product_id, value, amount, tags, at, _key, _topic, _partition, _offset, _timestamp, _headers, a, b = a * 2
              project user_id, type, product_id, value, amount, tags, at, _key, _topic, _partition, _offset, _timestamp, _headers, a = value + 1
        """,
    ),
    (
        "select type, count(*) + 1 as n from EVENTS group by type having sum(value) > 3",
        """
        view m
          project type, n = n_count + 1
            filter having_sum > 3
              aggregate n_count = count(*), having_sum = sum(value) by type (on change)
                repartition by type
        """,
    ),
    (
        "select upper(type) as kind, max(value) as v from EVENTS group by upper(type)",
        """
        view m
          project kind, v
            aggregate v = max(value) by kind (on change)
              repartition by kind
                project user_id, type, product_id, value, amount, tags, at, _key, _topic, _partition, _offset, _timestamp, _headers, kind = upper(type)
        """,
    ),
    (
        "select window.start as s, count(*) as n from EVENTS group by window(at, '1 minute')",
        """
        view m
          project s = `window`.start, n
            aggregate n = count(*) by window = window(at, '1 minute') (on change)
              repartition by nothing: all rows in one partition
        """,
    ),
    (
        "select distinct type from EVENTS",
        """
        view m
          dedupe type
            repartition by type
              project type
        """,
    ),
    (
        "select e.type, p.category from EVENTS e left join {{ ref('products') }} p on p.product_id = e.product_id",
        """
        view m
          project type, category
            left lookup on p_product_id = product_id
              seed seed.products: product_id, category
        """,
    ),
    (
        "select p.category, e.type from {{ ref('products') }} p join EVENTS e using (product_id)",
        """
        view m
          project category, type
            inner lookup on product_id = e_product_id
              seed seed.products: product_id, category
        """,
    ),
    (
        "select e.user_id, h.path from EVENTS e join HITS h on h.visitor = e.user_id and h.seen > e.at",
        """
        view m
          project user_id, path
            inner join on visitor = user_id and seen > at
              repartition by user_id
              repartition by visitor
        """,
    ),
    (
        "select e.type, t.tag from EVENTS e lateral view outer explode(e.tags) t as tag",
        """
        view m
          project type, tag
            expand outer explode(tags) as tag
        """,
    ),
    (
        "with kept as (select type, at from EVENTS where value > 1) select a.type from kept a union all select b.type from kept b",
        """
        view m
          union
            project type
              kept = project type, at
                filter value > 1
            project type
              ^ kept
        """,
    ),
    (
        "select type from EVENTS join (values ('x')) as v(t) on t = type",
        """
        view m
          opaque: VALUES as a relation
        """,
    ),
]


@pytest.mark.parametrize(("sql", "expected"), CASES, ids=[case[0] for case in CASES])
def test_sql_becomes_nodes(sql, expected):
    assert built(m=sql.replace("EVENTS", EVENTS).replace("HITS", HITS)) == cleandoc(expected)


def test_a_view_is_one_node_for_all_that_read_it():
    text = built(
        v=f"select type from {EVENTS}",
        a="sink: select * from {{ ref('v') }}",
        b="sink: select * from {{ ref('v') }}",
    )
    assert text.count("v = project") == 1
    assert text.count("^ v") == 1


def test_a_topic_of_another_model_is_read_back():
    text = plan_text(plan_of(a=f"sink: select type from {EVENTS}", b="sink: select type from {{ ref('a') }}"))
    assert "decode json: type, _timestamp\n" in text
    assert "topic a\n" in text


def test_a_table_is_read_change_by_change_or_looked_up():
    table = f"table user_id: select user_id, count(*) as n from {EVENTS} group by user_id"
    text = built(
        t=table,
        changes="sink user_id: select * from {{ ref('t') }}",
        joined=f"sink: select e.type, t.n from {EVENTS} e left join {{{{ ref('t') }}}} t using (user_id)",
    )
    assert "table model.t changes: user_id, n" in text
    assert "table model.t: user_id, n" in text


def test_columns_of_an_alias_are_taken_by_position():
    text = built(m=f"select b, a from (select type, value from {EVENTS}) as t(b, a)")
    assert "project b = type, a = value" in text


def test_a_union_within_a_query_has_the_types_of_its_sides():
    sides = f"select amount as v from {EVENTS} union all select value from {EVENTS}"
    (union,) = nodes(plan_of(m=f"with both as ({sides}) select cast(v as string) as v from both"), Union)
    assert [c.type for c in union.columns] == [DOUBLE]


def test_a_join_with_itself_reads_the_topic_once():
    text = plan_text(plan_of(m=f"select a.type from {EVENTS} a join {EVENTS} b on a.user_id = b.user_id"))
    assert text.count("topic events") == 1
