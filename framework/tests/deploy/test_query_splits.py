"""Models that leave a query that they share: what is rebuilt, and what continues."""

import pytest
from edits.bases import EVENTS, table
from edits.test_edited_states import OTHERS, PROFILES
from msgspec.structs import replace
from support.runs import job_of
from support.shops import Shop

from millstream.compile.manifest import Manifest
from millstream.core.decoding import from_json
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.handover.version_loading import fitted_to_run
from millstream.deploy.planning.definitions import definition_of
from millstream.deploy.planning.intents import Apply, FullRefresh, Update
from millstream.deploy.planning.query_splits import QuerySplit
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import reuse_running_state
from millstream.deploy.planning.stages import Refuse, name_of, plan_stages, stages_of_query
from millstream.queries.topology import physical_of

MODELS = {
    "total": table("user", f"select user, sum(value) as total from {EVENTS} group by user"),
    "number": table("user", f"select user, count(*) as n from {EVENTS} where kind <> 'd' group by user"),
    "last": table("user", f"select user, max(id) as last from {EVENTS} where id > 1 group by user"),
}
MOST = {"total": MODELS["total"].replace("sum(", "max(")}
TOTAL_ALONE = (QuerySplit("events_by_user", "total", (NodeId("model", "total"),)),)


@pytest.fixture
def shop(tmp_path):
    project = Shop(tmp_path, "")
    project.write("profiles.yml", PROFILES.replace("grouping: off", "grouping: all"))
    project.more(OTHERS)
    return project


def deployed(shop, models=MODELS):
    for name, sql in models.items():
        shop.model(name, sql)
    job = job_of(shop.root)
    manifest = from_json(job.manifest, Manifest)
    records = {
        query.name: new_record("", query, {}, definition_of(manifest, job.catalog, query.stored).packed())
        for query in job.physical.queries
    }
    return Deployed(records, job.physical.lock)


def planned(shop, running, edited, intent, selected=None):
    """Return the plan of an edited project, and the stages of each model."""
    for name, sql in edited.items():
        shop.model(name, sql)
    job = job_of(shop.root)
    plan = reuse_running_state(
        job.topology, physical_of(job.topology, running.lock), running, intent, selected
    )
    queries = plan.physical.queries
    planned_stages = plan_stages(queries, plan.running, intent, queries, plan.physical.lock, plan.misfits)
    actions = {
        model.removeprefix("model."): " ".join(map(name_of, stages_of_query(planned_stages, query.name)))
        for query in queries
        for model in query.stored
    }
    return plan, actions, planned_stages


def test_one_query_stores_all_three(shop):
    assert [record.stored for record in deployed(shop).records.values()] == [
        ("model.last", "model.number", "model.total")
    ]


def test_apply_rebuilds_the_edited_model_alone(shop):
    running = deployed(shop)
    plan, actions, _ = planned(shop, running, MOST, Apply())
    assert plan.splits == TOTAL_ALONE
    assert actions == dict.fromkeys(["number", "last"], "continue start") | {"total": "rebuild compare swap"}


def test_build_names_the_edited_model_alone(shop):
    _, actions, planned_stages = planned(shop, deployed(shop), MOST, Update())
    assert set(actions.values()) == {"refuse"}
    (diagnostic,) = (stage.diagnostic for stage in planned_stages if isinstance(stage, Refuse))
    assert diagnostic.message.startswith("total can't continue from its checkpoint: ")
    assert diagnostic.message.endswith("; last, number share its query, and continue then")
    assert diagnostic.help.endswith(": millstream apply")
    plan, actions, _ = planned(shop, deployed(shop), {}, Update(frozenset({NodeId("model", "total")})))
    assert plan.splits == TOTAL_ALONE
    assert actions == dict.fromkeys(["number", "last"], "continue start") | {"total": "rebuild swap"}


def test_a_model_that_is_refreshed_leaves_the_others(shop):
    plan, _, _ = planned(shop, deployed(shop), {}, FullRefresh(), frozenset({"model.total"}))
    assert plan.splits == TOTAL_ALONE
    plan, _, _ = planned(shop, deployed(shop), {}, FullRefresh(), frozenset(f"model.{m}" for m in MODELS))
    assert plan.splits == ()


def test_an_edit_that_is_taken_back_finds_its_state(shop):
    running = deployed(shop)
    plan, _, _ = planned(shop, running, MOST, Apply())
    again, actions, _ = planned(shop, plan.running, MODELS, Update())
    assert (again.splits, set(actions.values())) == ((), {"continue start"})
    assert {query.name: len(query.stored) for query in again.physical.queries} == {
        "events_by_user": 2,
        "total": 1,
    }


def test_models_leave_one_after_the_other(shop):
    plan, _, _ = planned(shop, deployed(shop), MOST, Apply())
    running = plan.running
    more = {"number": MODELS["number"].replace("count(*)", "sum(id)")}
    again, actions, _ = planned(shop, running, more, Apply())
    assert again.splits == (QuerySplit("events_by_user", "number", (NodeId("model", "number"),)),)
    assert actions["last"] == "continue start"
    taken_back, actions, _ = planned(shop, again.running, MODELS, Update())
    assert (taken_back.splits, set(actions.values())) == ((), {"continue start"})


def test_models_without_state_leave_and_dead_letters_have_one_sender(shop):
    shop.source(on_bad_record="dead_letter")
    models = {name: table("id", f"select id, {name} from {EVENTS}") for name in ("kind", "value")}
    models["sent"] = "{{ config(materialized='sink') }} " + f"select id from {EVENTS}"
    running = deployed(shop, models)
    before = [query.name for query in running_queries(shop) if query.dead_letter_source]
    edited = {"kind": models["kind"].replace("id, kind", "id, upper(kind) as kind")}
    plan, actions, _ = planned(shop, running, edited, Apply())
    assert plan.splits == (QuerySplit("events_tables", "kind", (NodeId("model", "kind"),)),)
    assert actions == {"kind": "rebuild compare swap", "value": "continue start", "sent": "continue start"}
    assert [query.name for query in plan.physical.queries if query.dead_letter_source] == before
    # A topic without state is sent again.
    plan, actions, _ = planned(shop, running, models, Update(frozenset({NodeId("model", "sent")})))
    assert plan.splits == ()
    assert actions == {"kind": "continue start", "value": "continue start", "sent": "rebuild swap"}
    assert [query.name for query in plan.physical.queries if query.dead_letter_source] == before


def running_queries(shop):
    return job_of(shop.root).physical.queries


def test_a_removed_model_leaves_the_others_their_state(shop):
    running = deployed(shop)
    (shop.root / "models/total.sql").unlink()
    for intent in (Update(), Apply()):
        _, actions, _ = planned(shop, running, {}, intent)
        assert actions == dict.fromkeys(["number", "last"], "continue start")


def test_an_edited_function_concerns_its_models_only(shop):
    shop.write("macros/twice.py", "\ndef twice(value: float) -> float:\n    return value * 2\n")
    scored = {"total": MODELS["total"].replace("sum(value)", "sum(twice(value))")}
    running = deployed(shop, MODELS | scored)
    shop.write("macros/twice.py", "\ndef twice(value: float) -> float:\n    return value + value\n")
    plan, actions, _ = planned(shop, running, {}, Apply())
    assert plan.splits == TOTAL_ALONE
    assert actions == dict.fromkeys(["number", "last"], "continue start") | {"total": "rebuild compare swap"}
    # A function that returns another type would need another state.
    shop.write("macros/twice.py", "\ndef twice(value: float) -> int:\n    return int(value)\n")
    _, actions, _ = planned(shop, plan.running, {}, Apply())
    assert actions["number"] == "rebuild compare swap"


def test_a_run_takes_over_removed_models_and_others_after_a_split(shop):
    running = deployed(shop)
    for name, sql in MOST.items():
        shop.model(name, sql)
    with pytest.raises(MillstreamError, match="'total' can't leave a query that others share"):
        fitted_to_run(replace(job_of(shop.root), intent=Apply()), running)
    for edited in (MODELS["total"], None):
        if edited:
            shop.model("total", edited)
        else:
            shop.root.joinpath("models/total.sql").unlink()
        queries = fitted_to_run(replace(job_of(shop.root), intent=Apply()), running).physical.queries
        assert [query.name for query in queries] == ["events_by_user"]


def test_a_state_that_can_not_be_planned_any_more_is_rebuilt_with_its_query(shop):
    running = deployed(shop)
    plan, _, _ = planned(shop, running, MOST, Apply())
    (shop.root / "models/total.sql").unlink()
    shop.root.joinpath("models/sources.yml").write_text(
        shop.root.joinpath("models/sources.yml")
        .read_text()
        .replace("value, type: double", "value, type: int", 1)
    )
    _, actions, _ = planned(shop, plan.running, {}, Apply())
    assert actions == dict.fromkeys(["number", "last"], "rebuild compare swap")
