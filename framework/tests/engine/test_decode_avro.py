"""The decoder of Avro, on Spark: resolution, framing, limits, and the reasons why values are bad."""

import json
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from support.avro import comparable
from support.avro_spark import call
from support.bad_columns import plain, reason_of

from millstream.formats.avro.binary import double_bytes, long_bytes
from millstream.formats.avro.codec import AvroEncoding, local_codec
from millstream.formats.avro.columns import columns_of
from millstream.formats.avro.parse import parse_schema
from millstream.formats.sql import fields_to_ddl
from millstream.formats.values import UnfitError

LEAST, MOST = -(2**63), 2**63 - 1
END_OF_TIME = 253402300800  # the first second of year 10000
START_OF_TIME = -62135596800


def record(*fields, name="r", **more):
    written = [{"name": field, "type": of, **rest} for field, of, rest in ((*f, {})[:3] for f in fields)]
    return {"type": "record", "name": name, "fields": written, **more}


def logical(of, kind, **more):
    return {"type": of, "logicalType": kind, **more}


def text(value):
    return long_bytes(len(value)) + value


def decimal(unscaled):
    return text(unscaled.to_bytes(17, "big", signed=True))


A = record(("a", "int"))
TEN = record(("a", logical("bytes", "decimal", precision=38, scale=2)))
NODE = record(("next", ["null", "Node"]), name="Node")
GOOD = [
    (A, A, long_bytes(2**31 - 1), {"a": 2**31 - 1}),
    (A, record(("a", "long")), long_bytes(-5), {"a": -5}),
    (record(("a", "long")), record(("a", "double")), long_bytes(2**53), {"a": 2.0**53}),
    (record(("a", "long")), record(("a", "long")), long_bytes(LEAST), {"a": LEAST}),
    (record(("a", "long")), record(("a", "long")), long_bytes(MOST), {"a": MOST}),
    (A, record(("b", "int", {"aliases": ["a"]})), long_bytes(1), {"b": 1}),
    (A, record(("b", ["null", "string"], {"default": None})), long_bytes(1), {"b": None}),
    (A, record(("b", logical("int", "date"), {"default": 1})), long_bytes(1), {"b": date(1970, 1, 2)}),
    (A, record(("b", ["null", "string"], {"default": "x"})), long_bytes(1), {"b": "x"}),
    (A, record(("a", ["string", "null", "long"])), long_bytes(3), {"a": {"member0": None, "member1": 3}}),
    (record(("a", ["int", "long"])), record(("a", ["int", "long"])), b"\0" + long_bytes(3), {"a": 3}),
    (record(("a", ["int", "null", "long"])), record(("a", ["null", "int", "long"])), b"\4\6", {"a": 3}),
    (record(("a", ["float", "double"])), record(("a", ["float", "double"])), b"\2" + double_bytes(0.1), {"a": 0.1}),
    (record(("a", "int"), ("n", NODE)), A, b"\2" + b"\2" * 150 + b"\0", {"a": 1}),
    (record(("x", {"type": "array", "items": "string"}), ("a", "int")), A, b"\1\4\2x\0\2", {"a": 1}),
    ([record(name="Empty"), A], A, b"\2\6", {"a": 3}),
    ("string", "string", text("é".encode()), {"value": "é"}),
    ("long", ["null", "long"], long_bytes(7), {"value": 7}),
    (record(("a", {"type": "map", "values": "int"})),) * 2 + (b"\4\2x\2\2x\4\0", {"a": {"x": 2}}),
    (TEN, TEN, decimal(10**38 - 1), {"a": Decimal("999999999999999999999999999999999999.99")}),
    (TEN, TEN, decimal(1 - 10**38), {"a": Decimal("-999999999999999999999999999999999999.99")}),
    (record(("a", logical("bytes", "decimal", precision=4, scale=2))), TEN, decimal(125), {"a": Decimal("1.25")}),
    (record(("a", "bytes")), TEN, decimal(125), {"a": Decimal("1.25")}),
    (record(("a", logical("int", "time-millis"))), record(("a", logical("long", "time-micros"))), long_bytes(86399999), {"a": 86399999000}),
    (record(("a", logical("long", "timestamp-micros"))), record(("a", logical("long", "timestamp-millis"))), long_bytes(1), {"a": datetime(1970, 1, 1, 0, 0, 0, 1, timezone.utc)}),
    (record(("a", "long")), record(("a", logical("long", "local-timestamp-millis"))), long_bytes(1), {"a": datetime(1970, 1, 1, 0, 0, 0, 1000)}),  # noqa: DTZ001
    (record(("a", logical("int", "date"))),) * 2 + (long_bytes(-719162), {"a": date.min}),
    (record(("a", logical("int", "date"))),) * 2 + (long_bytes(2932896), {"a": date.max}),
    (record(("a", logical("long", "timestamp-nanos"))),) * 2 + (long_bytes(7), {"a": 7}),
    (record(("a", logical("string", "uuid"))),) * 2 + (text(b"01234567-89AB-cdef-0123-456789abcdef"), {"a": "01234567-89AB-cdef-0123-456789abcdef"}),
]  # fmt: skip
ENUM = {"type": "enum", "name": "E", "symbols": ["A", "B"]}
NULLS = {"type": "array", "items": "null"}
BAD = [
    (A, A, b"", "field a: the value ends too early"),
    (A, A, b"\2\2", "there is more after the record: 1 bytes"),
    (A, A, long_bytes(2**31), "field a: '2147483648' is not an int"),
    (A, A, b"\xff" * 9 + b"\2", "field a: a number has more than 64 bits"),
    (A, A, b"\xff" * 10 + b"\1", "field a: a number has more than 64 bits"),
    (record(("a", "boolean")),) * 2 + (b"\2", "field a: the byte 0x02 is not a boolean"),
    (record(("a", "string")),) * 2 + (b"\2\xff", "field a: the text is not UTF-8"),
    (record(("a", "string")),) * 2 + (b"\6\xed\xa0\x80", "field a: the text is not UTF-8"),
    (record(("a", "string")),) * 2 + (b"\1", "field a: a length is negative: -1"),
    (record(("a", "bytes")),) * 2 + (long_bytes(MOST), "field a: the value ends too early"),
    (record(("a", "bytes")), record(("a", "string")), b"\2\xff", "field a: the text is not UTF-8"),
    (record(("a", ["null", "int"])),) * 2 + (b"\1", "field a: -1 is not the number of a type of the union"),
    (record(("a", ["null", "int"])), A, b"\0", "field a: the writer's null can't be read as int"),
    (record(("e", ENUM)),) * 2 + (b"\4", "field e: 2 is not the number of a symbol"),
    (record(("e", ENUM)), record(("e", {**ENUM, "symbols": ["A"]})), b"\2", "field e: 'B' is not a symbol of E"),
    (A, record(("a", "string")), b"\2", "field a: the writer's int can't be read as string"),
    (A, record(("b", "int")), b"\2", "the writer's schema lacks field b, which has no default"),
    (record(("a", "long")), record(("a", "double")), long_bytes(2**53 + 1), "field a: '9007199254740993' is not a double"),
    (record(("a", "long")), record(("a", "double")), long_bytes(MOST), "field a: '9223372036854775807' is not a double"),
    (record(("a", "long")), record(("a", "float")), long_bytes(2**24 + 1), "field a: '16777217' is not a float"),
    (record(("a", NULLS)),) * 2 + (long_bytes(MOST), "field a: there are too many elements without any bytes"),
    (record(("a", {"type": "array", "items": NULLS})),) * 2 + (long_bytes(1000) + (long_bytes(4_000) + b"\0") * 3, "field a[2]"),
    (record(("a", NULLS), ("b", "int")), record(("b", "int")), long_bytes(MOST), "field a: there are too many elements without any bytes"),
    (record(("a", {"type": "array", "items": "int"})),) * 2 + (long_bytes(MOST), "field a[0]: the value ends too early"),
    (record(("a", {"type": "array", "items": "int"})),) * 2 + (long_bytes(-1) + b"\x10\2\0", "field a: the value ends too early"),
    (record(("a", {"type": "array", "items": "int"})),) * 2 + (long_bytes(-1) + b"\4\2\0\0", "field a: the size of a block is wrong"),
    (record(("a", {"type": "array", "items": "int"})),) * 2 + (long_bytes(LEAST) + b"\0\0", "field a: the size of a block is wrong"),
    (record(("a", {"type": "map", "values": record(("a", "int"), name="s")})),) * 2 + (b"\2\2k" + long_bytes(2**40), "field a.k.a: '1099511627776' is not an int"),
    (record(("n", NODE), ("a", "int")), A, b"\2" * 100_000, "field n: records are nested more than 200 levels deep"),
    (TEN, TEN, decimal(10**38), "field a: '1000000000000000000000000000000000000.00' is not a decimal(38,2)"),
    (TEN, TEN, b"\0", "field a: a decimal has no bytes"),
    (TEN, TEN, text(b"\1" * 100), "field a: a number of 793 bits is not a decimal(38,2)"),
    (TEN, record(("a", logical("bytes", "decimal", precision=38, scale=1))), decimal(125), "field a: '1.25' is not a decimal(38,1)"),
    (record(("a", logical("int", "date"))),) * 2 + (long_bytes(2932897), "field a: '2932897' is not a date of the years 1 to 9999"),
    (record(("a", logical("int", "date"))),) * 2 + (long_bytes(-719163), "field a: '-719163' is not a date of the years 1 to 9999"),
    (record(("a", logical("int", "time-millis"))),) * 2 + (long_bytes(86400000), "field a: '86400000' is not a time of day in milliseconds"),
    (record(("a", logical("long", "time-micros"))),) * 2 + (b"\1", "field a: '-1' is not a time of day in microseconds"),
    *(
        (record(("a", logical("long", f"{local}timestamp-{unit}s"))),) * 2
        + (long_bytes(limit * factor + shift), f"field a: '{limit * factor + shift}' is not a timestamp of the years 1 to 9999 in {unit}seconds".replace("microsseconds", "microseconds"))
        for local in ("", "local-")
        for unit, factor in (("milli", 1000), ("micro", 10**6))
        for limit, shift in ((END_OF_TIME, 0), (START_OF_TIME, -1))
    ),
    (record(("a", logical("long", "timestamp-millis"))),) * 2 + (long_bytes(MOST), f"field a: '{MOST}' is not a timestamp of the years 1 to 9999 in milliseconds"),
    (record(("a", logical("string", "uuid"))),) * 2 + (text(b"x"), "field a: 'x' is not a UUID"),
    (record(("a", logical("int", "date"))), record(("a", logical("long", "timestamp-millis"))), b"\2", "field a: the writer's date can't be read as timestamp-millis"),
    (record(("a", logical("long", "timestamp-millis"))), record(("a", logical("long", "local-timestamp-millis"))), b"\2", "field a: the writer's timestamp-millis can't be read as local-timestamp-millis"),
]  # fmt: skip


@pytest.fixture(scope="module")
def decoded(first_spark):
    """Decode all values in one query."""
    cases = [*GOOD, *BAD]
    calls = []
    for writer, reader, value, _ in cases:
        schema = json.dumps(reader)
        column = (
            f"X'{value.hex()}'"
            if len(value) < 10_000
            else f"unhex(repeat('{value[:1].hex()}', {len(value)}))"
        )
        calls.append(
            call(
                "decode_avro",
                column,
                fields_to_ddl(columns_of(parse_schema(schema))),
                schema,
                "plain",
                json.dumps(writer),
            )
        )
    (row,) = first_spark.range(1).selectExpr(*(f"{call} as d{n}" for n, call in enumerate(calls))).collect()
    return [comparable(plain(struct.asDict(recursive=True))) for struct in row]


@pytest.mark.parametrize("n", range(len(GOOD)))
def test_good_values(decoded, n):
    writer, reader, value, expected = GOOD[n]
    assert decoded[n] == comparable({**expected, "_bad": None})
    local = local_codec(AvroEncoding(json.dumps(reader), writer=json.dumps(writer))).decode(value, ())
    assert comparable(
        local if isinstance(local, dict) and "value" not in expected else {"value": local}
    ) == comparable(expected)


@pytest.mark.parametrize("n", range(len(BAD)))
def test_bad_values(decoded, n):
    writer, reader, value, reason = BAD[n]
    row = decoded[len(GOOD) + n]
    assert row["_bad"].startswith(reason)
    assert all(value is None for name, value in row.items() if name != "_bad")
    with pytest.raises(UnfitError) as error:
        local_codec(AvroEncoding(json.dumps(reader), writer=json.dumps(writer))).decode(value, ())
    assert str(error.value) == row["_bad"]


WRITERS = {"7": json.dumps(A), "8": '"string"', "9": "{", "-2": json.dumps(A)}
FRAMED = {
    b"\0\0\0\0\7\2": {"a": 1, "_bad": None},
    b"\0\xff\xff\xff\xfe\2": {"a": 1, "_bad": None},
    b"\0\0\0\0": {"a": None, "_bad": "the value has 4 bytes, and no id of a schema"},
    b"\1\0\0\0\7\2": {"a": None, "_bad": "the value does not start with a zero byte and the id of a schema"},
    b"\0\0\0\0\6\2": {"a": None, "_bad": "unknown schema id 6"},
    b"\0\0\0\0\x08\2x": {"a": None, "_bad": "the writer's string can't be read as record r"},
}


def test_confluent_framing(first_spark):
    local = local_codec(
        AvroEncoding(
            json.dumps(A), "confluent", writers=((7, WRITERS["7"]), (8, WRITERS["8"]), (-2, WRITERS["7"]))
        )
    )
    for value, expected in FRAMED.items():
        sql = call(
            "decode_avro", f"X'{value.hex()}'", "a int", json.dumps(A), "confluent", json.dumps(WRITERS)
        )
        (row,) = first_spark.sql(f"select inline(array({sql}))").collect()
        assert plain(row.asDict(recursive=True)) == expected
        if expected["_bad"]:
            with pytest.raises(UnfitError, match=expected["_bad"]):
                local.decode(value, ())
        else:
            assert local.decode(value, ()) == {"a": 1}


def test_a_writers_schema_that_is_not_valid(first_spark):
    sql = call("decode_avro", "X'0000000009'", "a int", json.dumps(A), "confluent", json.dumps(WRITERS))
    (row,) = first_spark.sql(f"select inline(array({sql}))").collect()
    assert reason_of(row["_bad"]).startswith("the writer's schema is not valid: ")
    with pytest.raises(UnfitError, match="the writer's schema is not valid: not JSON"):
        local_codec(AvroEncoding(json.dumps(A), writer="{")).decode(b"", ())


def test_only_the_columns_that_are_needed_are_read(first_spark):
    schema = json.dumps(
        record(("a", "int"), ("b", "string"), ("c", record(("d", "int"), ("e", "int"), name="s")))
    )
    sql = call(
        "decode_avro",
        "X'02020fff0406'".replace("020fff", "02ff"),
        "c struct<e:int>, a int",
        schema,
        "plain",
        "",
    )
    (row,) = first_spark.sql(f"select inline(array({sql}))").collect()
    assert row.asDict(recursive=True) == {"c": {"e": 3}, "a": 1, "_bad": None}


@pytest.mark.parametrize(
    ("columns", "schema", "message"),
    [
        ("a string", A, "field a: Avro's int is not a string"),
        ("b int", A, "the schema has no field b"),
        ("a struct<b: int>", record(("a", record(("b", "string"), name="s"))), "field a.b: Avro's string is not an int"),
        ("a decimal(4,1)", TEN, r"field a: Avro's decimal\(38,2\) is not a decimal\(4,1\)"),
        ("a int, b int", "int", "the schema is not a record: it needs a single column"),
        ("a date", record(("a", logical("int", "date"), {"default": 2**31 - 1})), "the default of field a is not valid"),
    ],
)  # fmt: skip
def test_columns_that_the_schema_does_not_have(first_spark, columns, schema, message):
    expression = call("decode_avro", "X''", columns, json.dumps(schema), "plain", "")
    with pytest.raises(Exception, match=message):
        first_spark.sql(f"select {expression}")


def test_a_column_that_can_not_be_null(first_spark):
    schema = json.dumps(record(("a", ["null", "int"])))
    sql = call("decode_avro", "X'00'", "a int not null", schema, "plain", "")
    (row,) = first_spark.sql(f"select inline(array({sql}))").collect()
    assert reason_of(row["_bad"]) == "field a: the value is missing"


def test_smaller_and_larger_numbers(first_spark):
    schema = json.dumps(record(("a", "int"), ("b", "int"), ("c", "float")))
    columns = "a tinyint, b bigint, c double"
    for value, expected in ((127, {"a": 127, "b": 1, "c": 0.5}), (128, "field a: '128' is not a tinyint")):
        raw = (long_bytes(value) + b"\2\0\0\0\x3f").hex()
        (row,) = first_spark.sql(
            f"select inline(array({call('decode_avro', f'X{raw!r}', columns, schema, 'plain', '')}))"
        ).collect()
        assert (reason_of(row["_bad"]) or {"a": row["a"], "b": row["b"], "c": row["c"]}) == expected
