"""What a state keeps depends on what is read above it: no edit goes on with a state of other columns.

Each group of SQL is one model and edits of it, as written (`plain`) and optimized: where a query may go on, the
states that Spark writes for both have the same columns.
"""

from itertools import combinations, product

import pytest
from edits.state_columns import BY_SPARK, GOES_ON, LONG, SHORT
from msgspec.structs import replace
from streaming.query_runner import QUICK
from support.micro_batches import attempted
from support.spark import SPARK_WARNINGS
from support.sql_plans import project
from support.state_schemas import state_schemas

from millstream.queries.verdict import compare_signatures

pytestmark = SPARK_WARNINGS


@pytest.fixture(scope="module")
def quick(first_spark):
    session = first_spark.newSession()
    for name, value in QUICK.items():
        session.conf.set(name, value)
    return session


def queries_of(folder, sqls, target):
    """Return the query of each SQL, and how it runs."""
    for number, sql in enumerate(sqls):
        run, errors = attempted(project(folder / f"{target}{number}", {"m": sql}), target)
        assert run is not None, (sql, errors)
        yield run, run.query_of("m")


def states_of(quick, folder, sqls, target):
    """Return the signature of each SQL, and the columns of its states."""
    queries = queries_of(folder, sqls, target)
    return [(query.signature, state_schemas(quick, run, query)) for run, query in queries]


def unsafe(states):
    """Return the pairs of which one goes on with the state of the other, but Spark keeps other columns."""
    pairs = product(range(len(states)), repeat=2)
    return [
        (one, other)
        for one, other in pairs
        if compare_signatures(states[one][0], states[other][0]).kind != "rebuild"
        and states[one][1] != states[other][1]
    ]


@pytest.mark.parametrize("target", ["plain", "all"])
def test_which_edits_go_on(tmp_path, target):
    for name, sqls in SHORT.items():
        signatures = [query.signature for _, query in queries_of(tmp_path / name, sqls, target)]
        pairs = combinations(range(len(signatures)), 2)
        goes_on = {
            (a, b) for a, b in pairs if compare_signatures(signatures[a], signatures[b]).kind != "rebuild"
        }
        assert goes_on == GOES_ON.get(name, set()), name


@pytest.mark.parametrize("name", BY_SPARK)
def test_no_query_goes_on_with_other_columns(quick, tmp_path, name):
    states = states_of(quick, tmp_path, SHORT[name][:2], "plain")
    assert states[0][1] != states[1][1]
    assert unsafe(states) == []


@pytest.mark.long
@pytest.mark.parametrize("name", LONG)
def test_no_query_of_any_group_goes_on_with_other_columns(quick, tmp_path, name):
    """The optimized plan is one more edit of the plan as written."""
    states = [
        state for target in ("plain", "all") for state in states_of(quick, tmp_path, LONG[name], target)
    ]
    assert [
        (LONG[name][a % len(LONG[name])], LONG[name][b % len(LONG[name])]) for a, b in unsafe(states)
    ] == []


def test_a_state_of_an_older_record_goes_on(tmp_path):
    """Such a record does not say what Spark keeps of a side: all of its columns are compared."""
    for name, target in (("a join", "plain"), ("an aggregate in a subquery", "plain"), ("a join", "all")):
        run, _ = attempted(project(tmp_path / f"{name} {target}", {"m": SHORT[name][0]}), target)
        now = run.query_of("m").signature
        old = replace(
            now, operators=tuple(replace(operator, stored_facts=None) for operator in now.operators)
        )
        assert compare_signatures(old, now).kind == "same"
