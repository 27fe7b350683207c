"""SQL in YAML may use `var()` and `env_var()`, as every value; errors in it are still at their line."""

import pytest
from support.sql_plans import project

from millstream.compile import compile_project
from millstream.queries.topology import read_catalog

MODEL = "{{ config(materialized='sink') }} select user_id, amount, value from {{ source('shop', 'events') }}"
FILES = {
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


def written(root, location, sql):
    root = project(root, {"m": MODEL})
    path, text = FILES[location]
    text = text.replace("SQL", '"' + sql + '"')
    file = root / path
    before = file.read_text() if file.exists() else ""
    line = "          - {name: value, type: double}\n"
    file.write_text(before.replace(line, text, 1) if before else text)
    return root


@pytest.mark.parametrize("location", FILES)
def test_sql_in_yaml_is_a_template(tmp_path, location):
    root = written(tmp_path, location, SQL.get(location, "amount > {{ var('least', 7) }}"))
    compiled = compile_project(root, use_cache=False)
    assert compiled.diagnostics == ()
    assert ("100" if location in SQL else "7") in str(read_catalog(compiled))


@pytest.mark.parametrize("location", FILES)
def test_what_is_wrong_in_it_is_found_at_its_line(tmp_path, location):
    sql = SQL.get(location, "amount > {{ var('least', 7) }}").replace("amount", "amuont")
    root = written(tmp_path, location, sql)
    (diagnostic,) = compile_project(root, use_cache=False).diagnostics
    assert (diagnostic.location.path, "amuont" in diagnostic.message) == (FILES[location][0], True), (
        diagnostic
    )


@pytest.mark.parametrize("location", FILES)
def test_a_variable_that_is_not_set_is_reported_once(tmp_path, location):
    root = written(tmp_path, location, "amount > {{ var('leats') }}")
    (diagnostic,) = compile_project(root, variables={"least": 7}, use_cache=False).diagnostics
    assert (diagnostic.code, diagnostic.location.path) == ("MS205", FILES[location][0])
    assert diagnostic.help == "did you mean 'least'?"
