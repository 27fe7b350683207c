"""A review plans the queries that an edit can reach, with the same result as if it planned all of them."""

import pytest
from support.evaluated_edits import Generator, files
from support.long import EXAMPLES
from support.reviews import written

from millstream.compile import compile_project
from millstream.deploy.planning.intents import Apply
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import plan_on_running
from millstream.queries.topology import compiled_topology, groups_of, physical_of
from millstream.review.rebuild_cost import ReplayFigures
from millstream.review.state import DeployedQueries, deployed_queries, query_changes

TOTALS = "{{ config(materialized='table', unique_key='user_id') }}\nselect user_id, sum(amount) as n from %s group by user_id"
CSV = "{{ config(materialized='sink', key='user_id', format='csv') }}\nselect user_id, %s as amount from {{ source('shop', 'events') }}"


def topology(folder, models):
    compiled = compile_project(written(folder, models), use_cache=False)
    return (
        compiled_topology(compiled) if not any(d.severity == "error" for d in compiled.diagnostics) else None
    )


def all_queries(old, new):
    before = groups_of(old)
    first = physical_of(old)
    deployed = Deployed({query.name: new_record("", query, {}) for query in first.queries}, first.lock)
    reused = plan_on_running(new, physical_of(new, first.lock), deployed, old.catalog, Apply())
    return DeployedQueries(first, reused.physical, (before, groups_of(new, before.lock)), reused)


def differences(running):
    return {
        change.name: (change.status, change.reasons)
        for change in query_changes(running, ReplayFigures())
        if change.status != "same"
    }


def check(folder, before, after):
    old, new = topology(folder / "old", before), topology(folder / "new", after)
    if old is not None and new is not None:
        both = deployed_queries(old, new)
        assert differences(both) == differences(all_queries(old, new)), (before, after)


def random_edit(seed):
    """Return a project and an edit of it, each of its views counted by a table, so that there is state."""
    generator = Generator(seed)
    _, _, after = generator.edited()
    return [with_counts(files(project)) for project in (generator.project, after)]


def with_counts(models):
    config = "{{ config(materialized='table', unique_key='c0') }}\n"
    return models | {
        f"count_{name}": f"{config}select c0, count(*) as n from {{{{ ref('{name}') }}}} group by c0"
        for name, text in models.items()
        if name.startswith("m") and "'table'" not in text
    }


@pytest.mark.parametrize("seed", range(12))
def test_random_edits(tmp_path, seed):
    check(tmp_path, *random_edit(seed))


@pytest.mark.long
def test_many_random_edits(tmp_path):
    for seed in range(12, 12 + EXAMPLES // 40):
        check(tmp_path / str(seed), *random_edit(seed))


def test_a_column_that_only_others_read_plans_nothing(tmp_path):
    view = "select user_id, amount, type%s from {{ source('shop', 'events') }}"
    models = {
        "totals": TOTALS % "{{ ref('v') }}",
        "kinds": TOTALS.replace("user_id", "type") % "{{ ref('v') }}",
    }
    versions = [
        topology(tmp_path / str(n), models | {"v": view % more}) for n, more in enumerate(("", ", value"))
    ]
    both = deployed_queries(*versions)
    assert (both.old.queries, both.new.queries) == ((), ())


def test_what_is_written_to_a_topic_that_is_read_back_is_seen(tmp_path):
    read = "{{ config(materialized='table', unique_key='user_id') }}\nselect user_id, amount from {{ ref('lines') }}"
    before, after = ({"lines": CSV % text, "kept": read} for text in ("amount", "amount + 1"))
    changed = differences(deployed_queries(topology(tmp_path / "1", before), topology(tmp_path / "2", after)))
    assert changed == differences(
        all_queries(topology(tmp_path / "1", before), topology(tmp_path / "2", after))
    )
    assert changed["lines_tables"][0] == "stored"
