"""SQL in YAML may use `var()` and `env_var()`, as every value; errors in it are still at their line."""

import pytest
from support.written import project

from millstream.compile import compile_project
from millstream.queries.topology import read_catalog

MODEL = "{{ config(materialized='sink') }} select user_id, amount, value from {{ source('shop', 'events') }}"
PLACES = {
    "from": (
        "models/sources.yml",
        "          - {name: value, type: double}\n          - {name: cents, type: bigint, from: SQL}\n",
    ),
    "a data test": ("models/m.yml", "models: [{name: m, tests: [{expression: SQL}]}]\n"),
    "the rows of a data test": (
        "models/m.yml",
        "models: [{name: m, columns: [{name: amount, tests: [{not_null: {where: SQL}}]}]}]\n",
    ),
    "a metric": (
        "models/m.yml",
        "metrics: [{name: n, model: m, type: counter, expression: 'count(*)', where: SQL}]\n",
    ),
    "the value of a metric": (
        "models/m.yml",
        "metrics: [{name: n, model: m, type: counter, expression: SQL}]\n",
    ),
    "a log": ("models/m.yml", "models: [{name: m, log: {when: SQL}}]\n"),
}
SQL = {
    "from": "amount * {{ var('factor', 100) }}",
    "the value of a metric": "sum(if(amount > {{ var('factor', 100) }}, 1, 0))",
}


def written(root, place, sql):
    root = project(root, {"m": MODEL})
    path, text = PLACES[place]
    text = text.replace("SQL", '"' + sql + '"')
    file = root / path
    before = file.read_text() if file.exists() else ""
    line = "          - {name: value, type: double}\n"
    file.write_text(before.replace(line, text, 1) if before else text)
    return root


@pytest.mark.parametrize("place", PLACES)
def test_sql_in_yaml_is_a_template(tmp_path, place):
    root = written(tmp_path, place, SQL.get(place, "amount > {{ var('least', 7) }}"))
    compiled = compile_project(root, use_cache=False)
    assert compiled.diagnostics == ()
    assert ("100" if place in SQL else "7") in str(read_catalog(compiled))


@pytest.mark.parametrize("place", PLACES)
def test_what_is_wrong_in_it_is_found_at_its_line(tmp_path, place):
    sql = SQL.get(place, "amount > {{ var('least', 7) }}").replace("amount", "amuont")
    root = written(tmp_path, place, sql)
    (found,) = compile_project(root, use_cache=False).diagnostics
    assert (found.location.path, "amuont" in found.message) == (PLACES[place][0], True), found


@pytest.mark.parametrize("place", PLACES)
def test_a_variable_that_is_not_set_is_reported_once(tmp_path, place):
    root = written(tmp_path, place, "amount > {{ var('leats') }}")
    (found,) = compile_project(root, variables={"least": 7}, use_cache=False).diagnostics
    assert (found.code, found.location.path) == ("MS205", PLACES[place][0])
    assert found.help == "did you mean 'least'?"
