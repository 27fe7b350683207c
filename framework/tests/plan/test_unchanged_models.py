"""A plan with the nodes of another version's plan is the plan that would be built without it."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from support.evaluated import Generator, files
from support.written import project

from millstream.compile import compile_project
from millstream.plan.table import shape
from millstream.project.materialization import Sink, Table
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
    found = compile_project(project(folder, models), use_cache=False)
    return None if any(d.severity == "error" for d in found.diagnostics) else read_catalog(found)


def edited(found, id_):
    """Return a catalog in which a model has another option."""
    spec = found.models[id_]
    return replace(
        found, models=found.models | {id_: replace(spec, options=spec.options | {"group": "other"})}
    )


def taken_over(before, new):
    """Return the models with nodes of the old plan, after checking that the plan is the same without them."""
    plain, found = written_models(new), written_models(new, before)
    assert shape(found.plan.outputs) == shape(plain.plan.outputs)
    assert list(found.roots) == list(plain.roots)
    assert shape(found.roots.values()) == shape(plain.roots.values())
    outputs = {id(output) for output in before.written.outputs}
    roots = {id_ for id_, root in found.roots.items() if root is before.roots.get(id_)}
    return roots, {output.model for output in found.plan.outputs if id(output) in outputs}


def with_failing_sources(found):
    topics = {id_: replace(topic, on_bad_record="fail") for id_, topic in found.topics.items()}
    return replace(found, topics=topics)


def downstream(found, id_):
    """Return a model and all that read it, directly or not."""
    reached = {id_}
    for each in found.models.values():
        if not reached.isdisjoint(each.reads):
            reached.add(each.id)
    return reached


@pytest.mark.parametrize("change", [lambda found: found, with_failing_sources], ids=["as it is", "fails"])
def test_the_example_with_one_model_edited(change):
    found = change(read_catalog(compile_project(Path(__file__).parents[3])))
    before = topology_of(found)
    for id_ in found.models:
        roots, outputs = taken_over(before, edited(found, id_))
        assert roots == found.models.keys() - downstream(found, id_)
        # Where bad records are dropped, by which columns depends on all models.
        stored = {each for each in roots if found.models[each].materialization.stored_as}
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
    found = catalog(tmp_path, {"v": VIEW, "counts": COUNTS})
    before = topology_of(found)
    assert taken_over(before, found) == ({"model.v", "model.counts"}, {"model.counts"})
    (name,) = (id_ for id_ in found.topics if id_.endswith(".events"))
    topics = found.topics | {name: replace(found.topics[name], topic="others")}
    assert taken_over(before, replace(found, topics=topics)) == (set(), set())
    target = found.target | {"timezone": "Europe/Berlin"}
    assert taken_over(before, replace(found, target=target)) == (set(), set())
    stored = replace(found.models["model.counts"], materialization=Table(unique_key=("user_id",)))
    models = found.models | {"model.counts": stored}
    assert taken_over(before, replace(found, models=models)) == ({"model.v"}, set())
