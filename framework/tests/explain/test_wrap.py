"""Text in cells."""

from hypothesis import given
from hypothesis import strategies as st

from millstream.core.text import clean
from millstream.explain.formats.text import cells, padded, wrapped


@given(st.text(), st.integers(20, 60))
def test_no_line_is_wider(said: str, width: int) -> None:
    assert all(cells(line) <= width for line in wrapped(clean(said), width, "- ", "  "))


@given(st.lists(st.text("abc漢", min_size=1, max_size=40)))
def test_no_character_is_lost(words: list[str]) -> None:
    text = "".join(wrapped(" ".join(words), 20, "", ""))
    assert text.replace(" ", "") == "".join(words)


def test_the_first_line_and_the_others_have_their_indents() -> None:
    assert wrapped("aaaa bbbb cccc", 12, "- ", "  ") == ["- aaaa bbbb", "  cccc"]


def test_wide_characters_take_two_cells() -> None:
    assert cells("漢a") == 3
    assert padded("漢", 4) == "漢  "


def test_control_characters_are_clean() -> None:
    assert clean("a\nb\x1b[0m") == "a␊b␛[0m"
