"""What an SQL text names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.sql.dialect_words import mentioned_names, read_words, respell_names, writing_word


def test_names_of_tables_and_of_tables_in_a_schema():
    names = {name for name, _ in mentioned_names('select t.a from shop.products as t, "Odd ""one"""')}
    assert {"shop.products", "t.a", "t", 'Odd "one"'} <= names


@pytest.mark.parametrize(
    "sql", ["'totals'", "-- totals", "/* totals\n*/", "'it''s totals'", "1e5", "'totals"]
)
def test_texts_comments_and_numbers_name_nothing(sql):
    assert list(mentioned_names(sql)) == []


@pytest.mark.parametrize(
    "sql",
    ["select 1", "  -- why\n Select 1", "with a as (select 1) select * from a", "(select 1) union (select 2)",
     "values (1)", "from t select a", "select 'into', \"into\", x.copy from t", "select 1;"],
)  # fmt: skip
def test_queries(sql):
    assert writing_word(sql) is None


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("copy (select 1) to 'x'", "copy"),
        ("/* select */ DROP table t", "DROP"),
        ("explain analyze copy (select 1) to 'x'", "explain"),
        ("select a into b from t", "into"),
        ('"select" 1', "select"),
        ("; insert into t values (1)", "insert"),
    ],
)
def test_what_is_no_query(sql, word):
    assert writing_word(sql).name == word


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select USERID from t", 'select "userId" from t'),
        ("select userId from t", "select userId from t"),
        ("select t.userid from T", 'select t."userId" from "t"'),
        ("select 'userid', \"userid\" from t", "select 'userid', \"userid\" from t"),
        ("select a as USERID from t", "select a as USERID from t"),
        ("select userid(1) from t", "select userid(1) from t"),
    ],
)
def test_names_are_written_as_they_are_defined(sql, expected):
    assert respell_names(sql, {"userid": "userId", "t": "t"}) == expected


@given(st.text())
def test_any_text_has_words_where_they_say(sql):
    for word in read_words(sql):
        assert word.name in sql[word.start : word.stop].replace('""', '"').replace("``", "`")
    assert respell_names(sql, {}) == sql
