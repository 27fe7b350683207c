"""The line of a model whose expression fails on a row."""

import pytest

from millstream.core.errors import Diagnostic
from millstream.engine.queries.failing_line import at_line
from millstream.project.values import SqlFile

ERROR = """[STREAM_FAILED] Query [id = 1] terminated with exception: [DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012
== SQL of VIEW halves (line 2, position 5) ==
    (1 / (`value` - 7)) as half
     ^^^^^^^^^^^^^^^^^
"""
PROBLEM = Diagnostic("MS868", "halves: DIVIDE_BY_ZERO: Division by zero.", None, "filter out such rows")


def located(*contents):
    return at_line(
        PROBLEM, ERROR, [SqlFile("m", f"models/m{n}.sql", text, "") for n, text in enumerate(contents)]
    )


@pytest.mark.parametrize(
    ("sql", "under"),
    [
        ("select id,\n  1 / (value - 7) as half\nfrom x", "1 / (value - 7"),
        ("select id,\n  1/(e.value-7) as half\nfrom x as e", "1/(e.value-7"),
        ("-- 1 / (value - 7)\nselect 1 / -- of all\n  (value - 7)", "1 / -- of all"),
    ],
)
def test_the_line_is_that_of_the_expression(sql, under):
    found = located(sql, "select 1")
    assert found.location.path == "models/m0.sql"
    assert found.line == sql.splitlines()[found.location.line - 1]
    assert found.line[found.location.column - 1 : found.location.end - 1] == under
    assert found.message == PROBLEM.message


@pytest.mark.parametrize(
    "contents",
    [
        ("select {{ half('value') }}",),
        ("select 1 / (value - 7), 1 / (value - 7)",),
        ("select 1 / (value - 7)", "select 1 / (value - 7)"),
        ("select 21 / (value - 7)", "select 1 / (value - 70)"),
    ],
)
def test_what_is_in_no_place_or_in_several_is_named(contents):
    found = located(*contents)
    assert (found.location, found.message) == (None, f"{PROBLEM.message} In: 1 / (`value` - 7)")


def test_an_error_without_sql_stays_as_it_is():
    assert (
        at_line(PROBLEM, "[DIVIDE_BY_ZERO] Division by zero.", [SqlFile("m", "m.sql", "1/0", "")]) == PROBLEM
    )
