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
DIAGNOSTIC = Diagnostic("MS868", "halves: DIVIDE_BY_ZERO: Division by zero.", None, "filter out such rows")


def located(*contents):
    return at_line(
        DIAGNOSTIC, ERROR, [SqlFile("m", f"models/m{n}.sql", text, "") for n, text in enumerate(contents)]
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
    diagnostic = located(sql, "select 1")
    assert diagnostic.location.path == "models/m0.sql"
    assert diagnostic.line == sql.splitlines()[diagnostic.location.line - 1]
    assert diagnostic.line[diagnostic.location.column - 1 : diagnostic.location.end - 1] == under
    assert diagnostic.message == DIAGNOSTIC.message


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
    diagnostic = located(*contents)
    assert (diagnostic.location, diagnostic.message) == (None, f"{DIAGNOSTIC.message} In: 1 / (`value` - 7)")


def test_an_error_without_sql_stays_as_it_is():
    assert (
        at_line(DIAGNOSTIC, "[DIVIDE_BY_ZERO] Division by zero.", [SqlFile("m", "m.sql", "1/0", "")])
        == DIAGNOSTIC
    )
