import pytest
from shop import columns, type_of

from millstream.core.types import parse_type

CASES = {
    "1": "int!", "3000000000": "bigint!", "1.50": "decimal(3,2)!", "1e3": "double!", "5L": "bigint!", "null": "void",
    "'a' 'b'": "string!", "X'00'": "binary!", "date'2026-01-01'": "date!", "interval 1 day": "interval!",
    "id + 1": "bigint!", "id + value": "double", "price * price": "decimal(21,4)", "price / 3": "decimal(14,6)",
    "id / 2": "double", "id div 2": "bigint", "id % 2": "bigint", "ts - ts": "interval", "ts + interval 1 hour": "timestamp",
    "date'2026-01-01' + interval 1 day": "date!", "date'2026-01-01' + interval 1 hour": "timestamp!",
    "id = 1": "boolean!", "id = '1'": "boolean", "value > 1": "boolean", "value is null": "boolean!",
    "value <=> 1": "boolean!", "id in (1, 2)": "boolean!", "type like 'a%'": "boolean", "id between 1 and 2": "boolean!",
    "id > 1 and type = 'a'": "boolean", "not id > 1": "boolean!",
    "case when id > 1 then 1 end": "int", "case when id > 1 then 1 else 2L end": "bigint!",
    "case when id > 1 then 1 else price end": "decimal(12,2)", "if(id > 1, 'a', 'b')": "string!",
    "coalesce(value, 0)": "double!", "coalesce(type, null)": "string", "nullif(id, 0)": "bigint",
    "cast(type as int)": "int", "cast(id as string)": "string!", "try_cast(type as date)": "date", "type::int": "int",
    "tags[0]": "string", "labels['a']": "int", "meta.os": "string", "meta['os']": "string", "v:a.b": "variant",
    "v:a::int": "int", "(id, type)": "struct<id:bigint,type:string>!",
    "struct(id, type as t, 1)": "struct<id:bigint,t:string,col3:int>!", "array(id, 1)": "array<bigint>!",
    "map('a', id)": "map<string,bigint>!", "tags || tags": "array<string>", "type || id": "string",
    "upper(type)": "string", "length(type)": "int", "round(price, 1)": "decimal(10,1)", "round(value)": "double",
    "ceil(price)": "decimal(9,0)", "date_trunc('hour', ts)": "timestamp", "concat_ws('-', type, user_id)": "string!",
    "from_json(type, 'a int, b array<string>').b": "array<string>", "transform(tags, x -> length(x))": "array<int>",
    "filter(tags, x -> x > 'a')": "array<string>", "aggregate(tags, 0, (n, x) -> n + length(x))": "int",
    "map_filter(labels, (k, n) -> n > 1)": "map<string,int>", "exists(tags, x -> x = type)": "boolean",
    "score(type)": "double!", "score(type, value)": "double!", "score(value => 1D, type => type)": "double!",
    "current_date": "date!", "now()": "timestamp!", "count(*)": "bigint!", "sum(price)": "decimal(20,2)",
    "avg(price)": "decimal(14,6)", "sum(id)": "bigint", "max(ts)": "timestamp", "collect_set(type)": "array<string>!",
    "max_by(struct(id, value), ts)": "struct<id:bigint,value:double>", "count(*) filter (where id > 1)": "bigint!",
    "percentile_cont(0.5) within group (order by value)": "double", "row_number() over (order by ts)": "int!",
    "lag(id, 1, 0) over (order by ts)": "bigint!", "sum(value) over (partition by type)": "double",
    "(select max(age) from models.users)": "int", "exists (select 1 from models.users)": "boolean!",
    "id in (select id from models.users)": "boolean!",
}  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), CASES.items())
def test_type_and_null(expression, expected):
    assert type_of(expression) == expected


def test_a_later_column_uses_an_earlier_one():
    assert (
        columns("select id + 1 as a, a * 2.5 as b from sources.shop.events") == "a bigint!, b decimal(23,1)!"
    )


def test_a_column_comes_before_an_earlier_alias():
    assert columns("select 'x' as id, id + 1 as next from sources.shop.events") == "id string!, next bigint!"


def test_a_cast_keeps_the_name_of_its_column():
    assert columns("select cast(id as string), type::int from sources.shop.events") == "id string!, type int"


def test_a_field_names_its_column():
    assert (
        columns("select meta.os, events.meta.device from sources.shop.events") == "os string, device string"
    )


def test_names_are_told_in_any_case():
    assert (
        columns("select ID, Events.TYPE, `Meta`.OS from Sources.shop.Events")
        == "ID bigint!, TYPE string, OS string"
    )


def test_a_variable_of_a_lambda_hides_a_column():
    assert type_of("transform(array(1), id -> id)") == "array<int>!"


def test_a_window_names_its_column():
    sql = "select window(ts, '5 minutes'), count(*) as n from sources.shop.events group by window(ts, '5 minutes')"
    assert columns(sql) == "window struct<start:timestamp,end:timestamp>!, n bigint!"


def test_every_type_of_the_cases_can_be_read():
    assert all(parse_type(expected.removesuffix("!")) for expected in CASES.values())
