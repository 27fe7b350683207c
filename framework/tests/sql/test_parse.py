import pytest
from shop import errors

from millstream.sql.parse import Parsed, parse_sql


@pytest.mark.parametrize(
    "sql",
    [
        "select 1",
        "with a as (select 1 as x) select * from a",
        "(select 1)",
        "values (1)",
        "table t",
        "from t select a",
    ],
)
def test_what_is_one_query(sql):
    assert isinstance(parse_sql(sql), Parsed)


@pytest.mark.parametrize("sql", ["", "  \n", "-- only a comment"])
def test_nothing_is_no_query(sql):
    assert errors(sql) == [("MS410", sql[:1])]


def test_a_semicolon_is_too_much():
    assert errors("select 1 as a;") == [("MS410", ";")]


def test_two_statements():
    assert errors("select 1 as a; select 2 as b") == [("MS410", ";")]


def test_a_command_is_no_model():
    assert errors("insert into t select 1 as a") == [("MS410", "insert")]


def test_jinja_that_lost_a_sign():
    assert errors("select { a } from sources.shop.events") == [("MS401", "{")]


def test_a_comma_too_many():
    assert errors("select id, from sources.shop.events") == [("MS401", ",")]


def test_a_parenthesis_that_is_not_closed():
    assert errors("select upper(type from sources.shop.events") == [("MS401", "from")]


def test_a_clause_that_nothing_follows():
    assert errors("select id from sources.shop.events group by") == [("MS401", "group by")]


def test_nothing_is_selected():
    assert errors("select from sources.shop.events") == [("MS401", "select")]


def test_case_without_end():
    assert errors("select case when 1 = 1 then 2 from sources.shop.events") == [("MS401", "2")]


def test_sql_that_is_nested_too_deeply():
    assert errors("select " + "(" * 3000 + "1" + ")" * 3000 + " as a") == [("MS401", "s")]
