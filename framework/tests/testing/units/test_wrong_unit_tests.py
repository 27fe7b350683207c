"""Invalid tests are reported at their location and never pass; none of these needs Spark."""

import pytest

INPUT = "{input: source.web.events, rows: [%s]}"


def of_passed(row="{id: 3}", expect="expect: [{id: 3}]", **more):
    message = "".join(f"\n  {key}: {value}" for key, value in more.items())
    return f"- name: t\n  model: passed\n  given: [{INPUT % row}]\n  {expect}{message}"


@pytest.mark.parametrize(
    ("text", "code", "under", "remedy"),
    [
        (of_passed("{idd: 3}"), "MS650", "idd", "did you mean 'id'?"),
        (of_passed(expect="expect: [{usr: a}]"), "MS650", "usr", "did you mean 'user'?"),
        (of_passed("{id: 3, at: '2026-01-01'}"), "MS650", "at", "give the columns it depends on: ms"),
        (of_passed("{id: three}"), "MS651", "three", "write a whole number"),
        (of_passed("{id: 3, kind: 7}"), "MS651", "7", 'put it in quotes: "7"'),
        (of_passed(expect="expect: [{value: yes}]"), "MS651", "yes", "write a number"),
        (of_passed(expect="description: d"), "MS652", "t", "write expect: with rows, or expect: [] for none"),
        (of_passed(expect="expect: [3]"), "MS655", "3", "write {column: value}"),
        (of_passed(expect="expect: [{}]"), "MS655", "{}", "write {column: value}"),
        (of_passed(now="noon"), "MS656", "noon", 'write "2026-01-31 12:00:00"'),
        (of_passed(strict="true"), "MS656", "t", "remove strict"),
        (of_passed(expect_dead_letters="[{vlue: x}]"), "MS650", "vlue", "did you mean 'value'?"),
        (of_passed(overrides="{functions: {double: 3}}"), "MS656", "double", "did you mean 'doubled'?"),
        (of_passed(overrides="{functions: {doubled: x}}"), "MS651", "x", "write a number"),
        (of_passed(steps="[{expect: [{id: 3}]}]"), "MS656", "given", "move it into a step"),
        (of_passed(expect_error="wrong"), "MS656", "expect_error", "remove the expected rows, or test them apart"),
        (of_passed(expect="expect: [{id: 3, _headers: {a: b}}]"), "MS650", "_headers", "columns: id, user, kind, value, at"),
    ],
)  # fmt: skip
def test_diagnostics(shop, text, code, under, remedy):
    assert shop.wrong(text) == [(code, under, remedy)]


def test_an_input_that_is_left_open(shop):
    (diagnostic,) = shop.wrong("- {name: t, model: passed, expect: []}")
    assert diagnostic == ("MS653", "t", "add - {input: \"source('web', 'events')\", rows: []}")


def test_a_model_above_that_is_not_given(shop):
    (diagnostic,) = shop.wrong(
        "- {name: t, model: named, given: [{input: source.web.users, rows: []}], expect: []}"
    )
    assert diagnostic[:2] == ("MS653", "t")
    assert diagnostic[2].endswith("or test the chain: model: +named")


@pytest.mark.parametrize("missing", ["events", "users"])
def test_a_source_that_a_chain_reads_and_that_is_not_given(shop, missing):
    topic = next(name for name in ("events", "users") if name != missing)
    (diagnostic,) = shop.wrong(
        f"- {{name: t, model: +named, given: [{{input: source.web.{topic}, rows: []}}], expect: []}}"
    )
    assert diagnostic == ("MS653", "t", f"add - {{input: \"source('web', '{missing}')\", rows: []}}")


def test_an_input_that_the_model_does_not_read(shop):
    (diagnostic,) = shop.wrong(of_passed().replace("given: [", "given: [{input: ref('kinds'), rows: []}, "))
    assert diagnostic[0] == "MS654"


def test_a_csv_file_that_is_not_there(shop):
    (diagnostic,) = shop.wrong(
        "- {name: t, model: passed, given: [{input: source.web.events, fixture: evnts}], expect: []}"
    )
    assert diagnostic == ("MS655", "evnts", "create tests/fixtures/evnts.csv")


def test_all_mistakes_at_once(shop):
    diagnostics = shop.wrong(of_passed("{idd: 3, kind: 7}", "expect: [{usr: a}]"))
    assert [code for code, _, _ in diagnostics] == ["MS650", "MS651", "MS650"]


def test_a_column_that_no_row_can_have_is_one_mistake(shop):
    diagnostics = shop.wrong(of_passed("{idd: 3}, {idd: 4, kind: 7}", "expect: [{usr: a}, {usr: b}]"))
    assert [(code, under) for code, under, _ in diagnostics] == [
        ("MS650", "idd"),
        ("MS651", "7"),
        ("MS650", "usr"),
    ]
