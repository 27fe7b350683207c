"""What becomes of queries, from what is known of them and what somebody wants."""

import pytest

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh, Regroup, Update
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.stages import (
    Compare,
    Refuse,
    Swap,
    name_of,
    plan_stages,
    rebuilt_queries,
    stages_of_query,
)
from millstream.queries.topology import compiled_topology, physical_of
from millstream.queries.verdict import AcceptedModels

ALL = AcceptedModels(everything=True)
SOURCES = """
sources:
  - name: web
    topics:
      - name: clicks
        columns: [{name: user_id, type: string}, {name: amount, type: bigint}]
"""
SINK = "{{ config(materialized='sink') }} "
TABLE = "{{ config(materialized='table', unique_key='user_id', unbounded_state='accept') }} "
CLICKS = "from {{ source('web', 'clicks') }}"
MODELS = {
    "clean": SINK + f"select * {CLICKS} where amount > 0",
    "totals": TABLE + f"select user_id, sum(amount) as total {CLICKS} group by user_id",
}
LAST = TABLE + "select user_id, count(*) as n from {{ ref('once') }} group by user_id"


@pytest.fixture
def physical(tmp_path):
    def physical(models, lock=None, optimization="all"):
        (tmp_path / "models").mkdir(exist_ok=True)
        (tmp_path / "pyproject.toml").write_text(
            '[project]\nname = "shop"\nversion = "1"\n[tool.millstream]\n'
        )
        profile = f"shop:\n  target: local\n  outputs:\n    local: {{optimization: {optimization}}}\n"
        (tmp_path / "profiles.yml").write_text(profile)
        (tmp_path / "models/web.yml").write_text(SOURCES)
        for path in (tmp_path / "models").glob("*.sql"):
            path.unlink()
        for name, sql in models.items():
            (tmp_path / f"models/{name}.sql").write_text(sql)
        compiled = compile_project(tmp_path, use_cache=False)
        assert not [diagnostic for diagnostic in compiled.diagnostics if diagnostic.severity == "error"], (
            compiled.diagnostics
        )
        return physical_of(compiled_topology(compiled), lock)

    return physical


def deployment_of(plan, **more):
    return Deployed({query.name: new_record("shop", query, {}) for query in plan.queries}, plan.lock, **more)


def planned(plan, deployed, intent, models=None):
    """Return the names of the stages of the query that stores each model."""
    selected = [query for query in plan.queries if models is None or models & query.stored.keys()]
    planned_stages = plan_stages(selected, deployed, intent, plan.queries, plan.lock)
    return {
        model.partition(".")[2]: " ".join(map(name_of, stages_of_query(planned_stages, query.name)))
        for query in selected
        for model in query.stored
    }


NOTHING = Deployed({})
EDITED = MODELS | {"totals": MODELS["totals"].replace("sum(", "max(")}
FILTERED = MODELS | {"totals": MODELS["totals"].replace("group by", "where amount > 1 group by")}


@pytest.mark.parametrize(
    "intent", [Update(), Update(frozenset({NodeId("model", "totals")})), Apply(), Update(accepted=ALL)]
)
def test_what_never_ran_is_created(physical, intent):
    assert planned(physical(MODELS), NOTHING, intent) == {"clean": "create start", "totals": "create start"}


@pytest.mark.parametrize("intent", [Update(), Apply()])
def test_what_fits_continues(physical, intent):
    plan = physical(MODELS)
    assert planned(plan, deployment_of(plan), intent) == {
        "clean": "continue start",
        "totals": "continue start",
    }


def test_a_model_that_joins_a_query_gets_what_that_has_read(physical):
    before = deployment_of(physical(MODELS))
    actions = planned(
        physical(MODELS | {"large": SINK + f"select * {CLICKS} where amount > 9"}), before, Update()
    )
    assert actions == {
        "clean": "continue backfill start",
        "large": "continue backfill start",
        "totals": "continue start",
    }


def test_what_does_not_fit_is_refused_unless_it_is_rebuilt(physical):
    before, plan = deployment_of(physical(MODELS)), physical(EDITED)
    assert planned(plan, before, Update())["totals"] == "refuse"
    (refusal,) = (
        s for s in plan_stages(plan.queries, before, Update(), plan.queries) if isinstance(s, Refuse)
    )
    assert (refusal.diagnostic.code, refusal.diagnostic.help) == (
        "MS870",
        "rebuild it alongside the running version, then swap: millstream apply",
    )
    intent = Update(frozenset({NodeId("model", "totals")}))
    assert planned(plan, before, intent) == {"clean": "continue start", "totals": "rebuild swap"}


def test_other_rows_below_a_state_continue_when_that_is_accepted(physical):
    before, plan = deployment_of(physical(MODELS)), physical(FILTERED)
    assert planned(plan, before, Update())["totals"] == "refuse"
    assert planned(plan, before, Apply())["totals"] == "rebuild compare swap"
    for accepted in (AcceptedModels(mixed=frozenset({NodeId("model", "totals")})), ALL):
        assert planned(plan, before, Update(accepted=accepted))["totals"] == "continue start"
        assert planned(plan, before, Apply(accepted=accepted))["totals"] == "continue start"
    for accepted in (
        AcceptedModels(stored=frozenset({NodeId("model", "totals")})),
        AcceptedModels(mixed=frozenset({NodeId("model", "clean")})),
    ):
        assert planned(plan, before, Update(accepted=accepted))["totals"] == "refuse"
        assert planned(plan, before, Apply(accepted=accepted))["totals"] == "rebuild compare swap"


def test_a_checkpoint_that_has_read_nothing_binds_nobody(physical):
    old, plan = physical(MODELS), physical(EDITED)
    never_started = deployment_of(old, never_started=frozenset(query.name for query in old.queries))
    assert planned(plan, never_started, Update())["totals"] == "continue start"


def test_an_apply_rebuilds_what_does_not_fit_compares_it_and_keeps_a_way_back(physical):
    before, plan = deployment_of(physical(MODELS)), physical(EDITED)
    intent = Apply({NodeId("model", "totals"): ("user_id",)}, accept_differences=True)
    first, *rest = plan_stages(plan.queries, before, intent, plan.queries)
    (totals,) = (query.name for query in plan.queries if "model.totals" in query.stored)
    assert (first.replaced, first.created) == ((totals,), ())
    assert Compare(totals, {NodeId("model", "totals"): ("user_id",)}, accept_differences=True) in rest
    assert planned(plan, before, intent) == {"clean": "continue start", "totals": "rebuild compare swap"}


def test_a_full_refresh_begins_again_with_what_is_asked_for(physical):
    plan = physical(EDITED)
    actions = planned(plan, deployment_of(physical(MODELS)), FullRefresh(), {"model.totals"})
    assert actions == {"totals": "reset create start"}


def test_what_would_be_counted_twice_is_rebuilt_by_an_apply_and_refused_otherwise(physical):
    once = (
        "{{ config(materialized='sink', dedupe={'keys': ['user_id', 'amount']}, unbounded_state='accept') }} "
    )
    models = {"once": f"{once}select user_id, amount {CLICKS}", "last": LAST}
    before, plan = (
        deployment_of(physical(models)),
        physical(models | {"once": models["once"].replace(", 'amount'", "")}),
    )
    assert planned(plan, before, Apply()) == {
        "once": "rebuild compare swap",
        "last": "rebuild compare swap",
    }
    with pytest.raises(MillstreamError) as refused:
        planned(plan, before, Update(frozenset({NodeId("model", "once")})))
    assert [diagnostic.code for diagnostic in refused.value.diagnostics] == ["MS882"]
    both = planned(plan, before, Update(frozenset({NodeId("model", "once"), NodeId("model", "last")})))
    assert both == {"once": "rebuild swap", "last": "rebuild swap"}


def test_queries_that_share_a_state_from_now_on_are_swapped_together(physical):
    largest = TABLE + f"select user_id, max(amount) as largest {CLICKS} group by user_id"
    alone = physical(MODELS)
    kept_apart = physical(MODELS | {"largest": largest}, alone.lock)
    together = physical(MODELS | {"largest": largest})
    assert len(kept_apart.queries) == len(together.queries) + 1
    planned_stages = plan_stages(
        together.queries, deployment_of(kept_apart), Regroup(), together.queries, together.lock
    )
    *_, last = planned_stages
    assert isinstance(last, Swap)
    assert last.queries == rebuilt_queries(planned_stages) != ()
    assert last.lock == together.lock
