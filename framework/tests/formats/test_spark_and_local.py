"""What generators write, Spark reads as it was meant; what Spark writes, `consume` shows as it is."""

from datetime import date, datetime, timezone
from decimal import Decimal

import pytest

from millstream.core.expressions import Expression, Ref, render_sql
from millstream.core.types import Field, parse_type
from millstream.formats.registry import format_of
from millstream.plan.nodes import Column

NASTY = [
    "a",
    "",
    " a ",
    'say "hi"',
    "a,b",
    "back\\slash",
    '\\"',
    "two\nlines",
    "cr\r",
    "Zürich €",
    "<&>",
    "null",
    "#x",
    "'",
    "\\",
    "a\\",
    '"',
]
COLUMNS = "s string, n bigint, d double, b boolean, x decimal(10,2), t timestamp, day date"
TIME = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
ROWS = [
    *({"s": text, "n": index, "d": 1.5, "b": True, "x": Decimal("1.10"), "t": TIME, "day": date(2026, 1, 2)} for index, text in enumerate(NASTY)),
    {"s": None, "n": None, "d": None, "b": None, "x": None, "t": None, "day": None},
    {"s": "end", "n": -(2**62), "d": -0.1, "b": False, "x": Decimal("-99999999.99"), "t": TIME, "day": None},
]  # fmt: skip


def columns(ddl):
    pairs = [pair.split(" ", 1) for pair in ddl.split(", ")]
    return [Column(name, parse_type(type_)) for name, type_ in pairs]


def fields(columns):
    return tuple(Field(column.name, column.type) for column in columns)


def sql(pieces):
    return render_sql(Expression(tuple(pieces), parse_type("string")), lambda ref: ref.column)


def read_by_spark(spark, name, columns, values):
    table = spark.createDataFrame(
        [(index, bytearray(value)) for index, value in enumerate(values)], "at int, value binary"
    )
    table.createOrReplaceTempView("written")
    decoded = format_of(name).spark.decode(columns)
    names = ", ".join(column.name for column in columns)
    if decoded.rows:
        query = f"select at, {names}, _bad from written lateral view inline({sql(decoded.rows)}) as {names}, _bad order by at"
    else:
        query = f"select at, {sql(decoded.fields[0])} as {names}, null as _bad from written order by at"
    return [row.asDict(recursive=True) for row in spark.sql(query).collect()]


def written_by_spark(spark, name, columns, rows):
    schema = ", ".join(f"{column.name} {column.type}" for column in columns)
    table = spark.createDataFrame([tuple(row[c.name] for c in columns) for row in rows], schema)
    table.createOrReplaceTempView("rows")
    items = [(c.name, Expression((Ref(c.name),), c.type)) for c in columns]
    value = sql(format_of(name).spark.encode(items))
    return [
        bytes(row.value) for row in spark.sql(f"select cast({value} as binary) as value from rows").collect()
    ]


def plain(row):
    return {
        k: v.replace(tzinfo=timezone.utc) if isinstance(v, datetime) and v.tzinfo is None else v
        for k, v in row.items()
        if k not in {"at", "_bad"}
    }


@pytest.mark.parametrize("name", ["json", "csv", "xml"])
def test_rows_are_read_as_they_were_written(spark, name):
    declared = columns(COLUMNS)
    values = [format_of(name).local.encode(row, fields(declared)) for row in ROWS]
    read = read_by_spark(spark, name, declared, values)
    assert [row["_bad"] for row in read] == [None] * len(ROWS)
    assert [plain(row) for row in read] == ROWS


@pytest.mark.parametrize("name", ["json", "csv", "xml"])
def test_what_spark_writes_is_shown_as_it_is(spark, name):
    declared = columns("s string, n bigint, d double, b boolean")
    rows = [{c.name: row[c.name] for c in declared} for row in ROWS]
    shown = [
        format_of(name).local.decode(value, fields(declared))
        for value in written_by_spark(spark, name, declared, rows)
    ]
    empty = dict.fromkeys(("s", "n", "d", "b"))
    assert [
        {k: float(v) if isinstance(v, Decimal) else v for k, v in {**empty, **row}.items()} for row in shown
    ] == rows


@pytest.mark.parametrize(
    ("name", "ddl", "values"),
    [
        ("string", "s string", NASTY),
        ("string", "n bigint", [1, -5]),
        ("string", "t timestamp", [TIME]),
        ("long", "n bigint", [0, 1, -1, 2**63 - 1, -(2**63)]),
        ("binary", "raw binary", [b"", b"\x00\xff"]),
    ],
)
def test_single_values(spark, name, ddl, values):
    (column,) = declared = columns(ddl)
    written = [format_of(name).local.encode({column.name: value}, fields(declared)) for value in values]
    assert written == [format_of(name).local.encode(value, fields(declared)) for value in values]
    assert [plain(row)[column.name] for row in read_by_spark(spark, name, declared, written)] == values
    if column.name != "t":
        assert [format_of(name).local.decode(value, fields(declared)) for value in written] == values


@pytest.mark.parametrize("name", ["json", "xml"])
def test_nested_values(spark, name):
    declared = columns("id string, tags array<string>, place struct<lat:double,lon:double>")
    row = {"id": "a", "tags": ["x", "y"], "place": {"lat": 1.5, "lon": -2.0}}
    value = format_of(name).local.encode(row, fields(declared))
    assert [plain(r) for r in read_by_spark(spark, name, declared, [value])] == [row]
    (spark_value,) = written_by_spark(spark, name, declared, [row])
    assert format_of(name).local.decode(spark_value, fields(declared)) == row
