"""SQL of 10 kB compiles or is refused, however it is written: its cost doesn't explode with its length.

Calls of functions are counted, which every run repeats exactly, unlike seconds.
"""

import cProfile
import pstats

import pytest
from support.growing_sql import FORMS, Inputs, of_length
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.queries.topology import compiled_topology, physical_of

ROWS = "select user_id as id, type as k, amount as v, amount as r from {{ source('shop', 'events') }}"
TABLE = "{{ config(materialized='table', unique_key='id') }} "
KINDS = {
    "table": (TABLE, "first"),
    "full": ("{{ config(materialized='table', unique_key='id', refresh='full') }} ", "first"),
    "sink": ("{{ config(materialized='sink') }} ", "flow"),
}
LONG = 10_000
MOST_CALLS = 25_000_000
"""Of Python functions: about 5 seconds on one core."""
LESS = 2_500
"""A shorter text of the same form: SQL that is refused since it is nested too deeply can be slow before that."""


def calls_of(root, kind, form, length):
    """Return how many calls of functions the compiler and the planner make for one model."""
    config, first = KINDS[kind]
    sql = of_length(FORMS[form], length, Inputs(f"{{{{ ref('{first}') }}}}", "{{ ref('other') }}"))
    models = {"first": TABLE + ROWS, "other": TABLE + ROWS, "flow": ROWS, "m": config + sql}
    project(root, models)
    profile = cProfile.Profile()
    profile.enable()
    try:
        compiled = compile_project(root, use_cache=False)
        if not any(diagnostic.severity == "error" for diagnostic in compiled.diagnostics):
            assert physical_of(compiled_topology(compiled)).queries
    finally:
        profile.disable()
    assert all(diagnostic.code != "MS900" and diagnostic.location for diagnostic in compiled.diagnostics)
    return pstats.Stats(profile).total_calls


@pytest.mark.timeout(120)
@pytest.mark.parametrize("form", FORMS)
def test_short_sql_of_a_form_compiles_or_is_refused(tmp_path, form):
    assert calls_of(tmp_path, "table", form, LESS) < MOST_CALLS


@pytest.mark.long
@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_long_sql_of_a_form_compiles_or_is_refused(tmp_path, form, kind):
    for length in (LESS, 2 * LESS, LONG):
        root = tmp_path / str(length)
        root.mkdir()
        assert calls_of(root, kind, form, length) < MOST_CALLS


CHAINS = ("chained_lookups", "nested_lookups", "chained_filters", "nested_subqueries", "nested_in")


@pytest.mark.parametrize("form", CHAINS)
def test_a_longer_chain_costs_no_more_than_its_length_times_its_length(tmp_path, form):
    calls = []
    for index, length in enumerate((500, 1_000, 2_000)):
        root = tmp_path / str(index)
        root.mkdir()
        calls.append(calls_of(root, "table", form, length))
    fixed, one, two = calls
    assert two - fixed < 8 * max(one - fixed, 20_000)
