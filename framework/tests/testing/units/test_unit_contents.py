"""What unit tests run over, told from the files of a project."""

import pytest
from support.shops import TOTALS, Shop

from millstream.compile import compile_project
from millstream.project.load import load_project
from millstream.testing.units.contents import unit_contents

TWICE = """
    {{ config(materialized='sink') }}
    {# the factor isn't fixed #}
    select id * {{ var('factor') }} as id from {{ source('web', 'events') }}
"""
CALLS = "{{ config(materialized='sink') }} select scaled(id) as id from {{ ref('doubled') }}"
DOUBLED = "{{ config(materialized='view') }} select id * 2 as id from {{ source('web', 'events') }}"
SCALED = "\ndef scaled(value: int) -> int:\n    return value * 3\n"
UNITS = """
    unit_tests:
      - {name: sums, model: totals, given: [], expect: []}
      - name: called
        model: calls
        given: [{input: ref('doubled'), rows: {fixture: ids}}]
        expect: [{id: 6}]
      - name: scaled
        model: twice
        vars: {factor: 3}
        given: [{input: source.web.events, rows: [{id: 2}]}]
        expect: [{id: 6}]
"""


@pytest.fixture
def project(tmp_path):
    shop = Shop(tmp_path, "")
    with (tmp_path / "pyproject.toml").open("a") as file:
        file.write('vars = {factor = 2}\nenv-vars = ["REGION"]\n')
    shop.write("tests/units.yml", UNITS)
    shop.write("tests/fixtures/ids.csv", "id\n2\n")
    shop.write("macros/scaled.py", SCALED)
    for name, sql in {"totals": TOTALS, "twice": TWICE, "doubled": DOUBLED, "calls": CALLS}.items():
        shop.model(name, sql)
    return shop


def contents(shop):
    compiled = compile_project(shop.root)
    assert [diagnostic.message for diagnostic in compiled.diagnostics if diagnostic.severity == "error"] == []
    units = [id_ for id_, node in compiled.manifest.nodes.items() if node.kind == "unit_test"]
    digests = unit_contents(load_project(shop.root, None, None, None), compiled, units)
    return {id_.rpartition(".")[2]: digest for id_, digest in digests.items()}


@pytest.mark.parametrize(
    ("path", "before", "after", "changed"),
    [
        ("models/doubled.sql", "* 2", "* 4", {"called", "scaled"}),
        ("models/totals.sql", "sum(value)", "max(value)", {"sums", "scaled"}),
        ("macros/scaled.py", "* 3", "* 5", {"sums", "called", "scaled"}),
        ("tests/fixtures/ids.csv", "2", "3", {"called", "scaled"}),
        ("tests/units.yml", "id: 6}", "id: 7}", {"called", "scaled"}),
        ("pyproject.toml", "factor = 2", "factor = 5", {"scaled"}),
        ("profiles.yml", "embedded", "embedded, timezone: Asia/Tokyo", {"sums", "called", "scaled"}),
    ],
)
def test_an_edit_changes_what_the_tests_behind_it_run_over(project, path, before, after, changed):
    first = contents(project)
    assert first.keys() == {"sums", "called", "scaled"}
    assert contents(project) == first
    file = project.root / path
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    second = contents(project)
    assert {name for name, digest in second.items() if digest != first[name]} == changed


def test_with_other_variables_anything_declared_counts(project, monkeypatch):
    first = contents(project)
    monkeypatch.setenv("REGION", "north")
    second = contents(project)
    assert {name for name, digest in second.items() if digest != first[name]} == {"scaled"}


@pytest.mark.parametrize(
    ("path", "before", "after", "unknown"),
    [
        ("models/doubled.sql", "* 2", "* 2 + minute(now())", {"called", "scaled"}),
        # With other variables, a model could be another one.
        ("models/twice.sql", "select id", "select {% if var('factor') == 3 %} rand() + {% endif %} id", {"scaled"}),
        ("macros/scaled.py", "    return value * 3", "    import random\n    return random.randint(1, value)", {"called"}),
    ],
)  # fmt: skip
def test_nothing_is_known_where_chance_or_the_clock_decides(project, path, before, after, unknown):
    file = project.root / path
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))
    assert {"sums", "called", "scaled"} - contents(project).keys() == unknown
