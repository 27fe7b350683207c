"""What a query keeps does not change with models beside it: their coming and going leaves its state alone."""

import pytest
from generator import project as generated
from msgspec.structs import replace
from support.sql_plans import project as written

from millstream.compile import compile_project
from millstream.queries.physical_plan import physical_plan
from millstream.queries.references import reference_outputs
from millstream.queries.topology import compiled_topology, physical_settings
from millstream.queries.verdict import compare_signatures

EVENTS = "{{ source('shop', 'events') }}"
TOTALS = "{{ config(materialized='table', unique_key='user_id') }} "


def states(folder, models):
    """Return by query what decides whether it goes on, each model being a query of its own."""
    root = written(folder, models)
    topology = compiled_topology(compile_project(root, use_cache=False))
    settings = replace(physical_settings(topology.catalog), grouping="off")
    references = reference_outputs(topology.plan, topology.catalog.topics)
    physical = physical_plan(topology.plan, settings, None, references, topology.written)
    return {query.models[0].partition(".")[2]: query.signature for query in physical.queries}


def test_other_columns_filters_and_keys(tmp_path):
    base = f"select user_id, type, amount, value from {EVENTS} where amount <> 7"
    models = {
        "base": base,
        "spent": TOTALS + "select user_id, sum(amount) as n from {{ ref('base') }} group by user_id",
    }
    more = {
        "worth": TOTALS
        + "select user_id, max(value) as v from {{ ref('base') }} where type = 'x' group by user_id",
        "kinds": TOTALS.replace("user_id", "type")
        + "select type, count(*) as n from {{ ref('base') }} where value > 1 group by type",
    }
    assert states(tmp_path / "1", models)["spent"] == states(tmp_path / "2", models | more)["spent"]


@pytest.mark.parametrize(
    "base",
    [
        f"select user_id, type, amount + 1 as amount, value from {EVENTS} where amount <> 7",
        f"select user_id, type, amount, value from {EVENTS} where amount <> 8",
        f"select user_id, type, amount, value from {EVENTS}",
    ],
)
def test_a_view_below_that_changes_is_seen(tmp_path, base):
    before = f"select user_id, type, amount, value from {EVENTS} where amount <> 7"
    models = {"spent": TOTALS + "select user_id, sum(amount) as n from {{ ref('base') }} group by user_id"}
    one = states(tmp_path / "1", models | {"base": before})["spent"]
    assert one != states(tmp_path / "2", models | {"base": base})["spent"]


def test_a_filter_of_a_topic_below_that_is_bypassed_is_seen(tmp_path):
    models = {"spent": TOTALS + "select user_id, sum(amount) as n from {{ ref('base') }} group by user_id"}
    base = (
        "{{ config(materialized='sink', key='user_id') }} select user_id, amount + %d as amount from "
        + EVENTS
    )
    upper = {"base": base % 0}
    one = states(tmp_path / "1", models | upper)["spent"]
    models["spent"] = models["spent"].replace("group by", "where amount > 1 group by")
    two, three = (states(tmp_path / str(n), models | {"base": base % n})["spent"] for n in (2, 3))
    assert len({str(signature) for signature in (one, two, three)}) == 3


def without_one(models):
    """Yield a project without each model that nobody reads."""
    for name in models:
        rest = {other: sql for other, sql in models.items() if other != name}
        if not any(f"ref('{name}')" in sql for sql in rest.values()):
            yield rest


def disturbed(folder, seed):
    models = generated(seed)
    all_states = states(folder / "all", models)
    for number, rest in enumerate(without_one(models)):
        for model, signature in states(folder / str(number), rest).items():
            if (comparison := compare_signatures(all_states[model], signature)).kind != "same":
                return f"{seed}: {model} without {models.keys() - rest.keys()}: {comparison.reasons}"
    return ""


def test_random_projects_without_one_model(tmp_path):
    assert [difference for seed in range(6) if (difference := disturbed(tmp_path / str(seed), seed))] == []


@pytest.mark.long
def test_many_random_projects_without_one_model(tmp_path):
    assert [
        difference for seed in range(6, 60) if (difference := disturbed(tmp_path / str(seed), seed))
    ] == []
