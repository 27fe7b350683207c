"""Diagnostics as text and as data."""

import time

import msgspec
import pytest

from millstream.cli.diagnostics import (
    as_data,
    render_diagnostic,
    summarize_diagnostics,
    with_lines,
)
from millstream.core.diagnostic_text import cut_excerpt
from millstream.core.errors import Diagnostic, DiagnosticNote
from millstream.core.text import Location

DIAGNOSTIC = Diagnostic(
    "MS402",
    "there is no column 'amout'",
    Location("models/a.sql", 12, 8, 13),
    "did you mean 'amount'?",
    "select amout from x",
    (
        DiagnosticNote("the macro is called here", Location("models/b.sql", 3, 1, 4)),
        DiagnosticNote("it has two columns"),
    ),
)


def test_text_shows_place_line_caret_notes_and_remedy():
    assert render_diagnostic(DIAGNOSTIC).plain == (
        "error[MS402]: there is no column 'amout'\n"
        "  --> models/a.sql:12:8\n"
        "   |\n"
        "12 | select amout from x\n"
        "   |        ^^^^^\n"
        "   = note: the macro is called here: models/b.sql:3:1\n"
        "   = note: it has two columns\n"
        "   = help: did you mean 'amount'?"
    )


def test_without_a_place_there_is_no_gutter():
    diagnostic = Diagnostic("MS701", "there is no command 'x'", None, "see `millstream --help`")
    assert (
        render_diagnostic(diagnostic).plain
        == "error[MS701]: there is no command 'x'\n  = help: see `millstream --help`"
    )


def test_without_a_line_there_is_no_caret():
    assert "^" not in render_diagnostic(msgspec.structs.replace(DIAGNOSTIC, line="")).plain


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "before", "carets"),
    [
        ("\tselect x", 9, 10, "    select x", 11, 1),
        ("select '日本', x", 14, 15, "select '日本', x", 15, 1),
        ("select 日本", 8, 10, "select 日本", 7, 4),
        ("a\tb", 2, 3, "a    b", 1, 4),
        ("select", 7, 8, "select", 6, 1),
        ("", 1, 2, "", 0, 1),
        ("select x", 8, 0, "select x", 7, 1),
        ("select x", 8, 99, "select x", 7, 1),
    ],
)
def test_carets_stand_below_what_they_mean(line, column, end, shown, before, carets):
    assert cut_excerpt(line, column, end, 40) == (shown, before, carets)


def test_a_line_that_is_too_long_is_cut_around_the_caret():
    line, before, carets = cut_excerpt("a" * 500 + "WRONG" + "b" * 500, 501, 506, 40)
    assert line.startswith("…aaa")
    assert line.endswith("bbb…")
    assert line[before : before + carets] == "WRONG"
    assert len(line) == 40


@pytest.mark.parametrize(("column", "head", "tail"), [(1, "WRONG", "…"), (996, "…", "WRONG")])
def test_a_cut_line_has_no_ellipsis_at_its_own_ends(column, head, tail):
    text = "WRONG" + "a" * 995 if column == 1 else "a" * 995 + "WRONG"
    line, before, carets = cut_excerpt(text, column, column + 5, 40)
    assert line.startswith(head)
    assert line.endswith(tail)
    assert line[before : before + carets] == "WRONG"


def test_a_span_wider_than_the_terminal_is_underlined_as_far_as_it_is_shown():
    line, before, carets = cut_excerpt("x" * 1000, 1, 1001, 40)
    assert before + carets <= 40
    assert len(line) <= 40


def test_a_line_of_a_megabyte_is_shown_at_once():
    text = "a" * 1_000_000
    start = time.perf_counter()
    line, _, _ = cut_excerpt(text, 500_000, 500_001, 100)
    assert time.perf_counter() - start < 0.5
    assert len(line) <= 100


def test_the_users_text_is_no_markup_and_sends_nothing_to_the_terminal():
    diagnostic = Diagnostic(
        "MS402", "[red]x[/red] \x1b[31m", Location("a\x07.sql", 1, 1, 2), "", "[b]\x1b]0;t\x07"
    )
    text = render_diagnostic(diagnostic).plain
    assert "[red]x[/red] ␛[31m" in text
    assert "[b]␛]0;t␇" in text
    assert "\x1b" not in text
    assert "\x07" not in text


def test_the_order_of_the_shown_characters_is_that_of_the_file():
    location = Location("a.sql", 1, 8, 9)
    diagnostic = Diagnostic("MS402", "column '\u202ex' is unknown", location, "", "select \u202ex -- \u2066y")
    text = render_diagnostic(diagnostic).plain
    assert "column '\\u202ex' is unknown" in text
    assert "select \\u202ex -- \\u2066y" in text


def test_half_characters_can_be_written():
    render_diagnostic(Diagnostic("MS102", "file \udcff", None)).plain.encode("utf-8")


@pytest.mark.parametrize(
    ("severities", "models", "message"),
    [
        (["error", "error", "warning"], 14, "2 errors, 1 warning in 14 models"),
        (["error"], 1, "1 error in 1 model"),
        (["warning", "warning"], None, "2 warnings"),
    ],
)
def test_summary_counts(severities, models, message):
    assert summarize_diagnostics([Diagnostic("MS1", "x", severity=s) for s in severities], models) == message


def test_data_has_every_part():
    assert as_data(DIAGNOSTIC) == {
        "code": "MS402",
        "severity": "error",
        "message": "there is no column 'amout'",
        "path": "models/a.sql",
        "line": 12,
        "column": 8,
        "end": 13,
        "help": "did you mean 'amount'?",
        "notes": [
            {"message": "the macro is called here", "path": "models/b.sql", "line": 3, "column": 1, "end": 4},
            {"message": "it has two columns", "path": None, "line": None, "column": None, "end": None},
        ],
        "line_text": "select amout from x",
    }


def test_lines_are_filled_in_from_the_files(tmp_path):
    (tmp_path / "a.yml").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (diagnostic,) = with_lines([Diagnostic("MS106", "x", Location("a.yml", 2, 1, 4))], tmp_path)
    assert diagnostic.line == "two"


def test_lines_of_profiles_are_not_shown(tmp_path):
    (tmp_path / "profiles.yml").write_text("password: hunter2\n")
    (diagnostic,) = with_lines([Diagnostic("MS113", "x", Location("profiles.yml", 1, 1, 4))], tmp_path)
    assert diagnostic.line == ""


def test_a_file_that_is_gone_has_no_line(tmp_path):
    (diagnostic,) = with_lines([Diagnostic("MS102", "x", Location("gone.sql", 1, 1, 4))], tmp_path)
    assert diagnostic.line == ""
