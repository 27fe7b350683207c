"""Random schemas and values: fastavro and our functions on Spark read what the other one wrote."""

import json
import re

import pytest
from hypothesis import strategies as st
from support.avro import column_value, comparable, encoded, judged, records
from support.avro_evolution import record_pairs
from support.avro_spark import batches, call, decoded, select
from support.long import EXAMPLES

from millstream.engine.spark.registry import UsedRegistry, use_registry
from millstream.formats.avro.codec import AvroEncoding, local_codec
from millstream.formats.avro.columns import columns_of
from millstream.formats.avro.parse import parse_schema
from millstream.formats.sql import fields_to_ddl
from millstream.formats.values import UnfitError


@pytest.fixture(autouse=True, scope="module")
def ids(first_spark):
    use_registry(first_spark, UsedRegistry(written={"numbers-value": 7}))


@st.composite
def samples(draw, unions=True):
    schema, values = draw(records(unions=unions))
    return schema, draw(st.lists(values, min_size=6, max_size=6))


@st.composite
def evolved(draw):
    writer, reader, values = draw(record_pairs())
    return writer, reader, draw(st.lists(values, min_size=6, max_size=6))


@st.composite
def damaged(draw):
    """Draw a schema, and values in Confluent's framing that were changed."""
    schema, values = draw(samples(unions=False))
    return schema, [draw(damages(b"\0\0\0\0\7" + encoded(schema, fast))) for fast, _ in values]


@st.composite
def damages(draw, value):
    match draw(st.sampled_from(["bit", "byte", "cut", "more", "id", "magic", "none"])):
        case "bit":
            bit = draw(st.integers(0, 8 * len(value) - 1))
            return bytes(b ^ (1 << bit % 8 if n == bit // 8 else 0) for n, b in enumerate(value))
        case "byte":
            position = draw(st.integers(0, len(value) - 1))
            return value[:position] + draw(st.binary(min_size=1, max_size=3)) + value[position + 1 :]
        case "cut":
            return value[: draw(st.integers(0, len(value)))]
        case "more":
            return value + draw(st.binary(min_size=1, max_size=4))
        case "id":
            return value[:1] + draw(st.binary(min_size=4, max_size=4)) + value[5:]
        case "magic":
            return draw(st.binary(min_size=1, max_size=1)) + value[1:]
    return value


def columns_ddl(schema):
    return fields_to_ddl(columns_of(parse_schema(json.dumps(schema))))


def check_reading(spark, drawn):
    calls, columns = [], []
    for n, (schema, values) in enumerate(drawn):
        calls.append(call("decode_avro", f"v{n}", columns_ddl(schema), json.dumps(schema), "plain", ""))
        columns.append([encoded(schema, fast) for fast, _ in values])
    for (schema, values), column, rows in zip(drawn, columns, decoded(spark, calls, columns), strict=True):
        local = local_codec(AvroEncoding(json.dumps(schema)))
        for (_, plain), value, row in zip(values, column, rows, strict=True):
            assert row == comparable({**plain, "_bad": None}), (schema, value)
            assert comparable(local.decode(value, ())) == comparable(plain), (schema, value)


def test_spark_reads_what_fastavro_writes(first_spark):
    for drawn in batches(samples(), 100):
        check_reading(first_spark, drawn)


def check_writing(spark, drawn):
    calls, columns = [], []
    for n, (schema, values) in enumerate(drawn):
        text = json.dumps(schema)
        row = call("decode_avro", f"v{n}", columns_ddl(schema), text, "plain", "")
        names = ", ".join(f"{row}.{field['name']}" for field in schema["fields"])
        calls.append(
            call("encode_avro", f"struct({names})", columns_ddl(schema), text, "confluent", "numbers-value")
        )
        columns.append([encoded(schema, fast) for fast, _ in values])
    encoded_rows = select(spark, calls, columns)
    for n, (schema, values) in enumerate(drawn):
        local = local_codec(AvroEncoding(json.dumps(schema), "confluent", schema_id=7))
        for (_, plain), value, row in zip(values, columns[n], encoded_rows, strict=True):
            assert bytes(row[n][:5]) == b"\0\0\0\0\7"
            meant, _ = judged(value, schema)
            assert comparable(judged(bytes(row[n][5:]), schema)) == comparable((meant, True)), (schema, value)
            assert local.encode(plain, ()) == bytes(row[n]), (schema, plain)


@pytest.mark.long
def test_fastavro_reads_what_spark_writes(first_spark):
    for drawn in batches(samples(), 100):
        check_writing(first_spark, drawn)


def check_evolution(spark, drawn):
    """Check that values are as fastavro resolves them, or bad, and return the number of good ones."""
    calls, columns, good = [], [], 0
    for n, (writer, reader, values) in enumerate(drawn):
        writers = json.dumps({"7": json.dumps(writer)})
        calls.append(
            call("decode_avro", f"v{n}", columns_ddl(reader), json.dumps(reader), "confluent", writers)
        )
        columns.append([b"\0\0\0\0\7" + encoded(writer, value) for value in values])
    for (writer, reader, _), column, rows in zip(drawn, columns, decoded(spark, calls, columns), strict=True):
        for value, row in zip(column, rows, strict=True):
            assert_parity(
                row, AvroEncoding(json.dumps(reader), "confluent", writers=((7, json.dumps(writer)),)), value
            )
            try:
                read, _ = judged(value[5:], writer, reader)
            except Exception:  # noqa: BLE001 - fastavro raises anything
                assert row["_bad"], (writer, reader, value)
                continue
            if row["_bad"]:
                # fastavro rounds, and reads decimals that the reader's schema can't hold.
                assert re.search(r" is not a (float|double|decimal\(.*\))$", row["_bad"]), (
                    writer,
                    reader,
                    value,
                )
            else:
                assert row == {**comparable(column_value(reader, read)), "_bad": None}, (
                    writer,
                    reader,
                    value,
                )
                good += 1
    return good


def assert_parity(row, encoding, value):
    """Check that Python's codec decodes a value as Spark does, or refuses it for the same reason."""
    local = locally(encoding, value)
    if row["_bad"] and row["_bad"].has_no_column:
        # On Spark, what is wrong with all of a record comes before a column that is bad.
        assert local["_bad"], (encoding, value)
    else:
        assert row == local, (encoding, value)


def locally(encoding, value):
    try:
        return {**comparable(local_codec(encoding).decode(value, ())), "_bad": None}
    except UnfitError as error:
        names = [field.name for field in columns_of(parse_schema(encoding.schema))]
        return {**dict.fromkeys(names), "_bad": str(error)}


@pytest.mark.long
def test_evolved_schemas_are_resolved_as_by_fastavro(first_spark):
    good = sum(check_evolution(first_spark, drawn) for drawn in batches(evolved(), 200))
    assert good > 300


def check_damage(spark, drawn):
    """Check that damaged values are bad, or what fastavro reads, and return how many are bad and good."""
    calls, columns, bad, good = [], [], 0, 0
    for n, (schema, values) in enumerate(drawn):
        writers = json.dumps({"7": json.dumps(schema)})
        calls.append(
            call("decode_avro", f"v{n}", columns_ddl(schema), json.dumps(schema), "confluent", writers)
        )
        columns.append(values)
    for (schema, values), rows in zip(drawn, decoded(spark, calls, columns), strict=True):
        text = json.dumps(schema)
        for value, row in zip(values, rows, strict=True):
            assert_parity(row, AvroEncoding(text, "confluent", writers=((7, text),)), value)
            if row["_bad"]:
                bad += 1
            else:
                assert value[:5] == b"\0\0\0\0\7"
                read, is_complete = judged(value[5:], schema)
                assert is_complete
                assert row == {**comparable(column_value(schema, read)), "_bad": None}, (schema, value)
                good += 1
    return bad, good


@pytest.mark.long
def test_damaged_values_are_bad_or_as_fastavro_reads_them(first_spark):
    counts = [check_damage(first_spark, drawn) for drawn in batches(damaged(), 150)]
    bad, good = map(sum, zip(*counts, strict=True))
    assert bad > 400
    assert good > 100


@pytest.mark.long
def test_many_random_schemas(first_spark):
    number = EXAMPLES // 10
    for drawn in batches(samples(), number):
        check_reading(first_spark, drawn)
        check_writing(first_spark, drawn)
    for drawn in batches(evolved(), number):
        check_evolution(first_spark, drawn)
    for drawn in batches(damaged(), number):
        check_damage(first_spark, drawn)
