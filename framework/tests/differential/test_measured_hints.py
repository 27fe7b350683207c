"""What builds count becomes hints: shares of rows and rates, and never another state."""

import json
import logging
from random import Random

import pytest
from generator import project as generated
from support.plan_text import plan_text
from support.sql_plans import plan_of
from support.sql_plans import project as written

from millstream.compile import compile_project
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Filter
from millstream.plan.optimizer.context import PlanHints
from millstream.queries.topology import (
    compiled_topology,
    physical_of,
    read_catalog,
    with_figures,
    written_plan,
)
from millstream.results.run_results import (
    Arrivals,
    FilterCounts,
    ModelResult,
    RunResults,
    TotalCounts,
    read_results,
    write_results,
)
from millstream.results.selectivity import MeasuredFigures, measure_figures, with_counts, with_measured

EVENTS = "{{ source('shop', 'events') }}"
SOURCE = NodeId("source", "shop.events")


def results(*models, started="2024-01-01T00:00:00+00:00", **more):
    return RunResults("build", "shop", "local", started, 1.0, models, **more)


def result(name, read, written, query="events_topics", status="success", source=SOURCE):
    return ModelResult(NodeId("model", name), status, query, reads={source: read}, rows_written=written)


def keeps(plan, *models, before=None):
    return dict(measure_figures(with_counts(results(*models), before, plan), plan).keeps)


def test_the_share_that_one_filter_keeps():
    plan = plan_of(purchases=f"sink: select user_id from {EVENTS} where type = 'purchase'")
    assert keeps(plan, result("purchases", 1000, 120)) == {"model.purchases": 0.12}


def test_the_share_of_a_filter_over_another_one_is_told_by_a_model_that_has_the_other_alone():
    plan = plan_of(
        good=f"select user_id, type, amount from {EVENTS} where type <> 'hover'",
        all_good="sink: select user_id from {{ ref('good') }}",
        large="sink: select user_id from {{ ref('good') }} where amount > 10",
    )
    shares = keeps(plan, result("all_good", 1000, 500), result("large", 1000, 100))
    assert shares == {"model.good": 0.5, "model.large": 0.2}


def test_two_filters_that_nothing_tells_apart_say_nothing():
    plan = plan_of(
        good=f"select user_id, type, amount from {EVENTS} where type <> 'hover'",
        large="sink: select user_id from {{ ref('good') }} where amount > 10",
    )
    assert keeps(plan, result("large", 1000, 100)) == {}


@pytest.mark.parametrize(
    "sql",
    [
        f"sink user_id: select user_id, count(*) as n from {EVENTS} where type = 'a' group by user_id",
        f"sink: select distinct user_id from {EVENTS} where type = 'a'",
        f"sink: select user_id, explode(tags) as tag from {EVENTS} where type = 'a'",
        f"sink: select e.user_id from {EVENTS} as e join {{{{ ref('products') }}}} as p on p.product_id = e.type where e.type = 'a'",
        f"sink: select user_id from {EVENTS} where type = 'a' union all select visitor from {{{{ source('shop', 'hits') }}}}",
    ],
)  # fmt: skip
def test_rows_that_are_made_joined_or_gathered_tell_nothing_of_a_filter(sql):
    assert keeps(plan_of(m=sql), result("m", 1000, 100)) == {}


def test_a_topic_that_the_project_writes_and_does_not_read_back():
    plan = plan_of(
        raised=f"sink: select user_id, amount from {EVENTS}",
        large="sink: select user_id from {{ ref('raised') }} where amount > 10",
    )
    assert keeps(plan, result("large", 1000, 100)) == {"model.large": 0.1}
    assert keeps(plan, result("large", 200, 100, source=NodeId("model", "raised"))) == {"model.large": 0.5}


def test_builds_are_added_up():
    plan = plan_of(purchases=f"sink: select user_id from {EVENTS} where type = 'purchase'")
    first = with_counts(results(result("purchases", 60, 60)), None, plan)
    assert measure_figures(first, plan).keeps == {}, "too few"
    assert keeps(plan, result("purchases", 60, 0), before=first) == {"model.purchases": 0.5}


def test_a_build_without_new_records_changes_nothing():
    plan = plan_of(purchases=f"sink: select user_id from {EVENTS} where type = 'purchase'")
    first = with_counts(results(result("purchases", 1000, 120)), None, plan)
    assert keeps(plan, result("purchases", 0, 0), before=first) == {"model.purchases": 0.12}


def test_a_model_that_changed_is_counted_anew():
    plan = plan_of(purchases=f"sink: select user_id from {EVENTS} where type = 'purchase'")
    first = with_counts(results(result("purchases", 1000, 120)), None, plan)
    edited = plan_of(purchases=f"sink: select user_id from {EVENTS} where type = 'view'")
    assert measure_figures(first, edited) == MeasuredFigures()
    assert keeps(edited, result("purchases", 100, 50), before=first) == {"model.purchases": 0.5}


def test_a_model_above_a_topic_is_stale_when_that_model_changes():
    large = "sink: select user_id from {{ ref('raised') }} where amount > 10"
    plan = plan_of(raised=f"sink: select user_id, amount from {EVENTS}", large=large)
    recorded = with_counts(results(result("large", 1000, 100)), None, plan)
    edited = plan_of(raised=f"sink: select user_id, amount + 1 as amount from {EVENTS}", large=large)
    assert measure_figures(recorded, edited).keeps == {}


def test_what_a_model_gets_when_it_joins_a_query_is_not_counted():
    plan = plan_of(
        a=f"sink: select user_id from {EVENTS} where type = 'a'",
        b=f"sink: select user_id from {EVENTS} where type = 'b'",
    )
    first = with_counts(results(result("a", 1000, 100)), None, plan)
    joined = with_counts(results(result("a", 0, 0), result("b", 200, 900)), first, plan)
    assert set(measure_figures(joined, plan).keeps) == {"model.a"}


def test_failed_models_are_not_counted():
    plan = plan_of(a=f"sink: select user_id from {EVENTS} where type = 'a'")
    assert keeps(plan, result("a", 1000, 100, status="error")) == {}


def rate(plan, first, second):
    before = with_counts(first, None, plan)
    return dict(measure_figures(with_counts(second, before, plan), plan).rows_per_second)


def test_records_that_came_between_two_builds():
    plan = plan_of(a=f"sink: select user_id from {EVENTS}")
    later = results(result("a", 1200, 1200), started="2024-01-01T00:10:00+00:00")
    assert rate(plan, results(result("a", 9000, 9000)), later) == {SOURCE: 2.0}


def test_a_query_that_is_new_or_reads_anew_does_not_tell_what_came():
    plan = plan_of(a=f"sink: select user_id from {EVENTS}", b=f"sink: select type from {EVENTS}")
    first, started = results(result("a", 9000, 9000)), "2024-01-01T00:10:00+00:00"
    new = results(result("a", 600, 600), result("b", 9600, 9600, query="other"), started=started)
    assert rate(plan, first, new) == {SOURCE: 1.0}
    assert rate(plan, first, results(result("a", 9600, 9600), started=started, full_refresh=True)) == {}


def test_a_short_time_tells_no_rate():
    plan = plan_of(a=f"sink: select user_id from {EVENTS}")
    later = results(result("a", 1200, 1200), started="2024-01-01T00:00:02+00:00")
    assert rate(plan, results(result("a", 1, 1)), later) == {}


def test_yaml_wins():
    declared = PlanHints(keeps={NodeId("model", "a"): 0.9}, rows_per_second={SOURCE: 5.0})
    merged = with_measured(
        declared,
        MeasuredFigures(
            keeps={NodeId("model", "a"): 0.1, NodeId("model", "b"): 0.2}, rows_per_second={SOURCE: 1.0}
        ),
    )
    assert (merged.keeps, merged.rows_per_second) == ({"model.a": 0.9, "model.b": 0.2}, {SOURCE: 5.0})


# -- the file


def test_results_are_read_as_they_were_written(tmp_path):
    counts = FilterCounts(SOURCE, 10, 1, "d")
    recorded = results(
        result("a", 1, 1), counted=TotalCounts({NodeId("model", "a"): counts}, {SOURCE: Arrivals(1, 2.0)})
    )
    write_results(tmp_path / "target", recorded)
    assert read_results(tmp_path / "target", "shop", "local") == recorded


@pytest.mark.parametrize("text", ["", "{", "[]", '{"command": 1}', "\udce4"])
def test_results_that_cannot_be_read_are_left_alone(tmp_path, text, caplog):
    (tmp_path / "run_results.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    with caplog.at_level(logging.DEBUG):
        assert read_results(tmp_path, "shop", "local") is None
    assert "is not used" in caplog.text


def test_results_of_another_target_are_not_used(tmp_path):
    write_results(tmp_path, results())
    assert read_results(tmp_path, "shop", "production") is None
    assert read_results(tmp_path / "nowhere", "shop", "local") is None


def test_results_of_an_older_version_are_read(tmp_path):
    write_results(tmp_path, results(result("a", 1, 1)))
    data = json.loads((tmp_path / "run_results.json").read_text())
    data["later"] = 1
    del data["counted"], data["results"][0]["reads"], data["results"][0]["rows_written"]
    (tmp_path / "run_results.json").write_text(json.dumps(data))
    assert read_results(tmp_path, "shop", "local").results[0].id == "model.a"


# -- what they change

HINTS = "models:\n  - {name: good, hints: {keeps: 0.5}}\n  - {name: better, hints: {keeps: 0.4}}\n"


def compiled(folder, models, hints=""):
    root = written(folder, models)
    (root / "models/hints.yml").write_text(hints)
    return compile_project(root, use_cache=False)


def conditions(topology, model):
    """Return the conditions on the way to a model, in the order in which they are asked."""
    output = next(output for output in topology.plan.outputs if output.model == model)
    node, texts = output.input, []
    while node.inputs:
        if isinstance(node, Filter):
            texts = [condition.text for condition in node.conditions] + texts
        node = node.inputs[0]
    return texts


@pytest.mark.parametrize(
    ("written", "expected"),
    [(50, ["amount > 10", "type <> 'hover'"]), (450, ["type <> 'hover'", "amount > 10"])],
)
def test_what_keeps_fewer_rows_is_asked_first(tmp_path, written, expected):
    """Half of the rows pass the lower filter, as YAML says; the upper one keeps a tenth of these, or nearly all."""
    models = {
        "good": f"select user_id, type, amount from {EVENTS} where type <> 'hover'",
        "large": "{{ config(materialized='sink') }} select user_id, type from {{ ref('good') }} where amount > 10",
    }
    project = compiled(tmp_path, models, HINTS.splitlines()[0] + "\n" + HINTS.splitlines()[1])
    recorded = with_counts(results(result("large", 1000, written)), None, written_plan(read_catalog(project)))
    assert conditions(compiled_topology(project), "model.large") == ["type <> 'hover'", "amount > 10"]
    assert conditions(compiled_topology(project, recorded), "model.large") == expected


def state(physical):
    """Return all that decides whether queries go on from their checkpoints."""
    return [
        (q.name, q.kind, q.models, q.output_mode, q.signature) for q in physical.queries
    ], physical.lock.groups


def same_state(folder, models, seed):
    """Check that no shares of filters change a query's state or name; tell whether they changed the plan."""
    plain = compiled_topology(compiled(folder, models))
    other = with_figures(plain, figures(plain.written, seed))
    assert state(physical_of(plain)) == state(physical_of(other)), seed
    return plan_text(plain.plan) != plan_text(other.plan)


GOOD = f"(select user_id, type, amount, value, at from {EVENTS} where amount <> 7)"
KEYED = "materialized='table', unique_key='user_id'"
ENDS = {
    "t": f"{{{{ config({KEYED}) }}}} select user_id, sum(value) as n from",
    "w": "{{ config(materialized='sink', emit='on_close') }} select window(at, '1 minute').start as s, count(*) as n from",
    "d": "{{ config(materialized='sink', dedupe={'keys': ['user_id']}) }} select user_id, type from",
    "s": "{{ config(materialized='sink') }} select user_id from",
}
TAILS = {
    "t": " group by user_id having sum(value) > 1 and count(*) > 2",
    "w": " group by window(at, '1 minute') having count(*) > 1 and max(value) > 3",
}


def stacks(*, alike):
    """Return views with a filter each on one another, and what reads only the last of each stack."""
    models = {}
    for index, (name, head) in enumerate(ENDS.items()):
        below = EVENTS
        unlike = 0 if alike else index
        for number, condition in enumerate(
            [f"amount <> {unlike}", "type = 'a'", "value > 2", "length(user_id) > 3"]
        ):
            models[f"{name}{number}"] = (
                f"select user_id, type, amount, value, at from {below} where {condition} or at is null"
            )
            below = f"{{{{ ref('{name}{number}') }}}}"
        models[name] = f"{head} {below} where user_id <> 'x' {TAILS.get(name, '')}"
    return models


def figures(plan, seed):
    """Return results in which everything is known, whatever builds could have told."""
    random = Random(seed)
    names = {model for node in plan.order if isinstance(node, Filter) for model in node.models}
    return MeasuredFigures(keeps={name: round(random.random(), 2) for name in sorted(names)})


@pytest.mark.parametrize("alike", [True, False])
def test_no_figure_changes_what_a_query_keeps_or_is_called(tmp_path, alike):
    changed = [same_state(tmp_path / str(seed), stacks(alike=alike), seed) for seed in range(3)]
    assert any(changed), "the figures changed no order at all: nothing was tested"


def test_no_figure_changes_the_state_of_random_projects(tmp_path):
    for seed in range(12):
        same_state(tmp_path / str(seed), generated(seed), seed)


@pytest.mark.long
def test_no_figure_changes_the_state_of_many_random_projects(tmp_path):
    changed = [same_state(tmp_path / str(seed), generated(seed), seed) for seed in range(300)]
    assert any(changed)


def test_the_same_figures_give_the_same_plan(tmp_path):
    plain = compiled_topology(compiled(tmp_path, stacks(alike=False)))
    first, second = (plan_text(with_figures(plain, figures(plain.written, 1)).plan) for _ in range(2))
    assert first == second
