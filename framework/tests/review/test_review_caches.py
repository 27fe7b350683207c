"""What reviews keep for the next one changes nothing of what they say."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from support.evaluated_edits import Generator, files
from support.long import EXAMPLES
from support.reviews import version, written
from support.sql_plans import project
from test_which_queries_differ import TOTALS, random_edit, with_counts

from millstream.compile import compile_project
from millstream.core.encoding import to_json
from millstream.plan.nodes import Plan
from millstream.queries.lock import AssignedGroup
from millstream.queries.query_cache import QueryCache, QueryKeys
from millstream.queries.topology import compiled_topology, physical_of
from millstream.queries.values import OutputDelivery, PerBatch, PhysicalSettings
from millstream.review.compare import review_versions
from millstream.review.plan_cache import load_plan, load_queries, save_plan
from millstream.review.rebuild_cost import ReplayFigures
from millstream.review.version import version_of

VIEW = "select user_id, amount from {{ source('shop', 'events') }} where amount > %s"
MODELS = {
    "v": VIEW % 1,
    "totals": TOTALS % "{{ ref('v') }}",
    "sums": TOTALS % "{{ source('shop', 'events') }}",
}


def compiled(folder, models):
    project = compile_project(written(folder, models), use_cache=False)
    return (
        None if any(d.severity == "error" for d in project.diagnostics) else version_of("it", project, folder)
    )


def edits(seed, count):
    """Return a project and edits of it, each on top of the one before."""
    generator = Generator(seed)
    projects = [generator.project]
    for _ in range(count):
        *_, generator.project = generator.edited()
        projects.append(generator.project)
    return [with_counts(files(project)) for project in projects]


def check(folder, seed):
    versions = [compiled(folder / str(n), models) for n, models in enumerate(edits(seed, 3))]
    old, *rest = [version for version in versions if version]
    caches = folder / "older", folder / "newer"
    for now in rest:
        plain = review_versions(old, now, ReplayFigures())
        cached = review_versions(
            replace(old, cache=caches[0]), replace(now, cache=caches[1]), ReplayFigures()
        )
        assert to_json(cached) == to_json(plain), seed


@pytest.mark.parametrize("seed", range(8))
def test_random_edits_one_after_another_are_told_as_without_caches(tmp_path, seed):
    check(tmp_path, seed)


@pytest.mark.long
def test_many_random_edits_one_after_another(tmp_path):
    for seed in range(8, 8 + EXAMPLES // 80):
        check(tmp_path / str(seed), seed)


@pytest.mark.parametrize("seed", range(4))
def test_the_plan_of_a_version_is_kept_as_it_is(tmp_path, seed):
    for index, models in enumerate(random_edit(seed)):
        if (now := compiled(tmp_path / str(index), models)) is not None:
            plain = compiled_topology(now.compiled)
            save_plan(tmp_path, now.compiled, plain)
            loaded = load_plan(tmp_path, now.compiled)
            assert physical_of(loaded) == physical_of(plain)
            assert [step.changes for step in loaded.optimized.steps] == [
                s.changes for s in plain.optimized.steps
            ]
            assert list(loaded.roots) == list(plain.roots)


@pytest.mark.parametrize("seed", range(4))
def test_queries_that_are_known_are_as_they_would_be_made(tmp_path, seed):
    queries = QueryCache()
    for index, models in enumerate(random_edit(seed)):
        if (now := compiled(tmp_path / str(index), models)) is not None:
            plain = compiled_topology(now.compiled)
            first = physical_of(replace(plain, cache=queries))
            queries = QueryCache(queries.used)
            assert physical_of(replace(plain, cache=queries)) == first == without_sql(physical_of(plain))
            assert not queries.has_new


def test_queries_without_sql_are_otherwise_the_same():
    plain = compiled_topology(compile_project(Path(__file__).parents[3], use_cache=False))
    queries = physical_of(plain)
    assert all(query.sql for query in queries.queries)
    assert physical_of(replace(plain, cache=QueryCache())) == without_sql(queries)


def without_sql(physical):
    """Return the same queries as comparisons plan them."""

    def stripped(query):
        deliver = query.deliver
        if isinstance(deliver, PerBatch):
            left = tuple(
                OutputDelivery(delivery.target, "", stops=delivery.stops) for delivery in deliver.deliveries
            )
            deliver = PerBatch("", left)
        return replace(query, sql="", steps=(), deliver=deliver)

    return replace(physical, queries=tuple(map(stripped, physical.queries)))


def reviewed(folder, before, after):
    caches = folder / "older", folder / "newer"
    old, new = compiled(folder / "old", before), compiled(folder / "new", after)
    return review_versions(replace(old, cache=caches[0]), replace(new, cache=caches[1]), ReplayFigures())


def test_figures_of_columns_are_a_part_of_what_a_query_is_made_of():
    def keys(distinct):
        return QueryKeys(PhysicalSettings(distinct=distinct), Plan(())).of(AssignedGroup("q", ()), ())

    counts = {("model.b", "x"): 2, ("model.a", "x"): 1}
    assert keys(counts) == keys(dict(reversed(counts.items())))
    assert keys(counts) != keys({**counts, ("model.a", "x"): 3})


def queries(cache):
    decoded = [
        msgspec.msgpack.decode(encoded) for key, encoded in cache.items() if not key.startswith(b"narrowed")
    ]
    return [record["query"]["name"] for record in decoded]


def test_the_next_review_plans_only_what_was_edited_since(tmp_path):
    # By keys of their own, so that they share no query.
    other = VIEW.replace("user_id", "type")
    models = {
        "v": VIEW % 1,
        "w": other % 1,
        "totals": TOTALS % "{{ ref('v') }}",
        "kinds": TOTALS.replace("user_id", "type") % "{{ ref('w') }}",
    }
    reviewed(tmp_path, models, {**models, "v": VIEW % 2})
    before = load_queries(tmp_path / "newer").loaded
    reviewed(tmp_path, models, {**models, "v": VIEW % 2, "w": other % 8})
    after = load_queries(tmp_path / "newer").loaded
    assert {*queries(before)} == {"totals"}
    assert {*queries(after)} == {"totals", "kinds"}
    assert before.items() <= after.items()


@pytest.mark.parametrize("name", ["older/plan.msgpack", "newer/queries.msgpack"])
@pytest.mark.parametrize("damage", [b"", b"no msgpack", None])
def test_a_file_that_is_broken_is_not_used(tmp_path, name, damage):
    after = {**MODELS, "v": VIEW % 2}
    first = reviewed(tmp_path, MODELS, after)
    file = tmp_path / name
    file.write_bytes(file.read_bytes()[:-100] if damage is None else damage)
    assert reviewed(tmp_path, MODELS, after) == first


def test_the_plan_of_another_catalog_or_version_is_not_used(tmp_path, monkeypatch):
    one, other = compiled(tmp_path / "one", MODELS), compiled(tmp_path / "other", {**MODELS, "v": VIEW % 2})
    save_plan(tmp_path, one.compiled, compiled_topology(one.compiled))
    assert load_plan(tmp_path, one.compiled) is not None
    assert load_plan(tmp_path, other.compiled) is None
    monkeypatch.setattr("millstream.review.plan_cache._FORMAT", "of another version")
    assert load_plan(tmp_path, one.compiled) is None


def test_a_folder_that_can_not_be_written_makes_no_difference(tmp_path):
    after = {**MODELS, "v": VIEW % 2}
    first = reviewed(tmp_path, MODELS, after)
    old, new = compiled(tmp_path / "old", MODELS), version(project(tmp_path / "new", after))
    (tmp_path / "file").write_text("in the way")
    nowhere = tmp_path / "file" / "cache"
    assert (
        review_versions(replace(old, cache=nowhere), replace(new, cache=nowhere), ReplayFigures()).nodes
        == first.nodes
    )
