"""Changes of Debezium on Spark and in Python: those of its documentation, and all types of its connectors."""

import json
import re
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from support.bad_columns import plain
from support.debezium import CUSTOMER, MYSQL, POSTGRES, change, digits, field, key_with_schema, with_schema

from millstream.core.types import Field, parse_type
from millstream.formats.debezium_values import check_change, check_key
from millstream.formats.values import UnfitError

FIELDS = (
    "id int, first_name string, last_name string, email string, born date, at timestamp, local timestamp_ntz, "
    "price decimal(10,2), days array<date>, prices array<decimal(6,1)>, image binary, tags map<string, string>, ok boolean"
)
MICROS = 1767323045678901
COMMITTED_AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone.utc)
LOCAL = COMMITTED_AT.replace(tzinfo=None)
CONNECT = "org.apache.kafka.connect.data"
PRECISE = field("price", "bytes", f"{CONNECT}.Decimal", scale=2, **{"connect.decimal.precision": 10})
BASE64 = digits(Decimal("12.34"), 2)


def of(**row):
    return change("c", {"id": 1, **row})


def typed(column, value):
    return with_schema(of(**{column["field"]: value}), field("id", "int32", optional=False), column)


GOOD = [
    (change("c", CUSTOMER), CUSTOMER),
    (with_schema(change("c", CUSTOMER), field("id", "int32", optional=False)), CUSTOMER),
    (change("r", CUSTOMER, source=MYSQL), CUSTOMER),
    (change("u", CUSTOMER | {"first_name": "Anne Marie"}, {"id": 1}), CUSTOMER | {"first_name": "Anne Marie"}),
    (change("d", None, {"id": 1}), {"id": 1}),
    (change("d", None, CUSTOMER, source=MYSQL), CUSTOMER),
    (with_schema(change("d", None, CUSTOMER), field("id", "int32")), CUSTOMER),
    (change("d"), {}),
    ({"schema": None, "payload": change("c", CUSTOMER)}, CUSTOMER),
    ({"op": "c", "after": {"id": 1}}, {"id": 1}),
    # Without a schema, what is declared says what a value is.
    (of(born=20455), {"id": 1, "born": date(2026, 1, 2)}),
    (of(born=-1), {"id": 1, "born": date(1969, 12, 31)}),
    (of(born="2026-01-02", days=[20455, None]), {"id": 1, "born": date(2026, 1, 2), "days": [date(2026, 1, 2), None]}),
    (of(at="2026-01-02T03:04:05.678901Z"), {"id": 1, "at": COMMITTED_AT}),
    (of(price=12.34), {"id": 1, "price": Decimal("12.34")}),
    (of(price={"scale": 1, "value": digits(Decimal("-0.5"), 1)}), {"id": 1, "price": Decimal("-0.50")}),
    (of(image="AQI="), {"id": 1, "image": b"\x01\x02"}),
    (of(tags={"a": "b"}), {"id": 1, "tags": {"a": "b"}}),
    # With one, that does.
    (typed(field("born", "int32", "io.debezium.time.Date"), 20455), {"id": 1, "born": date(2026, 1, 2)}),
    (typed(field("born", "int32", f"{CONNECT}.Date"), 20455), {"id": 1, "born": date(2026, 1, 2)}),
    (typed(field("at", "int64", "io.debezium.time.Timestamp"), MICROS // 1000), {"id": 1, "at": COMMITTED_AT.replace(microsecond=678000)}),
    (typed(field("at", "int64", f"{CONNECT}.Timestamp"), MICROS // 1000), {"id": 1, "at": COMMITTED_AT.replace(microsecond=678000)}),
    (typed(field("at", "int64", "io.debezium.time.MicroTimestamp"), MICROS), {"id": 1, "at": COMMITTED_AT}),
    (typed(field("at", "int64", "io.debezium.time.NanoTimestamp"), MICROS * 1000 + 7), {"id": 1, "at": COMMITTED_AT}),
    (typed(field("at", "string", "io.debezium.time.ZonedTimestamp"), "2026-01-02T03:04:05.678901Z"), {"id": 1, "at": COMMITTED_AT}),
    (typed(field("local", "int64", "io.debezium.time.MicroTimestamp"), MICROS), {"id": 1, "local": LOCAL}),
    (typed(PRECISE, BASE64), {"id": 1, "price": Decimal("12.34")}),
    (typed(PRECISE, digits(Decimal("-99999999.99"), 2)), {"id": 1, "price": Decimal("-99999999.99")}),
    (typed(field("price", "string"), "12.34"), {"id": 1, "price": Decimal("12.34")}),
    (typed(field("price", "double"), 12.34), {"id": 1, "price": Decimal("12.34")}),
    (
        typed({"type": "array", "items": {"type": "bytes", "name": f"{CONNECT}.Decimal", "parameters": {"scale": "1"}}, "field": "prices"}, [digits(Decimal("0.5"), 1), None]),
        {"id": 1, "prices": [Decimal("0.5"), None]},
    ),
]  # fmt: skip
BAD = [
    ({"id": 1}, "the record is not a change of Debezium: it has no 'op'"),
    ([], "the value is not a JSON object"),
    (change("c"), "the operation 'c' has no row: 'after' is missing"),
    (change("u", None, CUSTOMER), "the operation 'u' has no row: 'after' is missing"),
    (change("d", CUSTOMER), "the operation 'd' deletes a row, but there is an 'after'"),
    (change("t"), "the table was truncated: the record names no row that it deletes"),
    (change("m"), "it is a message in the database's log, not the change of a row"),
    (change("x", CUSTOMER), "field op: 'x' is not an operation of Debezium: c, u, r or d"),
    (of(id="1"), "field id: '1' is not an int"),
    (of(at=MICROS), f"field at: '{MICROS}' is not a timestamp: without a schema, format_options has to say what"),
    (of(price="1234"), "field price: '1234' is not a decimal(10,2): without a schema, format_options has to say"),
    (of(born=20455.5), "field born: '20455.5' is not a"),
    (of(born=10**9), "field born: '1000000000' is not a date"),
    (of(email="__debezium_unavailable_value"), "field email: the database's log lacks the value, which did not"),
    (of(image="X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="), "field image: the database's log lacks the value"),
    (of(price={"scale": 3, "value": digits(Decimal("1.255"), 3)}), "field price: '1.255' is not a decimal(10,2)"),
    (typed(field("at", "int64"), MICROS), f"field at: '{MICROS}' is not a timestamp"),
    (typed(field("at", "int64", "io.debezium.time.MicroTimestamp"), 2**63 - 1), "field at: '9223372036854775807' is not a"),
    (typed(PRECISE, "??"), "field price: '??' is not base64"),
    (typed(PRECISE, ""), "field price: no bytes are not a decimal(10,2)"),
    ({"schema": {}, "value": change("c", CUSTOMER)}, "there is a schema, but no 'payload' after it"),
    (with_schema(change("c", CUSTOMER)) | {"x": 1}, "there is more after the payload"),
]  # fmt: skip
TEXTS = {
    b"": "the value is empty",
    b'{"op": "c", "after": {"id": 1}, "after": {"id": 2}}': "field after: the object has it twice",
    b'{"op": "c", "op": "d", "after": {"id": 1}}': "field op: the object has it twice",
    b'{"op": "c", "after": {"id": 1, "id": 2}}': "field id: the object has it twice",
    b'{"op": "c", "after": {"id": 1}} {}': "there is more after the JSON object",
    b'{"op": "c", "after": {"id": 1}': "not JSON: ",
    b'{"op": "c", "after": {"id": \xff}}': "the value is not valid UTF-8",
    b'{"schema": {}, "payload": {"op": "c", "after": {"id": 1}}} x': "not JSON: ",
}
CASES = [
    *((json.dumps(value).encode(), row) for value, row in GOOD),
    *((json.dumps(value).encode(), reason) for value, reason in BAD),
    *TEXTS.items(),
]
COLUMNS = tuple(
    Field(name, parse_type(type_))
    for name, type_ in (declaration.split(" ", 1) for declaration in re.split(r", (?=\w+ )", FIELDS))
)


def decode(spark, values, call):
    rows = spark.createDataFrame([(bytearray(value),) for value in values], "value binary")
    return [
        plain(row.asDict(recursive=True))
        for row in rows.selectExpr("value", f"inline(array({call}))").collect()
    ]


@pytest.fixture(scope="module")
def decoded(first_spark):
    """Decode all values at once."""
    return decode(first_spark, [value for value, _ in CASES], f"decode_debezium(value, '{FIELDS}', '', '')")


@pytest.mark.parametrize("number", range(len(CASES)))
def test_values(decoded, number):
    _, expected = CASES[number]
    row = dict(decoded[number])
    row.pop("value")
    bad = row.pop("_bad")
    values = {name: content for name, content in row.items() if content is not None}
    if isinstance(expected, str):
        assert (bad or "").startswith(expected)
        assert not values
    else:
        assert bad is None
        if "at" in values:
            values["at"] = values["at"].astimezone(timezone.utc)
        assert values == expected


@pytest.mark.parametrize("number", range(len(CASES)))
def test_python_reads_alike(number):
    value, expected = CASES[number]
    if isinstance(expected, str):
        with pytest.raises(UnfitError):
            check_change(value, COLUMNS, "", "")
    else:
        check_change(value, COLUMNS, "", "")


def test_options_say_what_values_are_without_a_schema(first_spark):
    values = [json.dumps(of(at=MICROS // 1000, price=BASE64)).encode()]
    (row,) = decode(first_spark, values, f"decode_debezium(value, '{FIELDS}', 'millis', 'precise')")
    assert row["at"].astimezone(timezone.utc) == COMMITTED_AT.replace(microsecond=678000)
    assert row["price"] == Decimal("12.34")
    check_change(values[0], COLUMNS, "millis", "precise")
    # A schema says it better.
    values = [json.dumps(typed(field("at", "int64", "io.debezium.time.MicroTimestamp"), MICROS)).encode()]
    (row,) = decode(first_spark, values, f"decode_debezium(value, '{FIELDS}', 'millis', 'precise')")
    assert row["at"].astimezone(timezone.utc) == COMMITTED_AT


def test_schemas_change_from_record_to_record(first_spark):
    millis, micros = "io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp"
    numbers = {millis: MICROS // 1000, micros: MICROS}
    values = [
        json.dumps(typed(field("at", "int64", name), numbers[name])).encode() for name in [millis, micros] * 3
    ]
    rows = decode(first_spark, values, f"decode_debezium(value, '{FIELDS}', '', '')")
    assert [row["at"].microsecond for row in rows] == [678000, 678901] * 3


def test_what_happened_to_a_row(first_spark):
    fields = "id int, _op string not null, _ts_ms bigint, _source struct<ts_ms: bigint, lsn: bigint, file: string, snapshot: string>"
    values = [
        change("c", {"id": 1, "_op": "x", "op": "y"}),
        change("u", {"id": 1}, source=MYSQL),
        change("c", {"id": 2}, source={"lsn": "x"}),
        with_schema(change("d", None, {"id": 3})),
    ]
    encoded = [json.dumps(value).encode() for value in values]
    rows = decode(first_spark, encoded, f"decode_debezium(value, '{fields}', '', '')")
    assert [row["_op"] for row in rows] == ["c", "u", None, "d"]
    source = {"ts_ms": POSTGRES["ts_ms"], "lsn": 24023128, "file": None, "snapshot": "true"}
    assert rows[0] | {"value": 0} == {
        "value": 0, "id": 1, "_op": "c", "_ts_ms": 1559033904863, "_source": source, "_bad": None,
    }  # fmt: skip
    assert rows[1]["_source"]["file"] == "mysql-bin.000003"
    assert rows[2]["_bad"] == "field _source.lsn: 'x' is not a bigint"
    assert rows[3]["id"] == 3


def test_a_reference_topic_reads_no_row_that_is_deleted(first_spark):
    fields = "id int not null, name string not null, _op string, _deleted boolean not null"
    values = [change("d", None, {"id": 1}), change("d"), change("c", {"id": 1, "name": "x"}), change("c", {"id": 1})]  # fmt: skip
    rows = decode(
        first_spark, [json.dumps(v).encode() for v in values], f"decode_debezium(value, '{fields}', '', '')"
    )
    assert [(row["id"], row["_op"], row["_deleted"]) for row in rows] == [
        (None, "d", True), (None, "d", True), (1, "c", False), (None, None, None),
    ]  # fmt: skip
    assert rows[3]["_bad"] == "field name: the value is missing"


KEYS = [
    ({"id": 1}, "int", 1),
    (key_with_schema({"id": 1}, field("id", "int32", optional=False)), "int", 1),
    ({"id": 1, "shop": "x"}, "struct<id: int, shop: string>", {"id": 1, "shop": "x"}),
    (key_with_schema({"day": 20455}, field("day", "int32", "io.debezium.time.Date")), "date", date(2026, 1, 2)),
    ({"schema": "x", "payload": 1}, "struct<schema: string, payload: int>", {"schema": "x", "payload": 1}),
    ({"id": 1, "shop": "x"}, "int", "'shop' is not a field of the schema"),
    ({"id": "1"}, "int", "field id: '1' is not an int"),
    ({}, "int", "the key has no columns"),
    (1, "int", "the value is not a JSON object"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_keys(first_spark, number):
    key, type_, expected = KEYS[number]
    value = json.dumps(key).encode()
    (row,) = decode(first_spark, [value], f"decode_debezium_key(value, 'key {type_}', '', '')")
    if isinstance(expected, str):
        assert row["_bad"].startswith(expected)
        with pytest.raises(UnfitError):
            check_key(value, parse_type(type_), "", "")
    else:
        assert row["key"] == expected
        assert row["_bad"] is None
        check_key(value, parse_type(type_), "", "")
