"""Conditions of HAVING and above views that stay true of a group, whatever rows come."""

import pytest
from support.sql_plans import plan_of

from millstream.plan.lasting_conditions import lasting_conditions
from millstream.plan.nodes import Filter
from millstream.plan.nodes.order import in_order

EVENTS = "{{ source('shop', 'events') }}"
LASTING = [
    "count(*) > 2",
    "count(*) >= 2 and max(amount) > 10",
    "2 < count(type)",
    "count(*) + count(type) > 3",
    "count(*) - 2 > 0",
    "count(*) > 2 or min(amount) < 3",
    "(count(*) > 2 or max(value) > 1.5) and min(at) < timestamp '2026-01-01 00:00:00'",
    "max(amount) is not null",
    "bool_or(type = 'x')",
    "sum(1) > 3",
    "sum(length(type)) > 3",
    "sum(abs(amount)) > 3",
    "cast(count(*) as double) > 2.5",
    "-min(amount) > 3",
    "count_if(type = 'x') > 1",
    "count(*) > 2.5",
    "size(collect_list(type)) > 2",
    "count(*) filter (where type = 'x') > 1",
]
NOT_LASTING = [
    "sum(amount) > 2",
    "avg(value) > 2",
    "count(*) < 3",
    "count(*) = 3",
    "count(*) <> 3",
    "max(amount) < 3",
    "min(amount) > 3",
    "count(*) > max(amount)",
    "count(*) - count(type) > 1",
    "not count(*) > 2",
    "count(*) % 2 > 0",
    "count(*) > 2.5 + count(type)",
    "date '2026-01-01' < cast(min(at) as date)",
    "max(amount) is null",
    "bool_and(type = 'x')",
    "coalesce(max(amount), 0) > -1",
    "cast(count(*) as string) > '2'",
    "last(amount) > 3",
    "count(*) between 2 and 4",
    "case when count(*) > 2 then true else false end",
    "count(*) > rand()",
    "sum(length(type) - 3) > 3",
    "if(count(*) > 2, max(amount), 0) > 3",
    "sum(case when type = 'x' then -1 else 1 end) > 2",
]


def filters(sql, **views):
    plan = plan_of(m=sql, **views)
    return [node for node in in_order(plan.outputs) if isinstance(node, Filter) and node.input.names != ()]


def lasting(sql, **views):
    return [bool(lasting_conditions(node)) for node in filters(sql, **views)][-1]


@pytest.mark.parametrize("condition", LASTING)
def test_a_condition_that_stays_true(condition):
    assert lasting(f"select user_id from {EVENTS} group by user_id having {condition}")


@pytest.mark.parametrize("condition", NOT_LASTING)
def test_a_condition_that_may_become_false(condition):
    assert not lasting(f"select user_id from {EVENTS} group by user_id having {condition}")


def test_only_some_conditions_stay_true():
    (node,) = filters(
        f"select user_id from {EVENTS} group by user_id having count(*) > 2 and sum(amount) > 1"
    )
    assert [str(condition) for condition in node.conditions if condition in lasting_conditions(node)] != []
    assert len(lasting_conditions(node)) == 1


def test_a_filter_above_views_of_an_aggregate():
    views = {
        "counted": f"select user_id, count(*) as n, sum(amount) as total from {EVENTS} group by user_id",
        "named": "select user_id as id, n + 1 as more, total from {{ ref('counted') }}",
    }
    assert lasting("select id from {{ ref('named') }} where more > 3", **views)
    assert not lasting("select id from {{ ref('named') }} where total > 3", **views)
