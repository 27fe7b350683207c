"""JSON is written byte for byte as Spark's own `to_json` does."""

import random
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import functions as f

from millstream.formats.sql import TIMES

ROWS = 3_000
SPECIAL = [
    "",
    '"',
    "\\",
    "/",
    "\x00",
    "\x1f",
    "\x7f",
    "\x80",
    "é",
    "\u2028",
    "\ufffd",
    "\ufeff",
    "日本",
    "🙂",
    "a\tb\nc",
]
DOUBLES = [
    0.0,
    -0.0,
    1.0,
    1e7,
    1e-3,
    9.999e-4,
    123456789.125,
    5e-324,
    1.7976931348623157e308,
    2e-3,
    0.1,
    1 / 3,
]
NO_NUMBERS = [float("nan"), float("inf"), float("-inf")]
LIMITS = {"tinyint": 7, "smallint": 15, "int": 31, "bigint": 63}
TYPES = """
t string, i8 tinyint, i16 smallint, i32 int, i64 bigint, d double, r float, b boolean, n decimal(38,18), m decimal(9,0),
x binary, day date, at timestamp, local timestamp_ntz, names array<string>, numbers array<double>,
by_name map<string,bigint>, whole struct<`a "b"`: string, `ä`: int, inner: struct<at: timestamp, days: array<date>>>,
rows array<struct<k: string, v: map<string,array<int>>>>
"""


def text(dice):
    return "".join(
        dice.choice(SPECIAL) if dice.random() < 0.3 else chr(dice.randrange(32, 127))
        for _ in range(dice.randrange(12))
    )


def integer(dice, bits):
    value = dice.choice([0, 1, -1, 10, 99, -(2**bits), 2**bits - 1, dice.randrange(-(2**bits), 2**bits)])
    return value if dice.random() < 0.7 else value // 10 ** dice.randrange(19)


def real(dice):
    return dice.choice(
        [*DOUBLES, *NO_NUMBERS, dice.uniform(-1e3, 1e3), dice.uniform(-1, 1) * 10 ** dice.randrange(-30, 30)]
    )


def day(dice):
    return dice.choice(
        [
            date(1, 1, 1),
            date(9999, 12, 31),
            date(1582, 10, 4),
            date(1970, 1, 1) + timedelta(dice.randrange(-90_000, 90_000)),
        ]
    )


def moment(dice):
    timestamp = datetime(1, 1, 2) + timedelta(  # noqa: DTZ001 -- the session's zone is the point
        days=dice.randrange(3_652_000), microseconds=dice.randrange(86_400_000_000)
    )
    return timestamp.replace(microsecond=0) if dice.random() < 0.2 else timestamp


def some(dice, make):
    return None if dice.random() < 0.15 else make()


def list_of(dice, make):
    return [some(dice, make) for _ in range(dice.randrange(4))]


def mapped(dice, make):
    return {text(dice): some(dice, make) for _ in range(dice.randrange(3))}


def row(dice):
    values = [
        *(lambda: text(dice), *(lambda bits=bits: integer(dice, bits) for bits in LIMITS.values())),
        *(lambda: real(dice), lambda: real(dice), lambda: dice.random() < 0.5),
        lambda: Decimal(integer(dice, 63)).scaleb(-dice.randrange(18)),
        lambda: Decimal(integer(dice, 29)),
        *(
            lambda: bytearray(dice.randbytes(dice.randrange(9))),
            lambda: day(dice),
            lambda: moment(dice),
            lambda: moment(dice),
        ),
        *(lambda: list_of(dice, lambda: text(dice)), lambda: list_of(dice, lambda: real(dice))),
        lambda: mapped(dice, lambda: integer(dice, 63)),
        lambda: (
            some(dice, lambda: text(dice)),
            some(dice, lambda: 7),
            some(dice, lambda: (moment(dice), list_of(dice, lambda: day(dice)))),
        ),
        lambda: list_of(
            dice,
            lambda: (some(dice, lambda: text(dice)), some(dice, lambda: mapped(dice, lambda: [1, None]))),
        ),
    ]
    return tuple(some(dice, make) for make in values)


@pytest.fixture(scope="module")
def rows(spark):
    dice = random.Random(20261126)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    frame = spark.createDataFrame(
        [row(dice) for _ in range(ROWS)], TYPES.replace("\n", " ")
    ).localCheckpoint()
    frame.createOrReplaceTempView("rows")
    return frame


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu", "Africa/Monrovia"])
@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "interpreted"])
def test_json_is_that_of_spark(spark, rows, zone, compiled):
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    session.conf.set("spark.sql.codegen.wholeStage", str(compiled).lower())
    session.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY" if compiled else "NO_CODEGEN")
    session.createDataFrame(rows.toArrow(), rows.schema).createOrReplaceTempView("rows")
    # One field after another: a wrong one shows which.
    for name in rows.columns:
        assert differing(session, f"struct(`{name}`)") == [], name
    assert differing(session, "struct(*)") == []


@pytest.mark.parametrize("settings", [("false", ""), ("true", ", 'all'")], ids=["setting", "argument"])
def test_fields_that_are_null_are_written_if_asked_for(spark, rows, settings):
    setting, argument = settings
    session = spark.newSession()
    session.conf.set("spark.sql.jsonGenerator.ignoreNullFields", setting)
    session.createDataFrame(rows.toArrow(), rows.schema).createOrReplaceTempView("rows")
    ours = f"encode_json(struct(*){argument})"
    theirs = f"cast(to_json(struct(*), map('ignoreNullFields', 'false', {TIMES})) as binary)"
    encoded = session.sql(f"select {ours} as own, {theirs} as theirs from rows")
    assert encoded.where(~f.col("own").eqNullSafe(f.col("theirs"))).limit(3).collect() == []
    assert encoded.where("cast(own as string) like '%:null%'").count() > 0


def differing(session, struct):
    ours, theirs = f"encode_json({struct})", f"cast(to_json({struct}, map({TIMES})) as binary)"
    encoded = session.sql(f"select {ours} as own, {theirs} as theirs from rows")
    return encoded.where(~f.col("own").eqNullSafe(f.col("theirs"))).limit(3).collect()


def test_bytes_that_are_no_text(spark):
    dice = random.Random(1)
    values = [bytearray(dice.randbytes(dice.randrange(1, 8))) for _ in range(5_000)]
    spark.createDataFrame([(value,) for value in values], "raw binary").createOrReplaceTempView("raw")
    encoded = spark.sql("""
        select encode_json(struct(cast(raw as string) as t)) as own, cast(to_json(struct(cast(raw as string) as t)) as binary) as theirs
        from raw
    """).collect()
    assert [row for row in encoded if row.own != row.theirs] == []


@pytest.mark.parametrize(
    "value",
    [
        *(
            "interval '1' day",
            "interval '2-1' year to month",
            "parse_json('{\"a\": 1}')",
            "map(1, 'a')",
            "null",
        ),
        *(
            "array(interval '1' second)",
            "named_struct('a', map(date'2026-01-02', 1))",
            "'a' collate unicode_ci",
        ),
    ],
)
def test_rare_types_are_left_to_spark(spark, value):
    (row,) = spark.sql(f"""
        select encode_json(struct({value} as a, 1 as b)) as own, cast(to_json(struct({value} as a, 1 as b)) as binary) as theirs
    """).collect()
    assert row.own == row.theirs


def test_a_row_that_is_null_has_no_json(spark):
    (row,) = spark.sql("select encode_json(if(id < 0, struct(id), null)) as own from range(1)").collect()
    assert row.own is None
