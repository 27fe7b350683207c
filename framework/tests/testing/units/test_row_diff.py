import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.text import Location
from millstream.testing.styled_text import plain_text
from millstream.testing.units.diff_table import diff_lines
from millstream.testing.units.row_diff import diff_rows, equal_values
from millstream.testing.units.values import ExpectedRow

LOCATION = Location("t.yml", 1, 1)


def expected(*rows):
    return [ExpectedRow(row, LOCATION) for row in rows]


def test_a_row_that_names_less_leaves_the_others_theirs():
    actual = [{"a": 1, "b": 1}, {"a": 1, "b": 2}]
    assert diff_rows(expected({"a": 1}, {"a": 1, "b": 1}), actual) is None
    assert diff_rows(expected({"a": 1, "b": 1}, {"a": 1}), actual) is None


def test_the_same_row_twice_is_two_rows():
    row_diff = diff_rows(expected({"a": 1}), [{"a": 1}, {"a": 1}])
    assert [(pair.expected, pair.actual) for pair in row_diff.pairs] == [(None, {"a": 1})]


def test_rows_with_equal_keys_are_paired():
    row_diff = diff_rows(
        expected({"k": 1, "a": 1, "b": 1}), [{"k": 2, "a": 1, "b": 1}, {"k": 1, "a": 5, "b": 5}], ["k"]
    )
    assert row_diff.pairs[0].wrong == ("a", "b")


def test_a_deleted_row_is_none_that_stays():
    assert diff_rows(expected({"k": 1, "_deleted": True}), [{"k": 1, "_deleted": True}]) is None
    assert diff_rows(expected({"k": 1, "_deleted": True}), [{"k": 1, "n": 2}]).pairs[0].wrong == ("_deleted",)
    assert diff_rows(expected({"k": 1, "n": 2}), [{"k": 1, "_deleted": True}]) is not None


def test_values():
    assert equal_values(0.1 + 0.2, 0.3)
    assert equal_values(math.nan, math.nan)
    assert not equal_values(True, 1)
    assert not equal_values(None, 0)
    assert equal_values([{"a": [1.0]}], [{"a": [1]}])


rows = st.lists(st.fixed_dictionaries({"a": st.integers(0, 2), "b": st.integers(0, 1)}), max_size=6)


@given(rows, st.randoms())
def test_order_does_not_matter(given_rows, random):
    actual = list(given_rows)
    random.shuffle(actual)
    assert diff_rows(expected(*given_rows), actual) is None


@given(rows, rows)
def test_different_rows(one, other):
    # Equal rows can name their columns in another order.
    same = sorted(sorted(row.items()) for row in one) == sorted(sorted(row.items()) for row in other)
    assert (diff_rows(expected(*one), other) is None) == same


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (["b", "a"], ["a", "b"], True),
        ([{"n": 1.0}, {"n": 2.0}], [{"n": 2.0}, {"n": 1.0}], True),
        (["a", "a", "b"], ["a", "b", "b"], False),
        (["a"], ["a", "b"], False),
        ("ab", "ba", False),
    ],
)
def test_lists_that_differ_in_their_order_alone_are_said_to(one, other, message):
    diff = diff_rows(expected({"id": 1, "all": one}), [{"id": 1, "all": other}], ["id"])
    text = plain_text(diff_lines(diff))
    assert ("only the order of all differs" in text) == message
