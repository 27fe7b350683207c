"""A plan with the nodes of another version's plan is the plan that would be built without it."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from support.evaluated_edits import Generator, files
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.outputs.kinds import Sink, Table
from millstream.plan.table import digest_nodes
from millstream.queries.topology import read_catalog, topology_of, written_models

EVENTS = "{{ source('shop', 'events') }}"
VIEW = f"select user_id, amount from {EVENTS} where amount > 1"
CLOSED = (
    "{{ config(emit='on_close') }}\nselect user_id, window_time(window) as t, max(value) as value "
    f"from {EVENTS} group by user_id, window(at, '10 seconds')"
)
COUNTS = (
    "{{ config(materialized='sink', key='user_id') }}\n"
    "select user_id, count(*) as n from {{ ref('v') }} group by user_id"
)


def catalog(folder, models):
    compiled = compile_project(project(folder, models), use_cache=False)
    return None if any(d.severity == "error" for d in compiled.diagnostics) else read_catalog(compiled)


def edited(catalog, id_):
    """Return a catalog in which a model has another option."""
    spec = catalog.models[id_]
    return replace(
        catalog, models=catalog.models | {id_: replace(spec, options=spec.options | {"group": "other"})}
    )


def taken_over(before, new):
    """Return the models with nodes of the old plan, after checking that the plan is the same without them."""
    plain, reused = written_models(new), written_models(new, before)
    assert digest_nodes(reused.plan.outputs) == digest_nodes(plain.plan.outputs)
    assert list(reused.roots) == list(plain.roots)
    assert digest_nodes(reused.roots.values()) == digest_nodes(plain.roots.values())
    outputs = {id(output) for output in before.written.outputs}
    roots = {id_ for id_, root in reused.roots.items() if root is before.roots.get(id_)}
    return roots, {output.model for output in reused.plan.outputs if id(output) in outputs}


def with_failing_sources(catalog):
    topics = {id_: replace(topic, on_bad_record="fail") for id_, topic in catalog.topics.items()}
    return replace(catalog, topics=topics)


def downstream(catalog, id_):
    """Return a model and all that read it, directly or not."""
    reached = {id_}
    for model in catalog.models.values():
        if not reached.isdisjoint(model.reads):
            reached.add(model.id)
    return reached


@pytest.mark.parametrize("change", [lambda catalog: catalog, with_failing_sources], ids=["as it is", "fails"])
def test_the_example_with_one_model_edited(change):
    catalog = change(read_catalog(compile_project(Path(__file__).parents[3])))
    before = topology_of(catalog)
    for id_ in catalog.models:
        roots, outputs = taken_over(before, edited(catalog, id_))
        assert roots == catalog.models.keys() - downstream(catalog, id_)
        # Where bad records are dropped, by which columns depends on all models.
        stored = {model_id for model_id in roots if catalog.models[model_id].materialization.stored_as}
        assert outputs >= stored if change is with_failing_sources else not outputs


@pytest.mark.parametrize("seed", range(4))
def test_random_edits(tmp_path, seed):
    generator = Generator(seed)
    old = catalog(tmp_path / "old", files(generator.project))
    *_, after = generator.edited()
    new = catalog(tmp_path / "new", files(after))
    if old is not None and new is not None:
        taken_over(topology_of(old), new)


def test_a_view_that_nothing_reads_any_more_is_an_output(tmp_path):
    old = catalog(tmp_path / "old", {"v": VIEW, "w": VIEW, "counts": COUNTS})
    new = catalog(tmp_path / "new", {"v": VIEW, "w": VIEW, "counts": COUNTS.replace("'v'", "'w'")})
    assert taken_over(topology_of(old), new) == ({"model.v", "model.w"}, set())


def test_a_reader_through_a_relay_topic_is_built_again(tmp_path):
    old = topology_of(catalog(tmp_path / "old", {"v": CLOSED, "counts": COUNTS, "w": VIEW}))
    (relay,) = (output for output in old.written.outputs if output.model == "model.v")
    assert isinstance(relay.materialization, Sink)
    new = catalog(tmp_path / "new", {"v": CLOSED, "counts": COUNTS, "w": f"{VIEW} and amount < 9"})
    assert taken_over(old, new) == ({"model.v"}, {"model.v"})
    without = catalog(tmp_path / "without", {"v": CLOSED, "w": VIEW})
    assert taken_over(old, without) == ({"model.v", "model.w"}, {"model.w"})
    assert taken_over(topology_of(without), new) == ({"model.v"}, set())


def test_what_a_model_reads_counts(tmp_path):
    base = catalog(tmp_path, {"v": VIEW, "counts": COUNTS})
    before = topology_of(base)
    assert taken_over(before, base) == ({"model.v", "model.counts"}, {"model.counts"})
    (name,) = (id_ for id_ in base.topics if id_.endswith(".events"))
    topics = base.topics | {name: replace(base.topics[name], first_topic="others")}
    assert taken_over(before, replace(base, topics=topics)) == (set(), set())
    target = base.target | {"timezone": "Europe/Berlin"}
    assert taken_over(before, replace(base, target=target)) == (set(), set())
    stored = replace(base.models["model.counts"], materialization=Table(unique_key=("user_id",)))
    models = base.models | {"model.counts": stored}
    assert taken_over(before, replace(base, models=models)) == ({"model.v"}, set())
