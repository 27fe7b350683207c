"""The example project at the root of the repository, as `explain` shows it."""

import os
from functools import cache
from pathlib import Path

from millstream.compile import compile_project
from millstream.explain.explanation import Explanation, ExplanationContext, explain_plans
from millstream.explain.formats.text import format_explanation
from millstream.explain.queries import explain_query, explain_separation
from millstream.explain.state_memory import StateStores
from millstream.queries.topology import Topology, compiled_topology, hints_of, physical_of

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = Path(__file__).parent / "golden" / "example.txt"


@cache
def topology() -> Topology:
    return compiled_topology(compile_project(ROOT, use_cache=False))


@cache
def example() -> Explanation:
    physical = physical_of(topology())
    about = ExplanationContext(
        "shop",
        "local",
        hints=hints_of(topology().catalog),
        queries=tuple(explain_query(query, topology().catalog, StateStores()) for query in physical.queries),
        separations=tuple(map(explain_separation, physical.separations)),
    )
    return explain_plans(topology().optimized, about)


def test_the_example() -> None:
    explained = format_explanation(example(), 140) + "\n"
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(explained, encoding="utf-8")
    assert explained == GOLDEN.read_text(encoding="utf-8")


def test_the_plan_reads_and_decodes_every_source_once() -> None:
    plan = explain_plans(topology().optimized, ExplanationContext())
    topics = [node.topic for node in plan.optimized.nodes if node.kind == "topic"]
    assert len(topics) == len(set(topics))
    assert plan.cost_optimized.decodes == len(topics)


def test_a_topic_that_several_queries_read_counts_for_each() -> None:
    topics = [node.topic for node in example().optimized.nodes if node.kind == "topic"]
    assert example().cost_optimized.reads == len(topics)


def test_no_topic_of_the_project_is_read_back() -> None:
    assert example().cost_written.topics_read_back > 0
    assert example().cost_optimized.topics_read_back == 0


def test_there_is_one_shuffle_for_each_key() -> None:
    keys = [node.id for node in example().optimized.nodes if node.kind == "repartition"]
    assert sorted(keys) == [
        "hourly_user_activity.by_user_id",
        "region_hit_counts.by_region",
        "user_activity_totals.by_user_id",
    ]


def test_all_of_it_is_understood() -> None:
    assert not any(node.kind == "sql" for node in example().written.nodes)


def test_python_runs_once_on_the_rows_that_filters_leave() -> None:
    calls = {call.function: (call.times, call.rows) for call in example().calls}
    assert calls["calculate_score"] == (
        1,
        "rows of storefront_events.decode where type not in ('scroll', 'hover')",
    )
