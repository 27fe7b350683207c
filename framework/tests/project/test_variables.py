"""Variables from three places."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.project.variables import merge_variables


def test_the_nearer_place_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_VARS", '{"b": 2, "c": 2}')
    merged, errors = merge_variables({"a": 1, "b": 1, "c": 1}, "{c: 3}")
    assert errors == []
    assert merged == {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize(
    ("variables", "value"),
    [
        ("a: [1, x]", [1, "x"]),
        ("{a: {b: true}}", {"b": True}),
        ('{\n\t"a": "\\ud83d\\ude00"\n}', "😀"),
        ("a: 2024-01-31", "2024-01-31"),
        ('{"a": 1e3}', 1000.0),
        ({"a": [1]}, [1]),
    ],
)
def test_yaml_json_and_mappings_are_read(variables, value) -> None:
    assert merge_variables({}, variables) == ({"a": value}, [])


@pytest.mark.parametrize("variables", [None, "", " ", {}])
def test_nothing_is_nothing(variables) -> None:
    assert merge_variables({"a": 1}, variables) == ({"a": 1}, [])


@pytest.mark.parametrize(
    ("variables", "location", "remedy"),
    [
        ("{a: [}", "--vars:1:6", "write --vars '{name: value}'"),
        ("a:1", "--vars:1:1", "add a space after the colon: --vars '{name: value}'"),
        ("[a]", "--vars:1:1", "write --vars '{name: value}'"),
        ("{b: 1, a: {c: [1, 99999999999999999999]}}", "--vars:1:19", "put it in quotes"),
        ('{"a": 1, "a": 2}', "--vars:1:10", "write --vars '{name: value}'"),
        ('{"a": "\\ud83d"}', "--vars:1:10", "write --vars '{name: value}'"),
    ],
)
def test_a_mistake_is_located_in_the_text(variables: str, location: str, remedy: str) -> None:
    _, errors = merge_variables({}, variables)
    assert [(p.code, str(p.location), p.help) for p in errors] == [("MS115", location, remedy)]


def test_a_mistake_of_the_environment_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLSTREAM_VARS", "- a")
    assert str(merge_variables({}, None)[1][0].location) == "MILLSTREAM_VARS:1:1"


@given(st.text())
def test_no_text_is_too_strange(text: str) -> None:
    _, errors = merge_variables({}, text)
    assert {p.code for p in errors} <= {"MS115"}
