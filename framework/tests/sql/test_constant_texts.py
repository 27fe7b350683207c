"""Constant texts that Spark casts to another type and can't: errors exactly where Spark's evaluation fails."""

import random

import pytest
from support.spark import SPARK_WARNINGS

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.sql.analyze import analyze_sql
from millstream.sql.constant_texts import can_read
from millstream.sql.values import Analysis, InputRelation, RelationColumn

pytestmark = SPARK_WARNINGS

COLUMNS = {
    "amount": ("bigint", "1L"),
    "at": ("timestamp", "timestamp'2026-01-01'"),
    "flag": ("boolean", "true"),
    "day": ("date", "date'2026-01-01'"),
    "price": ("decimal(2,1)", "1.5bd"),
    "ratio": ("double", "2.5d"),
    "name": ("string", "'a'"),
    "missing": ("bigint", "cast(null as bigint)"),
}
RELATION = InputRelation(
    NodeId("model", "t"),
    tuple(RelationColumn(name, parse_type(type_), True) for name, (type_, _) in COLUMNS.items()),
)

FORMS = [
    # an expression that can't be evaluated, and what its remedy makes of it
    ("case when amount > 0 then 'long' else 'short' end = 3", "case when amount > 0 then 5 else 6 end = 3"),
    ("case when amount > 0 then 'long' else 'short' end = 3", "'long' = cast(3 as string)"),
    ("amount > '2026-01-01'", "cast(amount as string) > '2026-01-01'"),
    ("'2026-01-01' > amount", "5 > amount"),
    ("amount <=> 'x'", "amount <=> 5"),
    ("amount is distinct from 'x'", "amount is distinct from 5"),
    ("at > 'soon'", "at > timestamp'2026-01-31 12:00:00'"),
    ("flag = 'maybe'", "flag = true"),
    ("day = 'x'", "day = date'2026-01-31'"),
    ("price = 'x'", "price = 1.5"),
    ("ratio > 'high'", "ratio > 1.5"),
    ("amount in (3, 'x')", "amount in (3, 5)"),
    ("amount not in ('3', '2x')", "cast(amount as string) not in ('3', '2x')"),
    ("amount between 'a' and 9", "amount between 5 and 9"),
    ("at between 'a' and 'b'", "at between timestamp'2026-01-31 12:00:00' and at"),
    ("case amount when 'a' then 1 end", "case amount when 5 then 1 end"),
    ("coalesce(missing, 'none')", "coalesce(cast(missing as string), 'none')"),
    ("nvl(missing, 'none')", "nvl(missing, 5)"),
    ("ifnull(missing, 'none')", "ifnull(missing, 5)"),
    ("nullif(amount, 'none')", "nullif(amount, 5)"),
    ("equal_null(amount, 'x')", "equal_null(amount, 5)"),
    ("if(not flag, amount, 'none')", "if(not flag, cast(amount as string), 'none')"),
    ("case when flag then 'none' else amount end", "case when flag then null else amount end"),
    ("nvl2(missing, amount, 'none')", "nvl2(missing, amount, 5)"),
    ("decode(amount, 'a', 1, 2)", "decode(amount, 5, 1, 2)"),
    ("amount + 'x'", "amount + 5"),
    ("price / 'x'", "price / 1.5"),
    ("amount & 'x'", "amount & 5"),
    ("mod(amount, 'x')", "mod(amount, 5)"),
    ("at - 'x'", "at - timestamp'2026-01-31 12:00:00'"),
    ("- 'x'", "- 1.5"),
    ("abs('x')", "abs(1.5)"),
    ("date_add(day, 'x')", "date_add(day, 5)"),
    ("year('x')", "year(date'2026-01-31')"),
    ("date_format('x', 'yyyy')", "date_format(timestamp'2026-01-31 12:00:00', 'yyyy')"),
    ("substring(name, 'x')", "substring(name, 5)"),
    ("sequence(1, 'x')", "sequence(1, 5)"),
    ("sum('x')", "sum(1.5)"),
    ("lag(amount, 1, 'x') over (order by at)", "lag(amount, 1, 5) over (order by at)"),
    ("cast('x' as int)", "cast('5' as int)"),
    ("int('x')", "int('5')"),
    ("flag and 'maybe'", "flag and true"),
    ("not 'maybe'", "not true"),
]
ACCEPTED = [
    "at > 'yesterday'",
    "at > '2026-01'",
    "day >= '2026'",
    "flag = 'yes'",
    "amount = ' 7 '",
    "ratio < 'Infinity'",
    "name > 5 is null or true",
    "try_cast('x' as int)",
    "try_add(amount, 'x')",
    "case when amount > 5 then 'long' else '3' end = 3",
    "coalesce(amount, '7')",
    "name = 'x'",
    "case when flag then name else 'none' end",
]
QUERIES = [
    "select amount from models.t union all select 'none'",
    "select 'none' as amount union all select amount from models.t",
    "select amount from models.t except select 'none'",
    "with x as (select case when flag then 'long' else 'short' end as l from models.t) select l = 3 as o from x",
    "select 'long' as l, l = 3 as o from models.t",
]
TEXTS = """1|-5|+7|1.5|1e3|1E400|  12 ||x|none|9223372036854775808|127|128|32768|true|T|yes|maybe|0|NaN|Infinity|-inf|1d|1.5F
0x1p3|0x10|1_000|1,000|12345678.9|2026|2026-01|2026-1-1|2026-01-01|2026-02-30|0000-01-01|+2026-01-01|02026-01-01
2026-01-01T|2026-01-01 abc|2026-01-01T12|2026-01-01 12:30|2026-01-01 12:30:45|2026-01-01 24:00:00|12:30|T12:30:45
2026-01-01T12:30:45.123456789Z|2026-01-01T12:30:45+01:00|2026-01-01 12:30:45 Europe/Berlin|294248-01-01|2026/01/01|1.|-.5
2026-01-01 12:30+01:00|300000-01-01|10000000-01-01|e5|1:2:3|01.02.2026|3\u00a0|\u0661"""
TYPES = (
    "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,18)", "boolean", "date",
    "timestamp", "timestamp_ntz",
)  # fmt: skip


@pytest.fixture(scope="module")
def spark(first_spark):
    session = first_spark.newSession()
    values = ", ".join(f"{value} as {name}" for name, (_, value) in COLUMNS.items())
    session.sql(f"select {values}").createOrReplaceTempView("t")
    return session


def analysis(sql: str) -> Analysis:
    return analyze_sql(sql, lambda parts: RELATION if parts == ("models", "t") else None, list, {})


def fails(spark, sql: str) -> bool:
    from pyspark.errors import PySparkException

    try:
        spark.sql(sql.replace("models.t", "t")).collect()
    except PySparkException as error:
        return error.getCondition() == "CAST_INVALID_INPUT"
    return False


@pytest.mark.parametrize(("expression", "remedy"), FORMS)
def test_a_constant_that_fails_is_an_error_with_a_remedy_that_runs(spark, expression, remedy):
    sql = f"select {expression} as o from models.t"
    assert fails(spark, sql)
    diagnostics = analysis(sql).diagnostics
    assert diagnostics
    assert all(
        diagnostic.code == "MS407" and "can't be cast to" in diagnostic.message for diagnostic in diagnostics
    )
    assert all(
        sql[diagnostic.start : diagnostic.stop][0] == "'" and diagnostic.help for diagnostic in diagnostics
    )
    repaired = f"select {remedy} as o from models.t"
    assert not analysis(repaired).diagnostics
    assert not fails(spark, repaired)


@pytest.mark.parametrize("sql", QUERIES)
def test_a_constant_of_another_select_is_an_error(spark, sql):
    assert fails(spark, sql)
    assert [diagnostic.code for diagnostic in analysis(sql).diagnostics] == ["MS407"]


@pytest.mark.parametrize("expression", ACCEPTED)
def test_a_constant_that_spark_reads_is_accepted(spark, expression):
    sql = f"select {expression} as o from models.t"
    assert not analysis(sql).diagnostics
    assert not fails(spark, sql.replace("name > 5 is null or true", "true"))


def test_texts_are_read_as_by_spark(spark):
    written = [text for line in TEXTS.split("\n") for text in line.split("|")]
    chance = random.Random(20261128)
    texts = list(dict.fromkeys([*written, *(_edited(chance.choice(written), chance) for _ in range(2000))]))
    reads = [f"try_cast(text as {type_}) is not null" for type_ in TYPES]
    rows = spark.createDataFrame([(text,) for text in texts], "text string").selectExpr("text", *reads)
    for text, *verdicts in rows.collect():
        for type_, is_read in zip(TYPES, verdicts, strict=True):
            ours = can_read(text, parse_type(type_))
            assert ours or not is_read, f"{text!r} is a {type_}"
            # Names of time zones, and the edges of what a timestamp can be, are Java's to know.
            assert ours == is_read or type_.startswith(("timestamp", "date")), f"{text!r} is not a {type_}"


def _edited(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 3)):
        position, rest = chance.randint(0, len(text)), chance.randint(0, 1)
        letter = chance.choice(["", *"0123456789-+:.T eEzZ/xnatruefls"])
        text = text[:position] + letter + text[position + rest :]
    return text
