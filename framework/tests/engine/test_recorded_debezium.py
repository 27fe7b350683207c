"""What real connectors wrote gives the rows that the databases had: in JSON with and without a schema, and in Avro.

`benchmarks/debezium/record.py` made the records with Debezium's own engine, from PostgreSQL and MariaDB.
"""

import json
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from support.bad_columns import plain
from support.debezium import Recorded, avro_bytes

from millstream.core.expressions import sql_literal
from millstream.core.types import Field, parse_type
from millstream.formats.format import SchemaError, SchemaFiles
from millstream.formats.registry import Encoding, WriterSchema, format_of
from millstream.formats.sql import fields_to_ddl

UNAVAILABLE = "field big_text: the database's log lacks the value, which did not change"
POSTGRES = """
    id int, small smallint, big bigint, flag boolean, single float, twice double, price decimal(12,2),
    anyscale decimal(38,5), words string, code string, uid string, doc string, docb string, raw binary, day date,
    at timestamp_ntz, at3 timestamp_ntz, atz timestamp, tags array<string>, numbers array<int>,
    prices array<decimal(6,2)>, days array<date>, feeling string, onebit boolean, net string, range string,
    big_text string, xml_ string, money decimal(12,2)
"""
MARIADB = """
    id int, tiny smallint, flag smallint, small int, medium int, big bigint, single float, twice double,
    price decimal(12,2), words string, code string, doc string, raw binary, fixed binary, day date,
    at timestamp_ntz, at3 timestamp_ntz, at6 timestamp_ntz, ts timestamp, ts6 timestamp, y int, feeling string,
    colors string, onebit boolean, long_text string
"""


def columns_of(text):
    return [Field(*(part.split()[0], parse_type(part.split(" ", 1)[1]))) for part in split(text)]


def split(text):
    """Split a list of columns at commas that are not within parentheses."""
    parts, depth, current = [], 0, ""
    for letter in " ".join(text.split()):
        depth += letter in "(<"
        depth -= letter in ")>"
        if letter == "," and not depth:
            parts.append(current.strip())
            current = ""
        else:
            current += letter
    return [*parts, current.strip()]


TIMES = {"at", "at3", "at6", "atz", "ts", "ts6"}
NUMBERS = {"price", "anyscale", "ubig"}


def normal(value, column):
    """Return a value of Spark, or of a database's client as it was recorded, so that equal ones are equal."""
    if isinstance(value, list):
        return [normal(part, "price" if column == "prices" else "") for part in value]
    if isinstance(value, str) and value.startswith("0000"):
        return None  # MySQL's zero date
    if value is not None and column in NUMBERS:
        return Decimal(value)
    if isinstance(value, str) and column in {"doc", "docb"}:
        return json.loads(value)
    if value is not None and column in TIMES:
        time = (
            value if isinstance(value, datetime) else datetime.fromisoformat(value.replace("+00", "+00:00"))
        )
        return time.astimezone(timezone.utc) if time.tzinfo else time.replace(tzinfo=timezone.utc)
    if isinstance(value, bytearray | bytes):
        return bytes(value).hex()
    return value.isoformat() if isinstance(value, date) else value


def decoded(spark, values, call):
    rows = spark.createDataFrame(
        [(i, bytearray(value)) for i, value in enumerate(values)], "i int, value binary"
    )
    selected = rows.selectExpr("i", f"inline(array({call}))").orderBy("i").collect()
    return [plain(row.asDict(recursive=True)) for row in selected]


def call(function, fields, settings):
    return f"{function}(value, {', '.join(sql_literal(text) for text in (fields_to_ddl(fields), *settings))})"


def newest(rows, key):
    """Return the last row of each key, without the deleted ones."""
    last = {}
    for row in rows:
        last[tuple(row[name] for name in key)] = row
    return {number: row for number, row in last.items() if row["_op"] != "d"}


@pytest.mark.parametrize(
    ("name", "columns", "left_out"),
    [
        ("postgres", POSTGRES, {"big_text", "range", "money"}),
        ("postgres_modes", POSTGRES, {"big_text", "range", "money", "at"}),
        ("mariadb", MARIADB, set()),
        ("mariadb_modes", MARIADB + ", ubig decimal(20,0)", {"at6"}),
    ],
)
def test_rows_of_json_with_schemas(first_spark, name, columns, left_out):
    recorded = Recorded(name)
    fields = [field for field in columns_of(columns) if field.name not in {*left_out, "onebit"}]
    check_rows(
        first_spark,
        recorded,
        fields,
        [recorded.in_json(r["value"], schemas=True) for r in recorded.of("kinds")],
    )


@pytest.mark.parametrize(
    ("name", "columns", "left_out", "options"),
    [
        ("postgres", POSTGRES, {"big_text", "range", "money", "at3", "anyscale"}, ("micros", "precise")),
        ("postgres_modes", POSTGRES, {"big_text", "range", "money", "at"}, ("millis", "string")),
        ("mariadb", MARIADB, {"at6"}, ("millis", "precise")),
        ("mariadb_modes", MARIADB, {"at6"}, ("millis", "string")),
    ],
)
def test_rows_of_json_without_schemas(first_spark, name, columns, left_out, options):
    recorded = Recorded(name)
    fields = [field for field in columns_of(columns) if field.name not in {*left_out, "onebit"}]
    values = [recorded.in_json(r["value"], schemas=False) for r in recorded.of("kinds")]
    check_rows(first_spark, recorded, fields, values, options)


def check_rows(spark, recorded, fields, values, options=("", "")):
    """Check that the last records of keys are the rows of the table, besides those with infinite times."""
    read = [*fields, Field("_op", parse_type("string"))]
    changes = [value.encode() for value in values if value is not None]
    rows = decoded(spark, changes, call("decode_debezium", read, options))
    compare_rows(rows, recorded, fields)


def compare_rows(rows, recorded, fields):
    bad = [row["_bad"] for row in rows if row["_bad"]]
    assert all("is not a date" in reason or "is not a timestamp" in reason for reason in bad), bad
    assert len(bad) == (1 if recorded.rows["kinds"][0].get("tags") else 0)
    last = newest([row for row in rows if not row["_bad"]], ["id"])
    stored = {(row["id"],): row for row in recorded.rows["kinds"] if row.get("day") != "infinity"}
    assert last.keys() == stored.keys()
    differences = [
        (number, field.name, one, other)
        for number, row in last.items()
        for field in fields
        if (one := normal(row[field.name], field.name))
        != (other := normal(stored[number][field.name], field.name))
    ]
    assert not differences


def test_values_that_a_log_lacks(first_spark):
    recorded = Recorded("postgres")
    values = [recorded.in_json(r["value"], schemas=True).encode() for r in recorded.of("kinds") if r["value"]]
    rows = decoded(
        first_spark, values, "decode_debezium(value, 'id int, big_text string, _op string', '', '')"
    )
    assert [row["_bad"] for row in rows if row["_bad"]] == [UNAVAILABLE]


def test_truncates_are_bad(first_spark):
    for name in ("postgres", "mariadb"):
        recorded = Recorded(name)
        values = [
            recorded.in_json(r["value"], schemas=True).encode() for r in recorded.of("pairs") if r["value"]
        ]
        rows = decoded(
            first_spark,
            values,
            "decode_debezium(value, 'shop string, number int, word string, _op string', '', '')",
        )
        bad = [row["_bad"] for row in rows if row["_bad"]]
        assert bad == ["the table was truncated: the record names no row that it deletes"] * len(bad), name
        assert len(bad) == 1, name


AVRO_TYPES = {
    "id": "int", "small": "int", "big": "bigint", "flag": "boolean", "single": "float", "twice": "double",
    "price": "decimal(12,2)", "anyscale": "string", "words": "string", "uid": "string", "doc": "string",
    "raw": "binary", "day": "date", "at": "timestamp", "at3": "timestamp", "atz": "timestamp", "clock": "bigint",
    "clockz": "string", "span": "bigint", "tags": "array<string>", "prices": "array<decimal(6,2)>",
    "days": "array<date>", "bits": "binary", "onebit": "boolean", "money": "decimal(38,2)", "feeling": "string",
    "spot": "struct<x:double,y:double,wkb:binary,srid:int>",
}  # fmt: skip


UNLIKE = {"blob_", "spot", "pairs", "span", "bits", "varbits", "clock", "clockz", "clock6", "onebit"}
UNLIKE |= {"big_text", "range", "money"}
"""Columns that a client of the database returns as something else, or that a record lacks."""


def of_avro(recorded, record, part, writers=(), framing="confluent"):
    """Return how a part of a record is encoded, and its columns."""
    path, language = "schemas/changes.avsc", format_of("debezium").schemas
    schema = language.read(SchemaFiles(path, {path: recorded.avro_schema(record, part)}, key=part == "key"))
    encoding = Encoding(
        "debezium", schema=schema.essence, framing=framing, single=schema.single, writers=writers
    )
    return encoding, schema.columns


def test_columns_of_avro_are_those_of_the_table():
    recorded = Recorded("postgres")
    record = recorded.of("kinds")[0]
    _, columns = of_avro(recorded, record, "value")
    types = {column.name: str(column.type) for column in columns}
    assert types | AVRO_TYPES == types
    assert [column.name for column in columns if not column.nullable] == ["id"]
    _, (key,) = of_avro(recorded, record, "key")
    assert (key.name, str(key.type)) == ("id", "int")
    _, (key,) = of_avro(recorded, recorded.of("pairs")[0], "key")
    assert str(key.type) == "struct<shop:string,number:int>"


@pytest.mark.parametrize("name", ["postgres", "postgres_modes", "mariadb", "mariadb_modes"])
@pytest.mark.parametrize("framing", ["plain", "confluent"])
def test_rows_of_avro(first_spark, name, framing):
    recorded = Recorded(name)
    records = [record for record in recorded.of("kinds") if record["value"]]
    encoding, _ = of_avro(recorded, records[0], "value")
    encoding, columns = of_avro(recorded, records[0], "value", (WriterSchema(7, encoding.schema),), framing)
    left_out = UNLIKE | ({"ubig"} if name == "mariadb" else set())
    if name.endswith("modes"):
        left_out |= {"at", "at6", "raw", "fixed"}
    fields = [column for column in columns if column.name not in left_out]
    header = b"\0\0\0\0\7" if framing == "confluent" else b""
    source = parse_type("struct<ts_ms: bigint, lsn: bigint, txId: string, file: string, snapshot: string>")
    of_change = [
        Field("_op", parse_type("string")),
        Field("_source", source),
        Field("_ts_ms", parse_type("bigint")),
    ]
    values = [header + avro_bytes(record["avro_value"]) for record in records]
    settings = (
        encoding.schema,
        framing,
        json.dumps({"7": encoding.schema}) if framing == "confluent" else "",
    )
    rows = decoded(first_spark, values, call("decode_debezium_avro", [*fields, *of_change], settings))
    for row, record in zip(rows, records, strict=True):
        if not row["_bad"]:
            payload = record["value"]["payload"]
            assert row["_ts_ms"] == payload["ts_ms"]
            assert row["_source"]["ts_ms"] == payload["source"]["ts_ms"]
            assert row["_source"]["lsn"] == payload["source"].get("lsn")
            assert row["_source"]["snapshot"] == payload["source"]["snapshot"]
    compare_rows(rows, recorded, fields)


def test_flat_records_are_rows_in_json(first_spark):
    """What `ExtractNewRecordState` makes of changes, with `__deleted` as a column."""
    for name in ("postgres_flat", "mariadb_flat"):
        recorded = Recorded(name)
        values = [
            recorded.in_json(r["value"], schemas=False).encode() for r in recorded.of("kinds") if r["value"]
        ]
        rows = decoded(
            first_spark, values, "decode_json(value, 'id int, words string, __deleted string', 'plain')"
        )
        last = {row["id"]: row for row in rows}
        words = {number: row["words"] for number, row in last.items() if row["__deleted"] == "false"}
        assert words == {row["id"]: row["words"] for row in recorded.rows["kinds"]}


def test_python_reads_and_writes_avro_alike():
    """As `consume`, `produce` and unit tests do."""
    recorded = Recorded("postgres")
    record = recorded.of("kinds")[0]
    encoding, columns = of_avro(recorded, record, "value", framing="plain")
    local = format_of(encoding).local
    after = local.decode(avro_bytes(record["avro_value"]), columns)["after"]
    stored = recorded.rows["kinds"][0]
    assert (after["words"], after["day"].isoformat()) == ('Zoë "x"', stored["day"])
    row = {"id": 5, "anyscale": "-1.25", "price": "3.50", "atz": "2026-01-02 03:04:05", "day": "2026-01-02"}
    change = local.decode(local.encode(row, columns), columns)
    assert change["op"] == "c"
    assert change["after"]["anyscale"] == {"scale": 2, "value": b"\x83"}
    assert change["after"]["atz"] == "2026-01-02T03:04:05Z"
    deleted = local.decode(local.encode({"id": 5, "_op": "d", "_source": {"ts_ms": 7}}, columns), columns)
    assert (deleted["op"], deleted["before"]["id"], deleted["source"]["ts_ms"]) == ("d", 5, 7)


def test_what_is_no_envelope_has_no_columns():
    path, language = "schemas/orders.avsc", format_of("debezium").schemas
    row = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "int"}]}
    with pytest.raises(SchemaError, match="it is not that of a change of Debezium: it has no field 'after'"):
        language.read(SchemaFiles(path, {path: json.dumps(row)}))
