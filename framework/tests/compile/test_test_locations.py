"""A YAML test that is a macro: its mistakes are shown where YAML names it."""

from pathlib import Path

import pytest

from millstream.compile import compile_project

SOURCES = """\
sources:
  - name: shop
    topics:
      - name: orders
        columns: [{name: id, type: string}, {name: amount, type: double}]
"""
MARTS = """\
models:
  - name: amounts
    columns:
      - name: id
        tests: [not_null]
      - name: amount
        tests: [not_null, positive]
"""


def only_diagnostic(root: Path, macro: str = "", *, marts: str = MARTS):
    files = {"pyproject.toml": "[tool.millstream]\nname = 'p'\n", "models/sources.yml": SOURCES,
             "models/marts.yml": marts, "macros/m.sql": macro,
             "models/amounts.sql": "select id, amount from {{ source('shop', 'orders') }}"}  # fmt: skip
    for name, content in files.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(content)
    diagnostics = [
        diagnostic for diagnostic in compile_project(root).diagnostics if diagnostic.severity == "error"
    ]
    return diagnostics[0] if len(diagnostics) == 1 else diagnostics


def test_an_undefined_macro_is_shown_where_yaml_names_it(tmp_path):
    diagnostic = only_diagnostic(tmp_path)
    assert (diagnostic.code, str(diagnostic.location)) == ("MS202", "models/marts.yml:7:27")
    assert diagnostic.message == "'positive' is undefined: no macro has this name"
    assert diagnostic.help == "add it to macros/: {% macro positive(model, column_name) %} … {% endmacro %}"
    assert "{{ positive" not in diagnostic.line


def test_the_macro_of_the_remedy_works(tmp_path):
    macro = "{% macro positive(model, column_name) %}select 1 from {{ model }} where {{ column_name }} <= 0{% endmacro %}"
    assert only_diagnostic(tmp_path, macro) == []


def test_a_misspelled_macro_has_the_one_that_exists(tmp_path):
    macro = "{% macro positiv(model, column_name) %}select 1 from {{ model }} where {{ column_name }} <= 0{% endmacro %}"
    assert only_diagnostic(tmp_path, macro).help == "did you mean 'positiv'?"


@pytest.mark.parametrize(
    ("macro", "location", "note"),
    [
        ("{% macro positive(model) %}select 1{% endmacro %}", "models/marts.yml:7:27", None),
        ("{% macro positive(model, column_name) %}{{ 1 / 0 }}{% endmacro %}", "macros/m.sql:1:44", "models/marts.yml:7:27"),
    ],
)  # fmt: skip
def test_an_error_of_the_call_is_shown_there(tmp_path, macro, location, note):
    diagnostic = only_diagnostic(tmp_path, macro)
    assert str(diagnostic.location) == location
    assert [str(note.location) for note in diagnostic.notes] == ([note] if note else [])


def test_a_test_in_a_lost_macro_file_is_no_error_of_its_own(tmp_path):
    diagnostic = only_diagnostic(tmp_path, "{% test positive(model, column_name) %}select 1{% endtest %}")
    assert (diagnostic.code, diagnostic.location.path) == ("MS201", "macros/m.sql")
