"""SQL over rows at rest, clause by clause: window functions, grouping sets, set operations and subqueries."""

import pytest
from shop import FUNCTIONS, RELATIONS

from millstream.sql.analyze import analyze_sql
from millstream.sql.query import OpaqueBody, Select, SqlUnion

EVENTS = "sources.shop.events"


def at_rest(sql):
    analysis = analyze_sql(sql, RELATIONS.get, lambda: ["users"], FUNCTIONS, text=True)
    assert not analysis.diagnostics
    assert isinstance(analysis.query.body, OpaqueBody)
    return analysis.query.at_rest and analysis.query.at_rest.body


SETS = {
    "rollup(type, user_id)": [("type", "user_id"), ("type",), ()],
    "cube(type, user_id)": [("type", "user_id"), ("type",), ("user_id",), ()],
    "grouping sets ((type, user_id), type, ())": [("type", "user_id"), ("type",), ()],
    "type, rollup(user_id)": [("type", "user_id"), ("type",)],
    "rollup((type, user_id))": [("type", "user_id"), ()],
    "rollup(type), cube(user_id)": [("type", "user_id"), ("type",), ("user_id",), ()],
}


@pytest.mark.parametrize("group", SETS)
def test_grouping_sets_are_the_keys_of_each_set(group):
    body = at_rest(f"select type, user_id, count(*) as n from {EVENTS} group by {group}")
    assert isinstance(body, Select)
    assert list(body.sets) == SETS[group]


@pytest.mark.parametrize("group", ["type, user_id with rollup", "grouping sets (rollup(type), user_id)"])
def test_grouping_sets_of_other_forms_are_not_split(group):
    assert at_rest(f"select type, user_id, count(*) as n from {EVENTS} group by {group}") is None


PARTITIONS = {
    "row_number() over (partition by type, user_id order by id)": ["type", "user_id"],
    "sum(value) filter (where id > 1) over (partition by coalesce(type, 'a') rows between 1 preceding and current row)": ["coalesce(type, 'a')"],
    "lag(id, 1) ignore nulls over (partition by type order by id)": ["type"],
    "count(*) over (partition by (type) order by (id))": ["type"],
    "count(*) over ()": [],
    "rank() over (order by id)": [],
}  # fmt: skip


@pytest.mark.parametrize("call", PARTITIONS)
def test_a_window_function_has_the_columns_of_its_partition(call):
    body = at_rest(f"select id, {call} as w from {EVENTS}")
    assert isinstance(body, Select)
    (window,) = body.windows
    assert [column.text.replace("events.", "") for column in window.partition] == PARTITIONS[call]


def test_a_window_over_groups_is_partitioned_by_their_keys():
    body = at_rest(
        f"select id % 2 as g, count(*) as n, sum(count(*)) over (partition by id % 2 order by id % 2) as s "
        f"from {EVENTS} group by id % 2"
    )
    assert [column.text for window in body.windows for column in window.partition] == ["g"]


def test_a_named_window_is_not_split():
    window = "window w as (partition by type order by id)"
    assert at_rest(f"select id, rank() over w as r from {EVENTS} {window}") is None


@pytest.mark.parametrize("operator", ["intersect", "except", "minus"])
def test_a_set_operation_is_a_union_with_its_operator(operator):
    body = at_rest(f"select type from {EVENTS} {operator} select name from models.users")
    assert isinstance(body, SqlUnion)
    assert (body.operator, body.distinct) == ("intersect" if operator == "intersect" else "except", True)


def test_a_subquery_reads_the_enclosing_query_by_marked_columns():
    body = at_rest(
        f"select e.id from {EVENTS} as e where e.user_id in (select u.name from models.users as u where u.id = e.id)"
    )
    (subquery,) = body.subqueries
    assert [expression.text for expression in subquery.left] == ["e.user_id"]
    assert [(ref.relation, ref.column) for ref in subquery.body.where[0].refs] == [("u", "id"), ("^e", "id")]


def test_a_stream_is_not_split_further():
    sql = f"select id, rank() over (partition by type order by id) as r from {EVENTS}"
    analysis = analyze_sql(sql, RELATIONS.get, lambda: ["users"], FUNCTIONS)
    assert analysis.query.at_rest is None
