"""Which models keep the SQL that runs, and which start on their own because they are newer than a state."""

import pytest
from edits.bases import EVENTS, table
from edits.test_edited_states import OTHERS, PROFILES
from support.runs import job_of
from support.shops import Shop

from millstream.compile.manifest import Manifest
from millstream.core.decoding import from_json
from millstream.core.node_id import NodeId
from millstream.deploy.planning.definitions import definition_of
from millstream.deploy.planning.intents import Update
from millstream.deploy.planning.records import Deployed, new_record
from millstream.deploy.planning.reuse_running import reuse_running_state
from millstream.deploy.planning.stages import judge_checkpoint
from millstream.queries.topology import physical_of

VIEW = (
    "{{ config(materialized='view') }}\n"
    f"select user, value, at from {EVENTS} where value > 1 and user <> 'x'"
)
TOTALS = table("user", "select user, sum(value) as total from {{ ref('big') }} group by user")
FIRST = {"big": VIEW, "totals": TOTALS}


@pytest.fixture
def shop(tmp_path):
    project = Shop(tmp_path, "")
    project.write("profiles.yml", PROFILES.replace("grouping: off", "grouping: all"))
    project.more(OTHERS)
    return project


def planned(shop, models, *, before=None, rebuilt=()):
    """Return a job, its plan on what ran before, and the verdict of each query that ran."""
    for name, sql in models.items():
        shop.model(name, sql)
    job = job_of(shop.root)
    running = before or Deployed({})
    intent = Update(frozenset(map(NodeId.parse, rebuilt)))
    plan = reuse_running_state(job.topology, physical_of(job.topology, running.lock), running, intent)
    records = plan.running.records
    verdicts = {
        q.name: judge_checkpoint(q, records[q.name], running).kind
        for q in plan.physical.queries
        if q.name in records
    }
    return job, plan, verdicts


def deployed(job, plan):
    manifest = from_json(job.manifest, Manifest)

    def definition(query):
        return definition_of(manifest, plan.topology.catalog, query.stored).packed()

    records = {q.name: new_record("", q, {}, definition(q)) for q in plan.physical.queries}
    return Deployed(records, plan.physical.lock)


def running(shop, models=FIRST):
    job, plan, _ = planned(shop, models)
    return deployed(job, plan)


def test_a_view_with_the_same_rows_keeps_its_sql_with_its_reader(shop):
    before = running(shop)
    _, plan, verdicts = planned(shop, {"big": VIEW.replace("value > 1", "1 < value")}, before=before)
    assert verdicts == {"totals": "same"}
    assert "1 < value" not in str(plan.topology.catalog.models["model.big"].query)


def test_a_filter_may_move_to_another_model(shop):
    before = running(shop)
    less = VIEW.replace(" and user <> 'x'", "")
    more = TOTALS.replace("group by", "where user <> 'x' group by")
    _, plan, verdicts = planned(shop, {"big": less, "totals": more}, before=before)
    assert (verdicts, plan.models) == ({"totals": "same"}, ())


def test_a_view_with_other_rows_is_not_kept_for_a_reader(shop):
    before = running(shop)
    less = VIEW.replace("value > 1 and user <> 'x'", "1 < value")
    more = TOTALS.replace("group by", "where user <> 'x' group by")
    _, plan, verdicts = planned(shop, {"big": less, "totals": more}, before=before)
    assert (verdicts, plan.models) == ({"totals": "mixed"}, ())


def test_a_part_may_become_a_view(shop):
    before = running(shop)
    named = VIEW.replace("and user <> 'x'", "")
    above = "{{ config(materialized='view') }} select * from {{ ref('any_user') }} where user <> 'x'"
    _, plan, verdicts = planned(shop, {"any_user": named, "big": above}, before=before)
    assert verdicts == {"totals": "same"}
    assert "model.any_user" in plan.topology.catalog.models


def test_the_next_edit_is_compared_with_what_is_kept(shop):
    before = running(shop)
    turned = {"totals": TOTALS.replace("sum(value)", "sum((value))")}
    job, plan, verdicts = planned(shop, turned, before=before)
    assert (verdicts, plan.models) == ({"totals": "same"}, ("model.totals",))
    again = deployed(job, plan)
    _, _, verdicts = planned(shop, {"totals": TOTALS.replace("sum(value)", "sum(((value)))")}, before=again)
    assert verdicts == {"totals": "same"}
    _, _, verdicts = planned(shop, {"totals": TOTALS.replace("sum(value)", "max(value)")}, before=again)
    assert verdicts == {"totals": "rebuild"}


def test_old_sql_that_reads_a_column_that_is_gone_is_not_kept(shop):
    people = OTHERS.replace("others", "people")
    within = "select user, id, kind from {{ source('web', 'people') }} where id > 1"
    wide = table("user", f"select user, count(*) as n from ({within}) group by user")
    shop.more(people)
    before = running(shop, {"wide": wide})
    shop.more(people.replace("          - {name: kind, type: string}\n", ""))
    less = wide.replace(", kind", "").replace("id > 1", "1 < id")
    _, plan, verdicts = planned(shop, {"wide": less}, before=before)
    assert (verdicts, plan.models) == ({"wide": "mixed"}, ())


def test_what_is_rebuilt_takes_the_new_sql(shop):
    before = running(shop)
    turned = {"totals": TOTALS.replace("sum(value)", "sum((value))")}
    _, plan, verdicts = planned(shop, turned, before=before, rebuilt=("model.totals",))
    assert (verdicts, plan.models) == ({"totals": "rebuild"}, ())


def test_a_newer_model_starts_on_its_own_and_stays_there(shop):
    before = running(shop)
    more = {
        "most": table("user", "select user, max(value) as most from {{ ref('big') }} group by user"),
        "again": TOTALS,
    }
    job, plan, verdicts = planned(shop, more, before=before)
    assert verdicts == {"totals": "same"}
    assert {q.name: tuple(q.stored) for q in plan.physical.queries} == {
        "totals": ("model.totals",),
        "most": ("model.most",),
        "again": ("model.again",),
    }
    _, plan, verdicts = planned(shop, {}, before=deployed(job, plan))
    assert verdicts == {"totals": "same", "most": "same", "again": "same"}
