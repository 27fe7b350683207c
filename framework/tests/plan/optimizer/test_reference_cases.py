"""The cases in which Kafka Streams' optimizer is known to do too little, too much, or to fail."""

from __future__ import annotations

from support.sql_plans import count, nodes, optimized, plan_of

from millstream.plan.nodes import (
    Aggregate,
    Decode,
    Filter,
    Join,
    Project,
    Repartition,
    TableScan,
    TopicScan,
    Union,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.walk import find_consumers

EVENTS = "{{ source('shop', 'events') }}"
HITS = "{{ source('shop', 'hits') }}"
USERS = "{{ source('shop', 'users') }}"


def below(node, kind):
    """Return the nodes of a kind that a node reads, over however many steps."""
    return [upstream for upstream in in_order([node]) if isinstance(upstream, kind) and upstream is not node]


def test_the_filter_after_a_map_stays_before_the_repartition():
    plan = optimized(
        plan_of(
            mapped=f"select substring(user_id, 1, 5) as region, type, at from {EVENTS}",
            kept="select * from {{ ref('mapped') }} where type = 'purchase'",
            counted="sink region: select region, count(*) as n from {{ ref('kept') }} group by region",
        )
    ).plan
    (repartition,) = nodes(plan, Repartition)
    assert below(repartition, Filter)
    assert not any(isinstance(node, Filter) for node in find_consumers(plan)[id(repartition)])


def test_a_value_change_after_a_key_change_still_shares_the_repartition():
    plan = optimized(
        plan_of(
            keyed=f"select substring(user_id, 1, 5) as region, value, at from {EVENTS}",
            changed="select region, value * 2 as value, at from {{ ref('keyed') }}",
            counted="sink region: select region, count(*) as n from {{ ref('changed') }} group by region",
            added="sink region: select region, sum(value) as s from {{ ref('changed') }} group by region",
        )
    ).plan
    assert count(plan, Repartition) == 1


def test_a_branch_after_a_key_change_shares_the_repartition():
    plan = optimized(
        plan_of(
            keyed=f"select substring(user_id, 1, 5) as region, type, value from {EVENTS}",
            few="sink region: select region, count(*) as n from {{ ref('keyed') }} where length(type) <= 4 group by 1",
            many="sink region: select region, count(*) as n from {{ ref('keyed') }} where length(type) > 4 group by 1",
        )
    ).plan
    (repartition,) = nodes(plan, Repartition)
    assert len(find_consumers(plan)[id(repartition)]) == 2


def test_a_filter_between_a_key_change_and_two_stateful_consumers():
    plan = optimized(
        plan_of(
            keyed=f"select substring(user_id, 1, 5) as region, type, value, at from {EVENTS}",
            kept="select * from {{ ref('keyed') }} where type <> 'scroll'",
            counted="sink region: select region, count(*) as n from {{ ref('kept') }} group by region",
            added="sink region: select region, sum(value) as s from {{ ref('kept') }} group by region",
        )
    ).plan
    (repartition,) = nodes(plan, Repartition)
    assert [str(c) for f in below(repartition, Filter) for c in f.conditions] == ["type <> 'scroll'"]


def test_two_filters_of_one_stream_become_one_before_the_shared_repartition():
    plan = optimized(
        plan_of(
            views=f"sink user_id: select user_id, count(*) as n from {EVENTS} where type = 'view' group by user_id",
            buys=f"sink user_id: select user_id, sum(value) as s from {EVENTS} where type = 'buy' group by user_id",
        )
    ).plan
    (repartition,) = nodes(plan, Repartition)
    assert [str(c) for f in below(repartition, Filter) for c in f.conditions] == [
        "(type = 'buy') or (type = 'view')"
    ]
    assert len(nodes(plan, Filter)) == 3  # each still asks for its own


def test_a_merge_of_one_stream_with_itself_counts_twice():
    plan = optimized(
        plan_of(
            twice=f"sink user_id: select user_id, type from {EVENTS} union all select user_id, type from {EVENTS}"
        )
    ).plan
    (union,) = nodes(plan, Union)
    assert len(union.inputs) == 2
    assert count(plan, TopicScan) == 1


def test_a_merge_of_a_repartitioned_and_a_plain_stream():
    merged = (
        f"select user_id as k, at from {EVENTS} union all select substring(visitor, 1, 5), seen from {HITS}"
    )
    written = plan_of(
        merged=merged,
        counted="sink k: select k, count(*) as n from {{ ref('merged') }} group by k",
        newest="sink k: select k, max(at) as at from {{ ref('merged') }} group by k",
    )
    plan = optimized(written).plan
    assert count(written, Repartition) == 2
    (repartition,) = nodes(plan, Repartition)
    assert below(repartition, Union)
    assert count(plan, Union) == 1


def test_two_aggregates_and_a_join_on_one_changed_key_share_one_repartition():
    plan = optimized(
        plan_of(
            keyed=f"select upper(user_id) as k, type, value, at from {EVENTS}",
            visits=f"select visitor as v, seen from {HITS}",
            counted="sink k: select k, count(*) as n from {{ ref('keyed') }} group by k",
            added="sink k: select k, sum(value) as s from {{ ref('keyed') }} group by k",
            met="""sink k: select a.k, b.seen from {{ ref('keyed') }} as a join {{ ref('visits') }} as b
                on a.k = b.v and b.seen between a.at - interval 1 hour and a.at""",
        )
    ).plan
    assert count(plan, Repartition) == 2  # one for either stream
    (join,) = nodes(plan, Join)
    readers = find_consumers(plan)[id(below(join, Repartition)[0])]
    assert len([r for r in readers if r is not join]) + 1 >= 3


def test_count_and_windowed_count_by_a_part_of_the_key_share_one_repartition():
    plan = optimized(
        plan_of(
            plain=f"sink k: select substring(user_id, 1, 5) as k, count(*) as n from {EVENTS} group by 1",
            windowed=f"""{{{{ config(materialized='sink', key=['k', 'w']) }}}}
                select substring(user_id, 1, 5) as k, unix_millis(window.start) as w,
                count(*) as n from {EVENTS} group by substring(user_id, 1, 5), window(at, '5 seconds')""",
        )
    ).plan
    (repartition,) = nodes(plan, Repartition)
    assert len(find_consumers(plan)[id(repartition)]) == 2
    assert count(plan, Decode) == 1


def test_two_identical_mappings_become_one():
    mapping = f"select user_id, score(type, value) as worth from {EVENTS}"
    plan = optimized(
        plan_of(
            one=mapping,
            other=mapping.replace("score(type", "SCORE( type"),
            big="sink user_id: select * from {{ ref('one') }} where worth > 100",
            small="sink user_id: select * from {{ ref('other') }} where worth <= 100",
        )
    ).plan
    calls = [i for p in nodes(plan, Project) for i in p.items if i.expression.functions]
    assert len(calls) == 1


def test_a_table_that_reads_a_topic_keeps_no_second_copy():
    plan = optimized(
        plan_of(
            one=f"sink user_id: select e.user_id, u.segment from {EVENTS} as e join {USERS} as u using (user_id)",
            two=f"sink user_id: select e.type, u.segment, e.user_id from {EVENTS} e left join {USERS} u using (user_id)",
        )
    ).plan
    assert count(plan, TableScan) == 1
    assert {scan.topics for scan in nodes(plan, TopicScan)} == {("events",)}


def test_a_select_that_keeps_the_key_needs_no_second_repartition():
    plan = optimized(
        plan_of(
            per_minute=f"""{{{{ config(emit='on_close') }}}} select user_id, window(at, '1 minute') as w, count(*) as n
                from {EVENTS} group by user_id, window(at, '1 minute')""",
            renamed="select user_id as u, n * 2 as n from {{ ref('per_minute') }}",
            total="sink u: select u, sum(n) as n from {{ ref('renamed') }} group by u",
            deduplicated="{{ config(materialized='sink', key='u', dedupe={'keys': ['u']}) }} select u from {{ ref('renamed') }}",
        )
    ).plan
    assert count(plan, Aggregate) == 2
    # `total` refines what closed windows give, in a query of its own; the dedupe follows them in theirs.
    assert count(plan, Repartition) == 3
