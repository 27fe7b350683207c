"""What a sink writes reads back as the same values."""

import pytest

from millstream.core.expressions import Expression, Ref
from millstream.core.types import parse_type
from millstream.formats.registry import format_of
from millstream.plan.nodes import Column

VALUES = {
    "boolean": ["true", "false", "null"],
    "tinyint": ["-128Y", "127Y"],
    "smallint": ["-32768S"],
    "int": ["-2147483648", "0"],
    "bigint": ["9223372036854775807L", "cast('-9223372036854775808' as bigint)"],
    "float": ["float('1.1')", "float('3.4e38')"],
    "double": ["1.0E-300D", "0.1D", "double('NaN')", "double('-Infinity')"],
    "decimal(38,10)": ["1234567890123456789012345678.0123456789BD", "-0.0000000001BD"],
    "string": ["'a \"quoted\" ü\\n\\t\\\\ ,;<>&'", "'null'", "' x '"],
    "binary": ["X'00ff10'"],
    "date": ["date'0001-01-01'", "date'9999-12-31'", "date'1969-07-20'"],
    "timestamp": ["timestamp'2024-02-29 23:59:59.123456Z'", "timestamp'0001-01-01 00:00:00Z'"],
    "timestamp_ntz": ["timestamp_ntz'2024-02-29 23:59:59.123456'"],
    "array<int>": ["array(1, null, 3)", "cast(array() as array<int>)"],
    "map<string,int>": ["map('a', 1, 'b', null)"],
    "map<int,string>": ["map(1, 'x')"],
    "struct<a:int,b:struct<c:string>>": ["named_struct('a', 1, 'b', named_struct('c', null))"],
    "array<struct<t:timestamp,m:map<int,date>>>": ["array(named_struct('t', timestamp'2024-01-01 00:00:00.000001Z', 'm', map(1, date'2024-01-01')))"],
}  # fmt: skip
NESTED = {name for name in VALUES if "<" in name}


def round_trip(spark, name, type_, values):
    fields = (Column("before", parse_type("string")), Column("x", parse_type(type_)))
    frame = spark.sql(" union all ".join(f"select 'b' as before, cast({v} as {type_}) as x" for v in values))
    frame.createOrReplaceTempView("rows_to_write")
    items = [(c.name, Expression((Ref(c.name),), c.type)) for c in fields]
    encoded = text(format_of(name).spark.encode(items))
    spark.sql(f"select x, cast({encoded} as binary) as value from rows_to_write").createOrReplaceTempView(
        "written"
    )
    decoded = format_of(name).spark.decode(fields)
    restored = text(decoded.fields[1]).replace("x", "d.x", 1) if any(decoded.fields) else "d.x"
    rows = spark.sql(
        f"select w.x as x, {restored} as y, d._bad from written w lateral view inline({text(decoded.rows)}) d as before, x, _bad"
    )
    return rows.selectExpr(
        "_bad is null",
        "to_json(struct(x as v)) = to_json(struct(y as v)) and typeof(x) = typeof(y)",
        "string(x)",
        "string(y)",
    ).collect()


def text(pieces):
    return "".join(p if isinstance(p, str) else p.column for p in pieces)


@pytest.mark.parametrize("type_", VALUES)
def test_json(spark, type_):
    for fine, same, before, after in round_trip(spark, "json", type_, VALUES[type_]):
        assert fine
        assert same, (before, after)


@pytest.mark.parametrize("name", ["csv", "xml"])
@pytest.mark.parametrize("type_", sorted(VALUES.keys() - NESTED - {"binary"}))
def test_csv_and_xml(spark, name, type_):
    # Spark's XML parser turns the sign around after it has read a number, so the least one does not fit.
    values = [v for v in VALUES[type_] if not (name == "xml" and ("-2147483648" in v or "-92233720" in v))]
    for fine, same, before, after in round_trip(spark, name, type_, values):
        assert fine
        assert same, (before, after)
