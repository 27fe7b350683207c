"""What becomes of queries, from what is known of them and what somebody wants."""

import pytest

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.deploy.intents import Apply, FullRefresh, Regroup, Update
from millstream.deploy.records import Deployed, new_record
from millstream.deploy.stages import Compare, Refuse, Swap, chain, name_of, rebuilt, stages
from millstream.queries.topology import compiled_topology, physical_of
from millstream.queries.verdict import Accepted

ALL = Accepted(everything=True)
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
        assert not [each for each in compiled.diagnostics if each.severity == "error"], compiled.diagnostics
        return physical_of(compiled_topology(compiled), lock)

    return physical


def known(found, **more):
    return Deployed(
        {query.name: new_record("shop", query, {}) for query in found.queries}, found.lock, **more
    )


def planned(found, deployed, intent, models=None):
    """Return the names of the stages of the query that stores each model."""
    wanted = [query for query in found.queries if models is None or models & query.stored.keys()]
    listed = stages(wanted, deployed, intent, found.queries, found.lock)
    return {
        model.partition(".")[2]: " ".join(map(name_of, chain(listed, query.name)))
        for query in wanted
        for model in query.stored
    }


NOTHING = Deployed({})
EDITED = MODELS | {"totals": MODELS["totals"].replace("sum(", "max(")}
FILTERED = MODELS | {"totals": MODELS["totals"].replace("group by", "where amount > 1 group by")}


@pytest.mark.parametrize(
    "intent", [Update(), Update(frozenset({"model.totals"})), Apply(), Update(accepted=ALL)]
)
def test_what_never_ran_is_created(physical, intent):
    assert planned(physical(MODELS), NOTHING, intent) == {"clean": "create start", "totals": "create start"}


@pytest.mark.parametrize("intent", [Update(), Apply()])
def test_what_fits_continues(physical, intent):
    found = physical(MODELS)
    assert planned(found, known(found), intent) == {"clean": "continue start", "totals": "continue start"}


def test_a_model_that_joins_a_query_gets_what_that_has_read(physical):
    before = known(physical(MODELS))
    found = planned(
        physical(MODELS | {"large": SINK + f"select * {CLICKS} where amount > 9"}), before, Update()
    )
    assert found == {
        "clean": "continue backfill start",
        "large": "continue backfill start",
        "totals": "continue start",
    }


def test_what_does_not_fit_is_refused_unless_it_is_rebuilt(physical):
    before, found = known(physical(MODELS)), physical(EDITED)
    assert planned(found, before, Update())["totals"] == "refuse"
    (refusal,) = (s for s in stages(found.queries, before, Update(), found.queries) if isinstance(s, Refuse))
    assert (refusal.diagnostic.code, refusal.diagnostic.help) == (
        "MS870",
        "rebuild it alongside the running version, then swap: millstream apply",
    )
    wanted = Update(frozenset({"model.totals"}))
    assert planned(found, before, wanted) == {"clean": "continue start", "totals": "rebuild swap"}


def test_other_rows_below_a_state_continue_when_that_is_accepted(physical):
    before, found = known(physical(MODELS)), physical(FILTERED)
    assert planned(found, before, Update())["totals"] == "refuse"
    assert planned(found, before, Apply())["totals"] == "rebuild compare swap"
    for accepted in (Accepted(mixed=frozenset({"model.totals"})), ALL):
        assert planned(found, before, Update(accepted=accepted))["totals"] == "continue start"
        assert planned(found, before, Apply(accepted=accepted))["totals"] == "continue start"
    for accepted in (
        Accepted(stored=frozenset({"model.totals"})),
        Accepted(mixed=frozenset({"model.clean"})),
    ):
        assert planned(found, before, Update(accepted=accepted))["totals"] == "refuse"
        assert planned(found, before, Apply(accepted=accepted))["totals"] == "rebuild compare swap"


def test_a_checkpoint_that_has_read_nothing_binds_nobody(physical):
    old, found = physical(MODELS), physical(EDITED)
    never_started = known(old, never_started=frozenset(query.name for query in old.queries))
    assert planned(found, never_started, Update())["totals"] == "continue start"


def test_an_apply_rebuilds_what_does_not_fit_compares_it_and_keeps_a_way_back(physical):
    before, found = known(physical(MODELS)), physical(EDITED)
    intent = Apply({"model.totals": ("user_id",)}, accept_differences=True)
    first, *rest = stages(found.queries, before, intent, found.queries)
    (totals,) = (query.name for query in found.queries if "model.totals" in query.stored)
    assert (first.replaced, first.created) == ((totals,), ())
    assert Compare(totals, {"model.totals": ("user_id",)}, accept_differences=True) in rest
    assert planned(found, before, intent) == {"clean": "continue start", "totals": "rebuild compare swap"}


def test_a_full_refresh_begins_again_with_what_is_asked_for(physical):
    found = physical(EDITED)
    asked = planned(found, known(physical(MODELS)), FullRefresh(), {"model.totals"})
    assert asked == {"totals": "reset create start"}


def test_what_would_be_counted_twice_is_rebuilt_by_an_apply_and_refused_otherwise(physical):
    once = (
        "{{ config(materialized='sink', dedupe={'keys': ['user_id', 'amount']}, unbounded_state='accept') }} "
    )
    models = {"once": f"{once}select user_id, amount {CLICKS}", "last": LAST}
    before, found = (
        known(physical(models)),
        physical(models | {"once": models["once"].replace(", 'amount'", "")}),
    )
    assert planned(found, before, Apply()) == {
        "once": "rebuild compare swap",
        "last": "rebuild compare swap",
    }
    with pytest.raises(MillstreamError) as refused:
        planned(found, before, Update(frozenset({"model.once"})))
    assert [each.code for each in refused.value.diagnostics] == ["MS882"]
    both = planned(found, before, Update(frozenset({"model.once", "model.last"})))
    assert both == {"once": "rebuild swap", "last": "rebuild swap"}


def test_queries_that_share_a_state_from_now_on_are_swapped_together(physical):
    largest = TABLE + f"select user_id, max(amount) as largest {CLICKS} group by user_id"
    alone = physical(MODELS)
    kept_apart = physical(MODELS | {"largest": largest}, alone.lock)
    together = physical(MODELS | {"largest": largest})
    assert len(kept_apart.queries) == len(together.queries) + 1
    listed = stages(together.queries, known(kept_apart), Regroup(), together.queries, together.lock)
    *_, last = listed
    assert isinstance(last, Swap)
    assert last.queries == rebuilt(listed) != ()
    assert last.lock == together.lock
