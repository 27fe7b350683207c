"""Which models share a query, and why others do not."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from planned_projects import planned
from support.building import sink, stored
from support.plans import by, dedupe, group, lookup, seed, select, sql, topic, union, watermark, where
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.core.node_id import NodeId
from millstream.outputs.kinds import View
from millstream.plan.nodes import RowCheck
from millstream.queries.topology import compiled_topology, models_of_queries, physical_of, topology_of
from millstream.queries.values import DeadLetters, PerBatch, ToKafka

EXAMPLE = Path(__file__).parents[3]


def names(physical):
    return [
        (query.name, [t.model for t in query.outputs if not isinstance(t, DeadLetters)])
        for query in physical.queries
    ]


def why(physical):
    return {separation.model: separation.why for separation in physical.separations}


def test_stateless_sinks_of_one_source_share_a_query_whatever_each_decodes():
    plan = planned(
        sink(where(topic("a"), "a > 1"), "one", "a"),
        sink(select(where(topic("a", "b"), "b > 1"), "b"), "two", "b"),
    )
    assert names(plan) == [("events_topics", ["model.one", "model.two"])]
    (query,) = plan.queries
    assert [c.name for c in query.sources[0].columns] == ["a", "b"]
    assert query.sql.count("decode_json(") == 1
    assert query.realtime == ()


def test_a_query_is_called_the_same_when_models_come_and_go():
    assert names(planned(sink(topic("a"), "one")))[0][0] == "events_topics"


def test_tables_and_topics_of_one_source_are_apart():
    plan = planned(
        sink(topic("a"), "one"),
        stored(topic("a"), "two", "a"),
        stored(where(topic("a"), "a > 3"), "three", "a"),
    )
    assert names(plan) == [("events_topics", ["model.one"]), ("events_tables", ["model.two", "model.three"])]
    assert isinstance(plan.queries[1].deliver, PerBatch)
    assert why(plan)["model.one"] == "a table is written batch by batch, a topic is not"


def test_a_python_function_is_called_for_the_rows_of_its_own_model():
    plan = planned(sink(topic("a"), "one"), sink(select(where(topic("a"), "a > 1"), "b = py_f(a)"), "two"))
    assert names(plan) == [("events_topics", ["model.one", "model.two"])]
    (query,) = plan.queries
    assert "py_f_where(a > 1, a) as _py_f" in query.sql
    assert query.functions == ("py_f",)
    assert query.realtime == ("py_f() is a Python function",)


def test_models_above_one_call_share_it():
    scored = select(topic("a"), "a", "b = py_f(a)", label="scored")
    plan = planned(sink(scored, "one"), sink(where(scored, "b > 1"), "two"))
    assert names(plan) == [("events_topics", ["model.one", "model.two"])]
    assert plan.queries[0].sql.count("py_f_where(") == 1


def test_a_call_is_made_for_the_rows_that_another_one_lets_through():
    plan = planned(sink(select(where(topic("a"), "py_f(a) > 1"), "b = py_g(a)"), "one"))
    assert "py_f_where(true, a) as _py_f" in plan.queries[0].sql
    assert "py_g_where(_py_f.value > 1, a) as _py_g" in plan.queries[0].sql


def test_a_call_that_two_models_make_is_made_once_for_the_rows_of_both():
    plan = planned(
        sink(select(where(topic("a", "b"), "a > 1"), "c = py_f(a)"), "one"),
        sink(select(where(topic("a", "b"), "b > 2"), "d = py_f(a) + 1"), "two"),
        sink(select(where(topic("a", "b"), "a > 1", "b > 2"), "e = py_f(a)"), "three"),
    )
    sql = plan.queries[0].sql
    assert sql.count("py_f_where(") == 1
    assert "py_f_where((a > 1) or (b > 2), a) as _py_f" in sql


def test_calls_that_wait_for_each_other_are_made_for_each_model():
    plan = planned(
        sink(select(where(topic("a", "b"), "a > 1", "py_f(a) > 1"), "c = py_g(a)"), "one"),
        sink(select(where(topic("a", "b"), "b > 2", "py_g(a) > 1"), "d = py_f(a)"), "two"),
    )
    sql = plan.queries[0].sql
    assert "py_f_where(a > 1, a) as _py_f" in sql
    assert "py_g_where(b > 2, a) as _py_g_" in sql


def test_a_call_within_a_call_comes_first():
    plan = planned(sink(select(topic("a"), "b = py_f(py_g(a) + 1)"), "one"))
    sql = plan.queries[0].sql
    assert sql.index("py_g_where(true, a) as _py_g") < sql.index("py_f_where(true, _py_g.value + 1) as _py_f")


def test_a_call_in_a_struct_gives_no_field_its_name():
    plan = planned(sink(select(topic("a"), "b = struct(py_f(a))"), "one"))
    assert "struct(coalesce(_py_f.value))" in plan.queries[0].sql


def test_a_row_on_which_a_function_fails_stops_the_query_and_says_where_it_is():
    plan = planned(sink(select(topic("a"), "b = py_f(a)"), "one"))
    sql = plan.queries[0].sql
    assert "raise_error(concat('a function failed: model one, topic ', _record.topic, ', partition '" in sql


def test_a_row_on_which_a_function_fails_is_left_out_where_bad_records_are():
    events = replace(topic("a"), on_bad_record="skip")
    plan = planned(sink(select(events, "b = py_f(a)"), "one"))
    assert "if(_py_f.error is null, named_struct(" in plan.queries[0].sql
    assert "raise_error" not in plan.queries[0].sql


def test_a_row_on_which_a_function_fails_goes_to_the_dead_letters():
    output = replace(sink(select(topic("a"), "b = py_f(a)"), "one"), options={"on_bad_record": "dead_letter"})
    (query,) = planned(output).queries
    assert "if(_py_f.error is not null, named_struct('topic', 'events.dead_letter'" in query.sql
    assert query.outputs[-1] == DeadLetters(NodeId("source", "events"), "events.dead_letter")
    assert query.sources[0].headers


def test_a_query_has_one_producer():
    quick = sink(topic("a"), "quick", producer={"linger.ms": 0})
    plan = planned(sink(topic("a"), "one"), quick)
    assert names(plan) == [("events_topics", ["model.one"]), ("events_topics_", ["model.quick"])]
    assert why(plan)["model.quick"] == "its producer options differ, and a query has one producer"


def test_a_lookup_is_a_query_of_its_own():
    plan = planned(
        sink(topic("a"), "one"), sink(lookup(topic("a"), seed("a", "name"), "a = r_a", "left"), "two")
    )
    assert [name for name, _ in names(plan)] == ["events_topics", "two"]
    assert plan.queries[1].reads[0].relation == "seed.products"


def test_aggregates_over_one_repartition_share_a_query():
    together = by(topic("a", "b"), "a")
    plan = planned(
        sink(group(together, ("a",), "n = count(*)"), "counts", "a"),
        sink(group(together, ("a",), "top = max(b)"), "tops", "a"),
    )
    assert names(plan) == [("events_by_a", ["model.counts", "model.tops"])]
    (query,) = plan.queries
    assert isinstance(query.deliver, ToKafka)
    assert (query.kind, query.output_mode) == ("stateful", "update")
    assert query.sql.count("repartition(2, a)") == 1
    assert len(query.signature.operators) == 2


def test_a_single_aggregate_keeps_its_partial_step():
    plan = planned(sink(group(by(topic("a"), "a"), ("a",), "n = count(*)"), "counts", "a"))
    assert plan.queries[0].kind == "single"
    assert "repartition" not in plan.queries[0].sql


def test_outputs_above_one_state_keep_it_once():
    counts = group(by(topic("a"), "a"), ("a",), "n = count(*)", label="counts")
    plan = planned(sink(counts, "all_counts", "a"), sink(where(counts, "n > 5"), "high_counts", "a"))
    assert names(plan) == [("counts", ["model.all_counts", "model.high_counts"])]
    assert len(plan.queries[0].signature.operators) == 1
    assert plan.queries[0].sql.count("group by") == 1


def test_what_opens_at_once_and_what_waits_for_the_end_are_apart():
    together = by(watermark(topic("a", "ts")), "a")
    keys = ("window = window(ts, '1 hour')", "a")
    plan = planned(
        sink(group(together, keys, "n = count(*)"), "early", "window", "a"),
        sink(group(together, keys, "n = count(*)", emit="on_close"), "late", "window", "a"),
    )
    assert [q.output_mode for q in plan.queries] == ["update", "append"]
    assert "a query has one output mode" in why(plan)["model.late"]


def test_state_above_shared_state_is_a_query_of_its_own():
    first = dedupe(by(topic("a", "b"), "a"), "a")
    plan = planned(sink(first, "firsts", "a"), sink(dedupe(by(first, "b"), "b"), "pairs", "b"))
    assert len(plan.queries) == 2
    assert "whose state one query would keep twice" in why(plan)["model.pairs"]


@pytest.mark.parametrize(
    ("node", "options", "why"),
    [
        (topic("a"), {}, ()),
        (topic("a", "ts"), {"timestamp": "ts"}, ("records with their own timestamp are written batch by batch",)),
        (
            select(lookup(topic("a"), seed("a", "name"), "a = r_a"), "a", "name"), {},
            ("rows that may become several records are written batch by batch",),
        ),
    ],
)  # fmt: skip
def test_spark_writes_batch_by_batch_what_real_time_mode_then_refuses(node, options, why):
    (query,) = planned(sink(node, "m", **options)).queries
    assert query.realtime == why


def test_rows_beside_a_state_are_not_read_with_what_it_gives():
    """Below the one node that all rows come through, each batch would be deduplicated on its own."""
    events = topic("a", "b")
    first = dedupe(by(events, "a"), "a")
    both = union(select(first, "a"), select(events, "a"))
    plan = planned(sink(first, "firsts", "a"), sink(both, "both"))
    assert names(plan) == [("firsts", ["model.firsts"]), ("both", ["model.both"])]
    assert "no step combines them" in why(plan)["model.both"]
    assert all("DedupeView" in {type(step).__name__ for step in query.steps} for query in plan.queries)


def test_one_group_by_name_and_apart_from_others():
    plan = planned(
        sink(topic("a"), "one"),
        sink(topic("a"), "two", group="mine"),
        sink(topic("a"), "three", group="mine"),
    )
    assert names(plan) == [("events_topics", ["model.one"]), ("mine", ["model.two", "model.three"])]
    assert why(plan)["model.one"] == "its option 'group' is 'none'"


def test_grouping_can_be_off():
    together = by(topic("a", "b"), "a")
    outputs = (
        sink(topic("a"), "one"), sink(topic("a"), "two"),
        sink(group(together, ("a",), "n = count(*)"), "counts", "a"), sink(group(together, ("a",), "n = max(b)"), "tops", "a"),
    )  # fmt: skip
    assert len(planned(*outputs, grouping="off").queries) == 4
    assert len(planned(*outputs, grouping="stateless").queries) == 3
    assert len(planned(*outputs).queries) == 2


def test_a_union_reads_both_sources():
    plan = planned(sink(union(topic("a"), topic("a", name="others")), "all"))
    assert [s.stream for s in plan.queries[0].sources] == ["events", "others"]


def test_a_row_of_a_table_that_fails_a_data_test_is_a_json_record_of_its_dead_letters():
    check = RowCheck("small", "dead_letter", sql("b > 1"))
    (query,) = planned(replace(stored(topic("a", "b"), "one", "a"), checks=(check,))).queries
    _, letter = query.deliver.deliveries
    assert letter.target == DeadLetters(NodeId("model", "one"), "one.dead_letter")
    assert "encode_json(" in letter.sql


def test_one_query_sends_the_dead_letters_of_a_source():
    events = replace(topic("a", "b"), on_bad_record="dead_letter")
    narrow = replace(topic("a"), on_bad_record="dead_letter")
    looked_up = lookup(events, seed("a", "name"), "a = r_a", "left")
    plan = planned(sink(select(narrow, "a"), "one"), sink(select(looked_up, "b"), "two"))
    first, second = plan.queries
    assert first.outputs[-1] == DeadLetters(NodeId("source", "events"), "events.dead_letter")
    assert [c.name for c in first.sources[0].columns] == ["a", "b"]  # else nobody sees a bad b
    assert not any(isinstance(t, DeadLetters) for t in second.outputs)
    assert "_bad is null" in second.sql


def test_dead_letters_of_a_source_without_a_fan_out_have_a_query():
    events = replace(topic("a"), on_bad_record="dead_letter")
    plan = planned(sink(group(by(events, "a"), ("a",), "n = count(*)"), "counts", "a"))
    assert [q.name for q in plan.queries] == ["counts", "events_dead_letters"]


def test_views_that_nobody_reads_need_no_query():
    plan = planned(replace(sink(topic("a"), "seen"), materialization=View()))
    assert plan.queries == ()


def test_thousands_of_models_are_planned_in_seconds():
    import time

    outputs = [sink(where(topic("a", name=f"t{i % 40}"), f"a > {i}"), f"m{i}") for i in range(4000)]
    shared = [by(topic("a", "b", name=f"s{i}"), "a") for i in range(50)]
    outputs += [sink(group(shared[i % 50], ("a",), f"n = max(b + {i})"), f"g{i}", "a") for i in range(1000)]
    start = time.process_time()
    assert len(planned(*outputs).queries) == 90
    assert time.process_time() - start < 10


def test_readers_of_readers_above_a_chain_of_states_share_its_query(tmp_path):
    """Conditions over computed columns are part of the one SELECT over the rows that all of them read."""
    sink_of = "{{{{ config(materialized='sink'{}) }}}} ".format
    models = {
        "clean": "{{ config(materialized='view', dedupe={'keys': ['user_id', 'at'], 'within': '1 day'}) }} "
        "select user_id, type, at from {{ source('shop', 'events') }}",
        "minutes": sink_of(", emit='on_close'")
        + "select window(at, '1 minute').start as at, type, count(*) as n "
        "from {{ ref('clean') }} group by window(at, '1 minute'), type",
        "more": sink_of("") + "select at, type, n + 1 as n from {{ ref('minutes') }} where n > 2",
        "most": sink_of("") + "select at, type, n from {{ ref('more') }} where n > 4",
    }
    (query,) = physical_of(compiled_topology(compile_project(project(tmp_path, models)))).queries
    assert query.stored.keys() == {"model.minutes", "model.more", "model.most"}


@pytest.mark.parametrize("grouping", ["all", "stateless", "off"])
def test_the_models_of_queries_are_those_of_their_plans(grouping):
    """Also of views that are part of several queries, in the repository's own project."""
    compiled = compile_project(EXAMPLE, use_cache=False)
    topology = compiled_topology(compiled)
    catalog = replace(topology.catalog, target=topology.catalog.target | {"grouping": grouping})
    topology = topology_of(catalog)
    computed = models_of_queries(topology)
    for query in physical_of(topology).queries:
        assert computed[query.name] == set(query.models), query.name
    assert any(sum(model in models for models in computed.values()) > 1 for model in catalog.models)
