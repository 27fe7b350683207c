"""Unit tests with too few or too many inputs are planned once the inputs are what the remedy says."""

EVENTS = "{input: \"source('web', 'events')\", rows: []}"
USERS = "{input: source.web.users, rows: []}"


def unit_test(model, *inputs):
    return f"- {{name: t, model: {model}, given: [{', '.join(inputs)}], expect: []}}"


def test_an_input_that_is_missing(shop):
    ((code, _, remedy),) = shop.wrong(unit_test("passed"))
    assert (code, remedy) == ("MS653", f"add - {EVENTS}")
    shop.passes(unit_test("passed", EVENTS))


def test_a_model_whose_rows_are_missing(shop):
    ((code, _, remedy),) = shop.wrong(unit_test("named", USERS))
    assert (code, remedy.endswith("or test the chain: model: +named")) == ("MS653", True)
    shop.passes(unit_test("+named", USERS, EVENTS))


def test_an_input_that_the_model_does_not_read(shop):
    ((code, _, remedy),) = shop.wrong(unit_test("passed", EVENTS, USERS))
    assert (code, remedy) == ("MS654", "remove this input, or test a model that reads it")
    shop.passes(unit_test("passed", EVENTS))


def test_rows_that_differ(shop):
    text = (
        "- {name: t, model: passed, given: [{input: source.web.events, rows: [{id: 3}]}], expect: [{id: %d}]}"
    )
    diagnostic, _ = shop.fails(text % 4)
    assert (diagnostic.code, diagnostic.help) == ("MS658", "fix the model, or what the test expects")
    shop.passes(text % 3)
