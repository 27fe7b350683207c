"""Text in cells."""

from hypothesis import given
from hypothesis import strategies as st

from millstream.core.text import clean_text
from millstream.explain.formats.text import count_cells, pad_text, wrap_text


@given(st.text(), st.integers(20, 60))
def test_no_line_is_wider(message: str, width: int) -> None:
    assert all(count_cells(line) <= width for line in wrap_text(clean_text(message), width, "- ", "  "))


@given(st.lists(st.text("abc漢", min_size=1, max_size=40)))
def test_no_character_is_lost(words: list[str]) -> None:
    text = "".join(wrap_text(" ".join(words), 20, "", ""))
    assert text.replace(" ", "") == "".join(words)


def test_the_first_line_and_the_others_have_their_indents() -> None:
    assert wrap_text("aaaa bbbb cccc", 12, "- ", "  ") == ["- aaaa bbbb", "  cccc"]


def test_wide_characters_take_two_cells() -> None:
    assert count_cells("漢a") == 3
    assert pad_text("漢", 4) == "漢  "


def test_control_characters_are_clean() -> None:
    assert clean_text("a\nb\x1b[0m") == "a␊b␛[0m"
