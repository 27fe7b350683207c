"""Which expressions can stand for the columns of a key: on Spark, different values never become equal ones."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from millstream.core.node_id import NodeId
from millstream.core.types import parse_type
from millstream.plan.keys import ColumnProperties, expression_value, has_fixed_offset, interval_micros
from millstream.sql.analyze import analyze_sql
from millstream.sql.values import InputRelation, RelationColumn

MINUTE = 60_000_000
COLUMNS = {
    "s": ColumnProperties(parse_type("string")),
    "t": ColumnProperties(parse_type("string")),
    "p": ColumnProperties(parse_type("string"), nullable=False),
    "q": ColumnProperties(parse_type("string"), nullable=False),
    "bin": ColumnProperties(parse_type("binary")),
    "i": ColumnProperties(parse_type("int")),
    "n": ColumnProperties(parse_type("int"), nullable=False),
    "l": ColumnProperties(parse_type("bigint")),
    "m": ColumnProperties(parse_type("bigint"), nullable=False),
    "y": ColumnProperties(parse_type("tinyint")),
    "d": ColumnProperties(parse_type("decimal(10,2)")),
    "f": ColumnProperties(parse_type("float")),
    "g": ColumnProperties(parse_type("double")),
    "o": ColumnProperties(parse_type("boolean"), nullable=False),
    "day": ColumnProperties(parse_type("date"), nullable=False),
    "at": ColumnProperties(parse_type("timestamp"), nullable=False),
    "st": ColumnProperties(parse_type("timestamp"), gap=5 * MINUTE),
    "w": ColumnProperties(parse_type("struct<start:timestamp,end:timestamp>"), gap=5 * MINUTE, window=True),
    "dw": ColumnProperties(
        parse_type("struct<start:timestamp,end:timestamp>"), gap=1440 * MINUTE, window=True
    ),
    "ww": ColumnProperties(
        parse_type("struct<start:timestamp,end:timestamp>"), gap=10080 * MINUTE, window=True
    ),
}
RELATION = InputRelation(
    NodeId("model", "r"),
    tuple(RelationColumn(name, column.type, column.nullable) for name, column in COLUMNS.items()),
)


def expression(sql):
    analysis = analyze_sql(f"select {sql} as e from models.r", lambda _: RELATION, list, {})
    assert not analysis.diagnostics, (sql, analysis.diagnostics)
    return analysis.query.body.items[0].expression


def value(sql, zone="UTC"):
    return expression_value(expression(sql), COLUMNS.get, fixed_offset=has_fixed_offset(zone))


PRESERVED = {
    "s": "s",
    "cast(i as bigint)": "i",
    "i::string": "i",
    "cast(l as decimal(19,0))": "l",
    "cast(l as decimal(22,2))": "l",
    "cast(d as decimal(12,3))": "d",
    "cast(d as string)": "d",
    "cast(i as double)": "i",
    "cast(f as double)": "f",
    "cast(g as string)": "g",
    "cast(o as int)": "o",
    "string(o)": "o",
    "cast(day as string)": "day",
    "cast(day as timestamp_ntz)": "day",
    "unix_date(day)": "day",
    "cast(s as binary)": "s",
    "hex(s)": "s",
    "hex(l)": "l",
    "hex(bin)": "bin",
    "base64(bin)": "bin",
    "md5(s)": "s",
    "sha1(s)": "s",
    "sha2(cast(l as string), 256)": "l",
    "i + 1": "i",
    "1 - l": "l",
    "y + 100": "y",
    "-d": "d",
    "-l": "l",
    "day + 1": "day",
    "date_add(day, 7)": "day",
    "coalesce(cast(i as string), 'none')": "i",
    "coalesce(p, 'none')": "p",
    "struct(s, i)": "s i",
    "named_struct('a', s, 'b', w)": "s w",
    "array(s, t)": "s t",
    "to_json(struct(s, t, i, l, d, day))": "s t i l d day",
    "to_json(named_struct('a', s, 'w', w.start))": "s w",
    "to_json(struct(g, o, bin))": "g o bin",
    "concat('u', s)": "s",
    "concat(p, '@', n)": "p n",
    "concat(n, '@', p)": "n p",
    "concat(n, ':', p, ':', m)": "n p m",
    "n || '-' || m": "n m",
    "concat(p, '-', concat('x', n))": "p n",
    "concat(o, '-', n)": "o n",
    "concat(p, '@', unix_millis(w.start))": "p w",
    "concat(p, '@', cast(w.end as string))": "p w",
    "concat_ws('@', p, n)": "p n",
    "md5(concat(p, '@', n))": "p n",
    "sha2(to_json(struct(s, t)), 256)": "s t",
    "cast(day as timestamp)": "day",
    "w.start": "w",
    "w.end": "w",
    "unix_micros(at)": "at",
    "unix_millis(w.start)": "w",
    "unix_seconds(st)": "st",
    "cast(w.start as bigint)": "w",
    "date_format(w.start, 'yyyy-MM-dd HH:mm')": "w",
    "date_format(w.start, 'yyyyMMddHHmmss')": "w",
    "date_format(at, 'yyyy-MM-dd HH:mm:ss.SSSSSS')": "at",
    "date_trunc('minute', st)": "st",
    "date_trunc('day', dw.start)": "dw",
    "to_date(dw.start)": "dw",
    "cast(dw.end as date)": "dw",
    "to_date(ww.start)": "ww",
    "cast(at as string)": "at",
    "cast(at as timestamp_ntz)": "at",
    "date_format(dw.start, 'dd.MM.yyyy')": "dw",
}  # fmt: skip
"""Expressions that keep these columns gap, where clocks are never put back."""

LOST = [
    ("upper(s)", "s", "'a'", "'A'"),
    ("lower(s)", "s", "'a'", "'A'"),
    ("trim(s)", "s", "'a'", "'a '"),
    ("substring(s, 1, 2)", "s", "'abc'", "'abd'"),
    ("round(g)", "g", "1.1D", "1.2D"),
    ("coalesce(s, '')", "s", "null", "''"),
    ("coalesce(cast(i as string), '0')", "i", "null", "0"),
    ("cast(l as double)", "l", "9007199254740993", "9007199254740992"),
    ("cast(i as float)", "i", "16777217", "16777216"),
    ("cast(g as int)", "g", "1.1D", "1.2D"),
    ("cast(s as int)", "s", "'1'", "'01'"),
    ("cast(d as decimal(10,0))", "d", "1.1", "1.2"),
    ("s is null", "s", "'a'", "'b'"),
    ("i * 0", "i", "1", "2"),
    ("abs(i)", "i", "1", "-1"),
    ("concat(p, q)", "p, q", "'ab', 'c'", "'a', 'bc'"),
    ("concat(p, '@', q)", "p, q", "'a@b', 'c'", "'a', 'b@c'"),
    ("concat_ws('-', p, q)", "p, q", "'a-b', 'c'", "'a', 'b-c'"),
    ("concat(n, m)", "n, m", "1, 11", "11, 1"),
    ("concat(p, n)", "p, n", "'a1', 1", "'a', 11"),
    ("concat(p, '-', n)", "p, n", "'a-', 1", "'a', -1"),
    ("concat(p, '1', n)", "p, n", "'a1', 11", "'a', 111"),
    ("concat(s, '@', i)", "s, i", "null, 1", "null, 2"),
    ("concat_ws('@', s, cast(i as string))", "s, i", "'1', null", "null, 1"),
    ("unix_millis(at)", "at", "timestamp'2026-01-01 00:00:00.0001'", "timestamp'2026-01-01 00:00:00.0002'"),
    ("to_date(at)", "at", "timestamp'2026-01-01 00:00:00'", "timestamp'2026-01-01 00:00:01'"),
    ("date_format(at, 'HH:mm')", "at", "timestamp'2026-01-01 00:00:00'", "timestamp'2026-01-02 00:00:00'"),
    ("date_format(day, 'yy-MM-dd')", "day", "date'1926-01-01'", "date'2026-01-01'"),
    ("date_trunc('hour', at)", "at", "timestamp'2026-01-01 00:00:00'", "timestamp'2026-01-01 00:00:01'"),
    ("to_json(struct(at))", "at", "timestamp'2026-01-01 00:00:00.0001'", "timestamp'2026-01-01 00:00:00.0002'"),
    ("array(m, g)", "m, g", "9007199254740993, 1.0D", "9007199254740992, 1.0D"),
    ("n + m", "n, m", "1, 2", "2, 1"),
    ("struct(upper(s))", "s", "'a'", "'A'"),
]  # fmt: skip
"""Expressions that don't: columns, and two rows of which they make the same value."""


@pytest.mark.parametrize(("sql", "columns"), PRESERVED.items())
def test_what_keeps_columns_apart(sql, columns):
    determined_by = value(sql)
    assert (determined_by.columns, determined_by.why) == (frozenset(columns.split()), "")


@pytest.mark.long
def test_what_merges_values_is_refused_and_does_so_on_spark(spark):
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    parts = []
    for sql, names, one, other in LOST:
        determined_by = value(sql)
        assert determined_by.why, sql
        assert determined_by.columns == frozenset()
        cast = ", ".join(f"cast({n} as {COLUMNS[n].type}) as {n}" for n in names.split(", "))
        rows = f"select {cast} from values ({one}), ({other}) as t({names})"
        parts.append(f"select {len(parts)} as place, count(distinct struct({sql})) as n from ({rows})")
    counted = spark.sql(" union all ".join(parts)).collect()
    assert [LOST[row.place][0] for row in counted if row.n != 1] == []


LOCAL = [
    "cast(at as string)",
    "cast(st as string)",
    "date_format(w.start, 'yyyy-MM-dd HH:mm')",
    "concat(p, '@', cast(w.end as string))",
    "cast(w.start as timestamp_ntz)",
]


@pytest.mark.parametrize("sql", LOCAL)
def test_a_local_time_comes_twice_when_clocks_are_put_back(sql):
    assert not value(sql).why
    assert value(sql, "Europe/Berlin").why == "a local time occurs twice when clocks are set back"


def test_zones_whose_clocks_are_never_put_back():
    assert all(map(has_fixed_offset, ("UTC", "Etc/GMT+5", "+02:00", "GMT", "Z", "UTC+3")))
    assert not any(map(has_fixed_offset, ("Europe/Berlin", "America/New_York", "Asia/Kolkata")))


def test_the_lengths_of_windows():
    assert interval_micros("5 minutes") == 5 * MINUTE
    assert interval_micros("interval 1 hour 30 minutes") == 90 * MINUTE
    assert interval_micros("1 DAY") == 1440 * MINUTE
    assert interval_micros("1 month") == 0
    assert interval_micros("soon") == 0


# -- on Spark


EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
BACK = int(datetime(2026, 10, 25, tzinfo=timezone.utc).timestamp()) * 1_000_000
"""The night in which clocks are put back in Berlin: from 3:00 to 2:00, at 1:00 UTC."""

texts = st.one_of(
    st.sampled_from(["", "@", "-", "1", "-1", "a", "a@1", "1@", "null", "none", "{}"]),
    st.text("a@-1' ", max_size=4),
)
ints = st.one_of(st.sampled_from([0, 1, -1, 11, 2**31 - 1, -(2**31)]), st.integers(-20, 20))
longs = st.one_of(ints, st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63)]))
times = st.one_of(
    st.integers(BACK - 3 * 3600 * 10**6, BACK + 3 * 3600 * 10**6),
    st.integers(0, 36).map(lambda n: BACK + n * 5 * MINUTE),
    st.sampled_from([0, -1, 1, 999, 1000, 1001, BACK, BACK + 3600 * 10**6, -62135596800 * 10**6 + 10**12]),
)


def spacings(minutes):
    around = BACK // (minutes * MINUTE)
    return st.integers(around - 30, around + 30).map(
        lambda n: EPOCH + timedelta(microseconds=n * minutes * MINUTE)
    )


def window(minutes):
    return spacings(minutes).map(lambda start: {"start": start, "end": start + timedelta(minutes=minutes)})


VALUES = {
    "s": st.none() | texts, "t": st.none() | texts, "p": texts, "q": texts, "bin": st.none() | st.binary(max_size=3),
    "i": st.none() | ints, "n": ints, "l": st.none() | longs, "m": longs, "y": st.none() | st.integers(-128, 127),
    "d": st.none() | st.integers(-300, 300).map(lambda n: Decimal(n) / 100),
    "f": st.none() | st.floats(width=32), "g": st.none() | st.floats(),
    "o": st.booleans(), "day": st.dates(date(1, 1, 3), date(9999, 12, 1)),
    "at": times.map(lambda micros: EPOCH + timedelta(microseconds=micros)),
    "st": st.none() | spacings(5), "w": window(5), "dw": window(1440), "ww": window(10080),
}  # fmt: skip
UNARY = [
    "upper({})", "cast({} as string)", "md5(cast({} as string))", "hex({})", "concat('x', {})", "concat({}, '@', n)",
    "concat(p, '@', {})", "concat(m, '-', {})", "{} || '@1'", "coalesce(cast({} as string), 'none')", "named_struct('x', {}, 'y', s)",
    "to_json(struct({}, t))", "concat_ws('-', {}, o)", "concat({}, '@', unix_millis(w.start))", "reverse({})",
]  # fmt: skip
ATOMS = [
    "s",
    "t",
    "p",
    "i",
    "n",
    "l",
    "d",
    "o",
    "day",
    "at",
    "w.start",
    "unix_micros(at)",
    "g",
    "to_date(dw.start)",
]


@st.composite
def composed(draw):
    sql = draw(st.sampled_from(ATOMS))
    for _ in range(draw(st.integers(1, 3))):
        sql = draw(st.sampled_from(UNARY)).format(sql)
    return sql


def arrow():
    def of(name):
        kinds = {
            "string": pa.string(), "binary": pa.binary(), "int": pa.int32(), "bigint": pa.int64(), "tinyint": pa.int8(),
            "decimal(10,2)": pa.decimal128(10, 2), "float": pa.float32(), "double": pa.float64(), "boolean": pa.bool_(),
            "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"),
        }  # fmt: skip
        bound = pa.timestamp("us", "UTC")
        return kinds.get(str(COLUMNS[name].type)) or pa.struct([("start", bound), ("end", bound)])

    return pa.schema([(name, of(name)) for name in COLUMNS])


rows = st.lists(st.fixed_dictionaries(VALUES), min_size=30, max_size=60)


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_different_values_never_become_equal(spark, zone):
    spark.conf.set("spark.sql.session.timeZone", zone)
    spark.conf.set("spark.sql.ansi.enabled", "false")  # what ANSI refuses would end the query
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")

    # Shrinking would run hundreds of queries more; the message names the expression.
    @settings(
        max_examples=5,
        suppress_health_check=list(HealthCheck),
        database=None,
        phases=[Phase.generate],
    )
    @given(rows, st.lists(composed(), min_size=60, max_size=60, unique=True))
    def holds(input_rows, expressions):
        preserved = {}
        for sql in [*PRESERVED, *expressions]:
            try:
                determined_by = value(sql, zone)
            except AssertionError:
                continue  # of a type that the function does not take
            if not determined_by.why and determined_by.columns:
                preserved[sql] = sorted(determined_by.columns)
        assert len(preserved) > len(PRESERVED) - 15
        selected = ", ".join(
            f"struct({', '.join(columns)}), struct({sql})" for sql, columns in preserved.items()
        )
        table = pa.Table.from_pylist(input_rows, schema=arrow())
        spark.createDataFrame(table).createOrReplaceTempView("given")
        computed = (
            spark.sql(f"select {selected} from given")
            .toDF(*(f"c{n}" for n in range(2 * len(preserved))))
            .toArrow()
        )
        for index, sql in enumerate(preserved):
            inputs = [repr(v) for v in computed.column(2 * index).to_pylist()]
            results = [repr(v) for v in computed.column(2 * index + 1).to_pylist()]
            met = {}
            for input_, result in zip(inputs, results, strict=True):
                assert met.setdefault(result, input_) == input_, (sql, met[result], input_)

    holds()
