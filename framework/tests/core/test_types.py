"""Spark's types read from DDL and written as DDL."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core import types
from millstream.core.types import Array, Decimal, Field, Map, Row, TypeSyntaxError, parse_type

SIMPLE = st.sampled_from(
    (
        *(types.BOOLEAN, types.STRING, types.BINARY, *types.INTEGERS, types.FLOAT, types.DOUBLE, types.DATE),
        *(types.TIMESTAMP, types.TIMESTAMP_NTZ, types.INTERVAL, types.VARIANT, types.NULL),
    )
)
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.builds(Decimal, st.just(p), st.integers(0, p)))
FIELD_NAMES = st.text(min_size=1, max_size=6) | st.sampled_from(
    ["1e5", "42", "select", "a`b", "é", "a b", "<", "`"]
)
TYPES = st.recursive(
    SIMPLE | DECIMALS,
    lambda inner: st.one_of(
        st.builds(Array, inner),
        st.builds(Map, inner, inner),
        st.lists(st.builds(Field, FIELD_NAMES, inner), max_size=3).map(lambda fields: Row(tuple(fields))),
    ),
    max_leaves=8,
)


def spaced(ddl):
    """Put spaces wherever DDL allows them; quoted names must stay as they are."""
    parts = ddl.split("`")
    parts[::2] = [part.translate({ord(c): f" {c}\n\t" for c in "<>(),:"}) for part in parts[::2]]
    return f" {'`'.join(parts)} "


@given(TYPES)
def test_what_is_written_is_read_back(kind):
    assert parse_type(str(kind)) == kind


@given(TYPES)
def test_spaces_say_nothing(kind):
    assert parse_type(spaced(str(kind))) == kind


@given(st.text("<>(),:`abcdefghijklmnoprstuy 0129²\n", max_size=30))
def test_any_text_is_a_type_or_a_located_error(text):
    try:
        kind = parse_type(text)
    except TypeSyntaxError as error:
        offset = error.offset
    else:
        assert parse_type(str(kind)) == kind
        return
    assert offset == len(text) or not text[offset].isspace()


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("BIGINT", types.BIGINT),
        ("long", types.BIGINT),
        ("Integer", types.INT),
        ("timestamp_ltz", types.TIMESTAMP),
        ("decimal", Decimal(10, 0)),
        ("numeric(5)", Decimal(5, 0)),
        ("dec(5, 2)", Decimal(5, 2)),
        ("varchar(20)", types.STRING),
        ("struct<a int, b: array<string>>", Row((Field("a", types.INT), Field("b", Array(types.STRING))))),
        ("struct<>", Row(())),
    ],
)
def test_spellings_that_spark_knows(written, kind):
    assert parse_type(written) == kind


@pytest.mark.parametrize(
    ("name", "written"),
    [("user_id", "user_id"), ("a b", "`a b`"), ("a`b", "`a``b`"), ("1e5", "`1e5`"), ("é", "`é`")],
)
def test_field_names_are_quoted_where_spark_needs_it(name, written):
    assert str(Field(name, types.INT)) == f"{written}:int"


@pytest.mark.parametrize(
    ("written", "offset", "message"),
    [
        ("", 0, "the type ends too early"),
        ("strin", 0, "unknown type 'strin'"),
        ("array< strin>", 7, "unknown type 'strin'"),
        ("array<string", 12, "the type ends too early"),
        ("array string", 6, "expected '<', not 'string'"),
        ("map<string>", 10, "expected ',', not '>'"),
        ("int int", 4, "unexpected 'int' after the type"),
        ("int ?", 4, "unexpected '?' after the type"),
        ("struct<a: int, : int>", 15, "expected the name of a field, not ':'"),
        ("struct<<int>>", 7, "expected the name of a field, not '<'"),
        ("struct<``: int>", 7, "expected the name of a field, not '``'"),
        ("struct<a-b: int>", 8, "unexpected '-'"),
        ("decimal(x)", 8, "expected a number, not 'x'"),
        ("decimal(²)", 8, "expected a number, not '²'"),
        ("decimal(39,1)", 0, "a decimal has at most 38 digits, and its scale is at most its precision"),
        ("array<decimal(2,3)>", 6, "a decimal has at most 38 digits, and its scale is at most its precision"),
    ],
)
def test_an_error_says_what_and_where(written, offset, message):
    with pytest.raises(TypeSyntaxError) as caught:
        parse_type(written)
    assert (str(caught.value), caught.value.offset) == (message, offset)


def test_an_unknown_type_is_named_for_suggestions():
    with pytest.raises(TypeSyntaxError) as caught:
        parse_type("map<string, Bigin>")
    assert caught.value.name == "bigin"


def test_absurd_nesting_is_an_error_and_no_crash():
    with pytest.raises(TypeSyntaxError, match="nested more than 100 levels deep"):
        parse_type("array<" * 5000)


def test_numbers_of_absurd_length_are_an_error():
    with pytest.raises(TypeSyntaxError, match="expected a number"):
        parse_type(f"decimal({'9' * 5000})")


def test_fields_are_found_whatever_their_case():
    row = Row((Field("UserId", types.INT),))
    assert row.field("userid") == Field("UserId", types.INT)
    assert row.field("user") is None
