"""Avro files as sources, written by fastavro: what it reads of them, Spark reads, too, or the file is refused."""

import datetime as dt
import random
import uuid
from decimal import Decimal

import pytest
from engine.test_source_of_files import LAKE, MODEL, failure
from support.avro_files import read_avro, write_avro
from support.runs import built, errors, table_rows
from support.spark import SPARK_WARNINGS

from millstream.deploy.planning.intents import FullRefresh

pytestmark = SPARK_WARNINGS

UTC = dt.timezone.utc
NUMBERS = {"type": "array", "items": ["null", "int"]}
COLUMNS = {
    "id": ("bigint", "long", lambda dice: dice.getrandbits(62)),
    "small": ("bigint", "int", lambda dice: dice.randrange(-(2**31), 2**31)),
    "number": ("int", ["null", "int"], lambda dice: dice.choice([None, 7])),
    "real": ("double", "float", lambda dice: dice.randrange(1000) / 8),
    "wide": ("double", "double", lambda dice: dice.random()),
    "flag": ("boolean", "boolean", lambda dice: dice.random() < 0.5),
    "text": ("string", ["null", "string"], lambda dice: dice.choice([None, "", "Zürich\n"])),
    "kind": ("string", {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}, lambda dice: dice.choice("AB")),
    "bytes": ("binary", "bytes", lambda dice: dice.randbytes(3)),
    "four": ("binary", {"type": "fixed", "name": "Four", "size": 4}, lambda dice: dice.randbytes(4)),
    "price": (
        "decimal(9,2)",
        {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        lambda dice: Decimal(dice.randrange(-(10**9) + 1, 10**9)).scaleb(-2),
    ),
    "day": ("date", {"type": "int", "logicalType": "date"}, lambda dice: dt.date(1900, 1, 1) + dt.timedelta(dice.randrange(90000))),
    "millis": (
        "timestamp",
        {"type": "long", "logicalType": "timestamp-millis"},
        lambda dice: dt.datetime(2026, 1, 1, tzinfo=UTC) + dt.timedelta(milliseconds=dice.randrange(10**9)),
    ),
    "micros": (
        "timestamp",
        {"type": "long", "logicalType": "timestamp-micros"},
        lambda dice: dt.datetime(1969, 1, 1, tzinfo=UTC) + dt.timedelta(microseconds=dice.randrange(10**15)),
    ),
    "token": ("string", {"type": "string", "logicalType": "uuid"}, lambda dice: uuid.UUID(int=dice.getrandbits(128))),
    "numbers": ("array<int>", NUMBERS, lambda dice: [dice.choice([None, 1, 2]) for _ in range(dice.randrange(3))]),
    "shop": (
        "struct<city:string,floors:bigint>",
        ["null", {"type": "record", "name": "Shop", "fields": [{"name": "city", "type": "string"}, {"name": "floors", "type": "int"}]}],
        lambda dice: dice.choice([None, {"city": "Bern", "floors": 2}]),
    ),
    "either": ("bigint", ["int", "long"], lambda dice: dice.choice([1, 2**40])),
}  # fmt: skip


def declared(shop, columns):
    lines = "\n".join(f"          - {{name: {name}, type: '{type_}'}}" for name, type_ in columns.items())
    before = LAKE.replace("FORMAT", "avro").split("          - {")[0]
    shop.write("models/lake.yml", before + lines)
    shop.model("orders", """
        {{ config(materialized='table', unique_key='id') }} select * from {{ source('lake', 'orders') }}
    """)  # fmt: skip


@pytest.mark.parametrize("codecs", [("null", "deflate", "bzip2", "xz")], ids=["codecs"])
def test_rows_are_those_that_fastavro_reads(shop, first_spark, codecs):
    declared(shop, {name: type_ for name, (type_, _, _) in COLUMNS.items()})
    dice, folder = random.Random(7), shop.root / "data/orders"
    folder.mkdir(parents=True)
    for codec in codecs:
        rows = [{name: make(dice) for name, (_, _, make) in COLUMNS.items()} for _ in range(20)]
        # Other columns, and another order, don't matter.
        fields = {"more": "string"} | {name: of for name, (_, of, _) in reversed(COLUMNS.items())}
        write_avro(folder / codec, fields, [row | {"more": "x"} for row in rows], codec)
    _, events = built(shop.root, first_spark)
    assert errors(events) == []
    written = [row for codec in codecs for row in read_avro(folder / codec)]
    expected = {row["id"]: {name: _stored(row[name]) for name in COLUMNS} for row in written}
    assert {row["id"]: row for row in table_rows(shop.root, "model.orders")} == expected
    assert len(expected) == 20 * len(codecs)


def _stored(value):
    return str(value) if isinstance(value, uuid.UUID) else value


REFUSED = {
    "missing": ("bigint", None, 1, "it has no column 'value'"),
    "plain_time": ("timestamp", "long", 1, "field value: Avro's long is not a timestamp"),
    "time_as_number": ("bigint", {"type": "long", "logicalType": "timestamp-millis"}, 1, "field value: Avro's timestamp-millis is not a bigint"),
    "plain_date": ("date", "int", 1, "field value: Avro's int is not a date"),
    "text": ("bigint", "string", "1", 'column value is "string", which can\'t be read as BIGINT'),
    "number": ("string", "int", 1, 'column value is "int", which can\'t be read as STRING'),
    "wide": ("int", "long", 1, 'column value is "long", which can\'t be read as INT'),
    "real": ("float", "double", 1.0, "double"),
    "scale": ("decimal(9,3)", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, Decimal(1), "column value is decimal(9,2), which can't be read as DECIMAL(9,3)"),
    "union": ("string", ["int", "string"], "x", 'column value is ["int","string"], which can\'t be read as STRING'),
    "nested": ("struct<a:date>", {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}, {"a": 1}, "field value.a: Avro's int is not a date"),
    "element": ("array<string>", NUMBERS, [1], "int"),
    "required": ("bigint, nullable: false", ["null", "long"], None, "column value: a value is missing"),
}  # fmt: skip


@pytest.mark.long
def test_files_whose_columns_do_not_fit_are_refused(shop, first_spark):
    folder, file = shop.root / "data/orders", shop.root / "data/orders/one.avro"
    folder.mkdir(parents=True)
    for name, (type_, written, value, reason) in REFUSED.items():
        declared(shop, {"id": "bigint", "value": type_})
        lake = (shop.root / "models/lake.yml").read_text().replace("nullable: false'", "', nullable: false")
        shop.write("models/lake.yml", lake.replace("bigint, ', nullable", "bigint', nullable"))
        fields = {"id": "long"} | ({"value": written} if written else {})
        write_avro(file, fields, [{"id": 1} | ({"value": value} if written else {})])
        diagnostic = failure(shop, first_spark, intent=FullRefresh())
        assert (name, diagnostic.code, reason in diagnostic.message) == (name, "MS699", True), diagnostic
        assert "one.avro" in diagnostic.message
    shop.write("models/lake.yml", LAKE.replace("FORMAT", "avro"))
    shop.model("orders", MODEL)
    file.write_text("not Avro at all")
    diagnostic = failure(shop, first_spark, intent=FullRefresh())
    assert (diagnostic.code, "one.avro" in diagnostic.message) == ("MS699", True), diagnostic
