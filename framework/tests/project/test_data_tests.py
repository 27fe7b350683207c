import pytest

from millstream.core.text import FileText
from millstream.project.properties import read_properties


def read(tests, *, column=True):
    inside = f"  columns:\n  - name: c\n    tests: {tests}\n" if column else f"  tests: {tests}\n"
    properties, diagnostics = read_properties(FileText("m.yml", f"models:\n- name: m\n{inside}"))
    (model,) = properties.models
    return (model.columns[0].tests if column else model.tests), diagnostics


def one(tests, *, column=True):
    (test,), diagnostics = read(tests, column=column)
    assert diagnostics == []
    return test.name, test.arguments, test.severity


def wrong(tests, *, column=True):
    _, (diagnostic,) = read(tests, column=column)
    return (
        diagnostic.code,
        diagnostic.line[diagnostic.location.column - 1 : diagnostic.location.end - 1],
        diagnostic.message,
        diagnostic.help,
    )


@pytest.mark.parametrize("key", ["tests", "data_tests"])
def test_both_of_dbt_s_words_are_read(key):
    properties, diagnostics = read_properties(
        FileText("m.yml", f"models: [{{name: m, columns: [{{name: c, {key}: [unique]}}]}}]")
    )
    assert diagnostics == []
    assert properties.models[0].columns[0].tests[0].name == "unique"


@pytest.mark.parametrize(
    ("tests", "name", "arguments"),
    [
        ("[not_null]", "not_null", {}),
        ("[not_null: ]", "not_null", {}),
        ("[accepted_values: {values: [a, 1, null]}]", "accepted_values", {"values": ["a", 1, None]}),
        ("[accepted_values: [a, b]]", "accepted_values", {"values": ["a", "b"]}),
        ("[accepted_values: {arguments: {values: [a]}}]", "accepted_values", {"values": ["a"]}),
        ("[relationships: {to: ref('x'), field: id}]", "relationships", {"to": "model.x", "field": "id"}),
        ("[relationships: {to: model.x, field: id}]", "relationships", {"to": "model.x", "field": "id"}),
        ("[expression: 'a > 0']", "expression", {"expression": "a > 0"}),
        ("[expression: {expression: 'a {{ b }}'}]", "expression", {"expression": "a {{ b }}"}),
        ("[mine]", "mine", {}),
        ("[mine: {x: [1], where: b}]", "mine", {"x": [1], "where": "b"}),
    ],
)
def test_forms_of_a_column_s_test(tests, name, arguments):
    assert one(tests) == (name, arguments, "error")


@pytest.mark.parametrize(
    ("tests", "name", "arguments"),
    [
        ("[unique: [a, b]]", "unique", {"columns": ["a", "b"]}),
        ("[row_count: {min: 1}]", "row_count", {"min": 1}),
        ("[row_count: 5]", "row_count", {"equals": 5}),
        ("[freshness: 1 hour]", "freshness", {"within": "1 hour"}),
        ("[expression: a > b]", "expression", {"expression": "a > b"}),
    ],
)
def test_forms_of_a_relation_s_test(tests, name, arguments):
    assert one(tests, column=False) == (name, arguments, "error")


@pytest.mark.parametrize(
    "tests",
    ["[not_null: {severity: drop}]", "[not_null: {config: {severity: drop}}]", "[mine: {severity: drop}]"],
)
def test_severity_stands_in_either_of_dbt_s_places(tests):
    assert one(tests)[1:] == ({}, "drop")


@pytest.mark.parametrize(
    ("tests", "code", "mark", "remedy"),
    [
        ("[not null]", "MS107", "not null", "did you mean 'not_null'?"),
        ("[accepted_values]", "MS108", "accepted_values", "add `values: …`"),
        ("[accepted_values: {values: [a], valus: b}]", "MS106", "valus", "did you mean 'values'?"),
        ("[relationships: {to: reff('x'), field: id}]", "MS107", "reff('x')", None),
        ("[relationships: {to: ref('x')}]", "MS108", "{to: ref('x')}", "add `field: …`"),
        ("[not_null: {severity: err}]", "MS107", "err", "did you mean 'error'?"),
        ("[mine: {severity: err}]", "MS107", "err", "did you mean 'error'?"),
        ("[not_null: 3]", "MS107", "3", None),
        ("[mine: 3]", "MS107", "3", "write mine: {argument: value}"),
        (
            "[{unique: , severity: warn}]",
            "MS107",
            "severity",
            "indent 'severity' below 'unique:', or start it with '-'",
        ),
        ("[row_count: {min: 1}]", "MS107", "row_count", "write it below the model or topic itself"),
        ("not_null", "MS107", "not_null", "write tests: [not_null]"),
        ("[[not_null]]", "MS107", "[not_null]", "write - not_null"),
        ("[expression: {expression: ''}]", "MS107", "''", None),
    ],
)
def test_mistakes_of_a_column_s_test(tests, code, mark, remedy):
    report = wrong(tests)
    assert report[:2] == (code, mark)
    assert report[3]
    assert remedy is None or report[3] == remedy


@pytest.mark.parametrize(
    ("tests", "code", "mark"),
    [
        ("[not_null]", "MS107", "not_null"),
        ("[unique]", "MS108", "unique"),
        ("[row_count]", "MS108", "row_count"),
        ("[row_count: {min: -1}]", "MS107", "-1"),
        ("[freshness: soon]", "MS107", "soon"),
    ],
)
def test_mistakes_of_a_relation_s_test(tests, code, mark):
    assert wrong(tests, column=False)[:2] == (code, mark)
