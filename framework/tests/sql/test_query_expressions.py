"""What is known of each expression of a query: its pieces, and what may be done with it."""

import pytest
from query_as_text import expression
from shop import analysis

from millstream.core.expressions import Expression, Ref
from millstream.core.types import BIGINT, STRING
from millstream.sql.query import Select


def one(sql: str, source: str = "sources.shop.events") -> Expression:
    analyzed = analysis(f"select {sql} as x from {source}")
    assert not analyzed.diagnostics, analyzed.diagnostics
    assert analyzed.query is not None
    assert isinstance(analyzed.query.body, Select)
    return analyzed.query.body.items[0].expression


TEXTS = {
    "ID  +1": "events.id + 1!",
    "COALESCE( Type,'A' )": "coalesce(events.type, 'A')",
    "Cast(id AS Decimal(12,2))": "cast(events.id as decimal(12, 2))!",
    "id :: STRING": "events.id::string",
    "- - id": "- -events.id!",
    "value - -1": "events.value - -1",
    "-value * (-1)": "-events.value * (-1)",
    "id << 2 | (id << 1)": "events.id << 2 | (events.id << 1)",
    "CASE WHEN id > 1 THEN 'It''s' ELSE \"Y\" END": "case when events.id > 1 then 'It''s' else \"Y\" end",
    "INTERVAL  5 MINUTES": "interval 5 minutes",
    "extract(HOUR from ts)": "extract(hour from events.ts)",
    "DATE'2026-01-01'": "date '2026-01-01'",
    "id /* of it */ = -- all\n 100L": "events.id = 100L",
    "meta . Device": "events.meta.Device",
    "meta['device']": "events.meta['device']",
    "v : a.b[0]::int": "events.v:a.b[0]::int!",
    "v:a": "events.v:a",
    "cast(array() as array < struct<a: INT, b: map< string,array<int> >>>)": (
        "cast(array() as array<struct<a:int, b:map<string, array<int>>>>)"
    ),
    "id NOT IN (1,2)": "events.id not in (1, 2)",
    "`type` is  Not  null": "events.type is not null",
    "(select max(age) from models.users)": "(select max(age) from {model.users} as users)",
    "(select models.users.age from models.users)": "(select users.age from {model.users} as users)",
    "id > (select min(u.id) from models.users as u)": "events.id > (select min(u.id) from {model.users} as u)",
    "struct(ID, type as t, meta.os, upper(type))": (
        "struct(events.id as ID, events.type as t, events.meta.os as os, upper(events.type))"
    ),
    "struct(id, user_id)": "struct(events.id:named, events.user_id:named)",
    "(id, type)": "(events.id:named, events.type:named)",
    "arrays_zip(tags, tags)": "arrays_zip(events.tags:fixed, events.tags:fixed)",
    "to_json(struct(u.*))": (
        "to_json(struct(u.id:named, u.name:named, u.country:named, u.age:named))",
        "models.users u",
    ),
    "hash(*)": ("hash(u.id, u.name, u.country, u.age)", "models.users u"),
    "filter(tags, t -> t = type)": "filter(events.tags, t -> t = events.type:lambda)",
    "Score(type, value => value)": "score(events.type, value => events.value)!",
}


@pytest.mark.parametrize("sql", TEXTS)
def test_the_text_is_that_of_the_user_in_one_spacing(sql):
    expected = TEXTS[sql]
    text, source = expected if isinstance(expected, tuple) else (expected, "sources.shop.events")
    assert expression(one(sql, source)) == text


def test_pieces_are_cut_around_columns_alone():
    assert one("upper(type) || meta.os").pieces == (
        "upper(",
        Ref("type", "events"),
        ") || ",
        Ref("meta", "events"),
        ".os",
    )


def test_types_are_those_of_the_analysis():
    count = one("count(*) + 1", "sources.shop.events")
    assert (count.type, count.nullable) == (BIGINT, False)
    assert (one("type").type, one("type").nullable) == (STRING, True)


FAILS = (
    "id + 1", "id / id", "1.0 / value", "id % id", "-id", "cast(type as int)", "type::timestamp", "cast(id as int)",
    "cast(price as int)", "tags[0]", "element_at(tags, 1)", "id > type", "id in (1, type)", "coalesce(id, type)",
    "case when id > 1 then id else type end", "case id when type then 1 end", "to_date(type)", "year(type)",
    "sqrt(type)", "type rlike user_id", "score(type)", "raise_error('x')", "not type",
    "extract(year from type)", "upper(cast(id + 1 as string))", "transform(tags, t -> t::int)",
)  # fmt: skip


@pytest.mark.parametrize("sql", FAILS)
def test_what_can_fail_on_a_row(sql):
    assert one(sql).raises


NEVER_FAILS = (
    "id", "1 + 2", "value * 2", "value / 2", "id % 10", "id div 60", "-value", "-5", "price + 1", "id > '5'", "id > 5",
    "ts >= '2026-01-01'", "value = id", "price > id", "id in (1, 2)", "coalesce(type, 'x')", "cast(id as string)",
    "cast(value as float)", "cast(ts as date)", "cast(id as double)", "try_cast(type as int)", "labels['a']",
    "meta['os']", "upper(type)", "year(ts)", "v:a", "type like 'a%'", "struct(id, type)", "from_json(type, 'a int')",
    "substring(type, 1, 5)", "date '2026-01-01'", "size(tags)", "case type when 'a' then 1 else 2 end",
)  # fmt: skip


@pytest.mark.parametrize("sql", NEVER_FAILS)
def test_what_never_fails(sql):
    assert not one(sql).raises


@pytest.mark.parametrize(
    "sql",
    [
        "rand()",
        "uuid()",
        "current_timestamp()",
        "now()",
        "current_date",
        "current_timestamp",
        "unix_timestamp()",
    ],
)
def test_what_gives_another_value_each_time(sql):
    assert not one(f"concat('x', {sql})").deterministic
    assert one(f"concat('x', {sql})").pieces == (f"concat('x', {sql})",)


def test_a_time_of_a_column_is_always_the_same():
    assert one("unix_timestamp(ts)").deterministic


def test_every_call_of_a_python_function_counts():
    assert one("score(type) + score('x')").functions == ("score", "score")


def test_variables_of_lambdas():
    assert one("transform(tags, (T, i) -> concat(T, i))").variables == ("i", "t")


@pytest.mark.parametrize(
    "sql", ["id", "'x'", "5", "meta.os", "upper(type)", "(id + 1)", "tags[0]", "f.g(id)[1].x", "v:a.b"]
)
def test_what_needs_no_parentheses(sql):
    if sql.startswith("f.g"):
        sql = "from_json(type, 'a array<struct<x:int>>').a[1].x"
    assert one(sql).atomic


@pytest.mark.parametrize(
    "sql", ["id + 1", "-id", "(id) + (id)", "id is null", "case when true then 1 end", "id::string"]
)
def test_what_needs_parentheses(sql):
    assert not one(sql).atomic


def test_an_item_that_is_only_a_key_or_an_aggregate_can_not_fail():
    query = analysis("select cast(type as int) as k, sum(id) as s from sources.shop.events group by 1").query
    assert query is not None
    assert isinstance(query.body, Select)
    assert [item.expression.raises for item in query.body.items] == [False, False]
    assert query.body.keys is not None
    assert query.body.keys[0].expression.raises
    assert query.body.measures[0].call.raises


def test_a_derived_column_is_one_item():
    query = analysis("select timestamp_millis(id) as derived from sources.shop.events").query
    assert query is not None
    assert isinstance(query.body, Select)
    assert [expression(item.expression) for item in query.body.items] == ["timestamp_millis(events.id)!"]
