"""Offsets, lines and columns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.text import FileText, Location

CONTENT = st.text(st.sampled_from("ab\t\r\n é😀\u2028\x0b"), max_size=40)


def test_lines_and_columns_count_from_one():
    assert FileText("a.sql", "select\n  x").location(9, 10) == Location("a.sql", 2, 3, 4)


def test_a_location_reads_as_path_line_column():
    assert str(Location("models/a.sql", 12, 3, 9)) == "models/a.sql:12:3"


def test_a_place_without_an_end_is_one_character_wide():
    assert FileText("a", "abc").location(1) == Location("a", 1, 2, 3)


def test_a_range_over_lines_ends_with_its_first_line():
    assert FileText("a", "select 1,\n  2").location(7, 13) == Location("a", 1, 8, 10)


def test_a_carriage_return_belongs_to_the_line_end():
    text = FileText("a", "ab\r\ncd\r\n")
    assert [text.line(1), text.line(2), text.line(3)] == ["ab", "cd", ""]
    assert text.location(4, 6) == Location("a", 2, 1, 3)
    assert text.location(0, 6) == Location("a", 1, 1, 3)


def test_only_the_carriage_return_of_the_line_end_is_left_out():
    assert FileText("a", "a\r\r\nb").line(1) == "a\r"


@pytest.mark.parametrize("separator", ["\u2028", "\x0b", "\x0c", "\x85", "\r"])
def test_nothing_but_a_newline_ends_a_line(separator):
    assert FileText("a", f"a{separator}b").location(2) == Location("a", 1, 3, 4)


def test_a_tab_and_an_emoji_are_one_column_each():
    assert FileText("a", "\t😀x").location(2, 3) == Location("a", 1, 3, 4)


def test_past_the_end_is_after_the_last_character():
    assert FileText("a", "ab\ncd").location(99) == Location("a", 2, 3, 4)


def test_an_empty_text_has_a_first_place():
    text = FileText("a", "")
    assert text.location(0) == Location("a", 1, 1, 2)
    assert text.line(1) == ""


@pytest.mark.parametrize("number", [-1, 0, 3])
def test_lines_that_are_not_there_are_empty(number):
    assert FileText("a", "x\ny").line(number) == ""


@given(CONTENT, st.data())
def test_a_location_leads_back_to_its_offset(content, data):
    text = FileText("a", content)
    start = data.draw(st.integers(0, len(content)))
    location = text.location(start)
    assert text.offset(location.line, location.column) == start


@given(CONTENT, st.data())
def test_a_location_within_a_line_shows_what_it_spans(content, data):
    text = FileText("a", content)
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, len(content)))
    location = text.location(start, stop)
    assert location.end > location.column
    spanned = content[start:stop].split("\n")[0]
    if spanned.rstrip("\r"):
        shown = text.line(location.line)[location.column - 1 : location.end - 1]
        assert shown in {spanned, spanned.removesuffix("\r")}


@given(CONTENT)
def test_lines_are_what_newlines_part(content):
    text = FileText("a", content)
    parts = content.split("\n")
    lines = [text.line(number) for number in range(1, len(parts) + 1)]
    assert lines == [*(part.removesuffix("\r") for part in parts[:-1]), parts[-1].removesuffix("\r")]
