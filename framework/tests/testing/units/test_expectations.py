"""Actual rows are written into YAML as people wrote it: nothing else of the file changes."""

from textwrap import dedent

import pytest

from millstream.core.text import FileText
from millstream.project.properties import read_properties
from millstream.testing.units.expectations import flow_value, update_expectations
from millstream.testing.units.files import YamlFiles
from millstream.testing.units.row_diff import diff_rows
from millstream.testing.units.values import ExpectedRow


def updated(folder, text, actual, step=None):
    """Write actual rows into the only test of a file."""
    content = dedent(text).strip() + "\n"
    (folder / "t.yml").write_text(content)
    (unit,) = read_properties(FileText("t.yml", content))[0].unit_tests
    files = YamlFiles(folder)
    base = () if step is None else ("steps", step)
    body = unit.body if step is None else unit.body["steps"][step]
    rows = body["expect"]
    path = (*base, "expect")
    if isinstance(rows, dict):
        rows, path = rows["rows"], (*path, "rows")
    expected = [ExpectedRow(row, files.location(unit, (*path, i))) for i, row in enumerate(rows)]
    assert update_expectations(files, unit, [(step, diff_rows(expected, actual, ["id"]))])
    return (folder / "t.yml").read_text()


TEST = """
    unit_tests: # of orders
      - name: t
        model: m
        expect:
          # the first
          - {id: 1, name: one,   value: 1.5} # keep me
          - id: 2
            name: two
            value: 2
    exposures: []
"""


def test_values_change_and_all_else_stays(tmp_path):
    rows = [{"id": 1, "name": "uno", "value": 1.5}, {"id": 2, "name": "two", "value": 2.25}]
    expected = dedent(TEST).strip().replace("name: one", "name: uno").replace("value: 2\n", "value: 2.25\n")
    assert updated(tmp_path, TEST, rows) == expected + "\n"


def test_rows_go_and_come(tmp_path):
    yaml_text = updated(
        tmp_path, TEST, [{"id": 1, "name": "one", "value": 1.5}, {"id": 3, "name": "a, b", "value": None}]
    )
    lines = yaml_text.splitlines()
    assert lines[5] == "      - {id: 1, name: one,   value: 1.5} # keep me"
    assert "name: two" not in yaml_text
    assert '- {id: 3, name: "a, b", value: null}' in yaml_text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[]", "[{id: 1, name: x}]"),
        ("[{id: 1, name: y}]", "[{id: 1, name: x}]"),
        ("{rows: [{id: 1, name: y}, {id: 2, name: z}]}", "{rows: [{id: 1, name: x}]}"),
    ],
)
def test_lists_in_brackets(tmp_path, before, after):
    text = f"unit_tests: [{{name: t, model: m, expect: {before}}}]"
    assert (
        updated(tmp_path, text, [{"id": 1, "name": "x"}])
        == f"unit_tests: [{{name: t, model: m, expect: {after}}}]\n"
    )


def test_a_step(tmp_path):
    text = """
        unit_tests:
          - name: t
            model: m
            steps:
              - expect: [{id: 1, n: 1}]
              - expect: [{id: 1, n: 2}]
    """
    yaml_text = updated(tmp_path, text, [{"id": 1, "_deleted": True}], step=1)
    assert yaml_text.splitlines()[4:] == [
        "      - expect: [{id: 1, n: 1}]",
        "      - expect: [{id: 1, _deleted: true}]",
    ]


def test_values_are_read_back_as_they_were():
    import yaml

    for value in (
        "null",
        "a: b",
        "2026-01-01",
        "1",
        "",
        " x",
        "é",
        "x#y",
        "- a",
        "yes",
        "1e5",
        "[a]",
        "u1@0",
        1.0,
        -3,
        True,
        None,
        [1, {"a": "b, c"}],
    ):
        assert yaml.safe_load(f"[{flow_value(value)}]") == [value]
