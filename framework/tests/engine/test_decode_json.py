"""The strict decoder of JSON, on Spark."""

import json
import re
from base64 import b64encode
from datetime import date, datetime, timezone
from decimal import Decimal
from random import Random

import pytest
from pyspark.errors import SparkRuntimeException
from support.bad_columns import plain, reason_of

from millstream.core.types import Field, parse_type
from millstream.formats.json_values import read_object
from millstream.formats.registry import format_of
from millstream.formats.values import UnfitError

FIELDS = (
    "a int, s string, d decimal(4,2), t timestamp, x double, day date, n struct<k: array<int>>, "
    "m map<string, bigint>, b binary, f float, l timestamp_ntz"
)
GOOD = {
    b'{"a": 1} ': {"a": 1},
    b'{"a": null, "z": [{}]}': {},
    b'{"d": 1.250}': {"d": Decimal("1.25")},
    b'{"d": "1.25"}': {"d": Decimal("1.25")},
    b'{"day": "2026-01-01"}': {"day": date(2026, 1, 1)},
    b'{"t": 1700000000}': {"t": datetime(2023, 11, 14, 22, 13, 20, tzinfo=timezone.utc)},
    b'{"t": "2026-01-01T10:00:00+02:00"}': {"t": datetime(2026, 1, 1, 8, tzinfo=timezone.utc)},
    b'{"l": "2026-01-01T10:00:00"}': {"l": datetime(2026, 1, 1, 10)},  # noqa: DTZ001 - a local time
    b'{"b": "AQI="}': {"b": b"\x01\x02"},
    b'{"s": {"z": [1, 2]}}': {"s": '{"z":[1,2]}'},
    b'{"s": 1.50}': {"s": "1.50"},
    b'{"s": {"z": [1.50, 0.12345678901234567890, 1e400]}}': {
        "s": '{"z":[1.50,0.12345678901234567890,1e400]}'
    },
    b'{"s": {"z": [-0.0, {"q": 1e9999999999999999999, "r": []}, true]}}': {
        "s": '{"z":[-0.0,{"q":1e9999999999999999999,"r":[]},true]}'
    },
    b'{"z": 1e9999999999999999999, "a": 1}': {"a": 1},
    b'{"b": "AQ=="}': {"b": b"\x01"},
    b'{"s": 1e9999999999999999999}': {"s": "1e9999999999999999999"},
    b'{"a": 1.0, "n": {"k": [-2e1, 0e9]}}': {"a": 1, "n": {"k": [-20, 0]}},
    b'{"x": "-Infinity"}': {"x": float("-inf")},
    '{"s": "𝄞é"}'.encode(): {"s": "𝄞é"},
    b'{"s": "\\ud834\\udd1e"}': {"s": "𝄞"},
    b'{"n": {"k": [1, null]}, "m": {"q": 2}}': {"n": {"k": [1, None]}, "m": {"q": 2}},
}
BAD = {
    b"": "the value is empty",
    b"null": "the value is not a JSON object",
    b"[]": "the value is not a JSON object",
    b'{"a": 1}{"a": 2}': "there is more after the JSON object",
    b'{"a": 1}x': "not JSON: Unrecognized token 'x'",
    b"{'a': 1}": "not JSON: Unexpected character",
    b'{"a": 1,}': "not JSON: Unexpected character",
    b'{"a": 1': "not JSON: Unexpected end-of-input: expected close marker for Object",
    b'{"s": "\xff"}': "the value is not valid UTF-8",
    b'{"s": "x", "s": "y"}': "field s: the object has it twice",
    b'{"m": {"q": 1, "q": 2}}': "field m.q: the object has it twice",
    b'{"s": null, "s": null}': "field s: the object has it twice",
    b'{"s": "\xc1\x81"}': "the value is not valid UTF-8",
    b'{"s": "\xed\xa0\x81\xed\xb0\x80"}': "the value is not valid UTF-8",
    b'{"s": "\\ud800"}': r"field s: '\ud800' is not a valid text: it has half of a surrogate pair",
    b'{"x": 1e400}': "field x: '1e400' is not a double",
    b'{"f": 1e39}': "field f: '1e39' is not a float",
    b'{"x": NaN}': "not JSON: Non-standard token 'NaN'",
    b'{"d": 1.255}': "field d: '1.255' is not a decimal(4,2)",
    b'{"d": 1e5}': "field d: '1e5' is not a decimal(4,2)",
    b'{"a": 1e9999999999999999999}': "field a: '1e9999999999999999999' is not an int",
    b'{"m": {"q": 1e2147483648}}': "field m.q: '1e2147483648' is not a bigint",
    b'{"x": 1e9999999999999999999}': "field x: '1e9999999999999999999' is not a double",
    b'{"f": 1e9999999999999999999}': "field f: '1e9999999999999999999' is not a float",
    b'{"d": 1e9999999999999999999}': "field d: '1e9999999999999999999' is not a decimal(4,2)",
    b'{"d": 1e-9999999999999999999}': "field d: '1e-9999999999999999999' is not a decimal(4,2)",
    b'{"d": "1e9999999999999999999"}': "field d: '1e9999999999999999999' is not a decimal(4,2)",
    b'{"d": "\xd9\xa1"}': "field d: '\u0661' is not a decimal(4,2)",
    b'{"t": 1e9999999999999999999}': "field t: '1e9999999999999999999' is not a timestamp",
    b'{"b": "AQ==AQ=="}': "field b: 'AQ==AQ==' is not base64",
    b'{"day": "2026-1-2"}': "field day: '2026-1-2' is not a date",
    b'{"t": "2026-1-2T3:4:5Z"}': "field t: '2026-1-2T3:4:5Z' is not a timestamp",
    b'{"day": "20260101"}': "field day: '20260101' is not a date",
    b'{"t": 1700000000000}': "field t: '1700000000000' is not a timestamp in seconds since 1970",
    b'{"t": "12:30"}': "field t: '12:30' is not a timestamp",
    b'{"a": 3000000000}': "field a: '3000000000' is not an int",
    b'{"a": 1.5}': "field a: '1.5' is not an int",
    b'{"a": 3e9}': "field a: '3e9' is not an int",
    b'{"m": {"q": 1e999999999}}': "field m.q: '1e999999999' is not a bigint",
    b'{"s": {"z": "\\ud800"}}': 'field s: \'{"z":"\\ud800"}\' is not a valid text: it has half of a surrogate pair',
    b'{"a": "1"}': "field a: '1' is not an int",
    b'{"a": {}}': "field a: an object is not an int",
    b'{"n": {"k": [1, "x"]}}': "field n.k[1]: 'x' is not an int",
    b'{"m": {"q": 1, "r": 2.5}}': "field m.r: '2.5' is not a bigint",
    b'{"b": "AAF="}': "field b: 'AAF=' is not base64",
    b'{"b": "AB=="}': "field b: 'AB==' is not base64",
    b'{"x": "+Infinity"}': "field x: '+Infinity' is not a double",
    b'{"f": "+INF"}': "field f: '+INF' is not a float",
    b'{"x": "Inf"}': "field x: 'Inf' is not a double",
    b'{"x": "-INF"}': "field x: '-INF' is not a double",
    b'{"b": "??"}': "field b: '??' is not base64",
    b'{"a": "' + b"y" * 100 + b'"}': "field a: '" + "y" * 60 + "…' is not an int",
}


@pytest.fixture(scope="module")
def decoded(first_spark):
    """Decode all values at once: by value, the fields that are not NULL, and why it is bad."""
    values = [(bytearray(value),) for value in (*GOOD, *BAD)]
    rows = first_spark.createDataFrame(values, "value binary")
    decoded_rows = rows.selectExpr(
        "value", f"inline(array(decode_json(value, '{FIELDS}', 'plain')))"
    ).collect()
    return {bytes(row["value"]): plain(row.asDict(recursive=True)) for row in decoded_rows}


@pytest.mark.parametrize("value", GOOD)
def test_good_values(decoded, value):
    row = {
        name: content for name, content in decoded[value].items() if name != "value" and content is not None
    }
    if "t" in row:
        row["t"] = row["t"].astimezone(timezone.utc)
    assert row == GOOD[value]


@pytest.mark.parametrize("value", BAD)
def test_bad_values(decoded, value):
    row = decoded[value]
    assert row["_bad"].startswith(BAD[value])
    assert "`" not in row["_bad"]  # an option of the parser
    assert all(content is None for name, content in row.items() if name not in {"value", "_bad"})


LOCAL = tuple(
    Field(name, parse_type(type_))
    for name, type_ in (declaration.split(" ", 1) for declaration in re.split(r", (?=\w+ )", FIELDS))
)


@pytest.mark.parametrize("value", [*GOOD, *BAD])
def test_python_decodes_the_same(value):
    if value not in BAD:
        row = {name: content for name, content in read_object(value, LOCAL).items() if content is not None}
        assert row == GOOD[value]
        assert format_of("json").local.decode(value, LOCAL) is not None
        return
    with pytest.raises(UnfitError) as error:
        format_of("json").local.decode(value, LOCAL)
    # The two parsers have words of their own for what is not JSON.
    reasons = ("not JSON: ", "there is more") if BAD[value].startswith("not JSON") else (BAD[value],)
    assert str(error.value).startswith(reasons)


def test_a_required_value_fails_with_its_position(first_spark):
    sql = "select inline(array(decode_json(value, 'a int', 'plain', 'shop.events', 3, 7L)))"
    good = first_spark.sql(f"""{sql} from values (X'7b2261223a317d') as t(value)""")
    assert [(row["a"], row["_bad"]) for row in good.collect()] == [(1, None)]
    for value, reason in (("'[]'", "the value is not a JSON object"), ("null", "the record has no value")):
        bad = first_spark.sql(f"{sql} from values (cast({value} as binary)) as t(value)")
        with pytest.raises(
            SparkRuntimeException, match=f"topic shop.events, partition 3, offset 7: {reason}"
        ):
            bad.collect()


def test_a_required_field_is_there(first_spark):
    sql = "select inline(array(decode_json(value, 'a int not null, b int', 'plain'))) from values "
    sql += """(X'7b2261223a317d'), (cast('{}' as binary)), (cast('{"a": null}' as binary)) as t(value)"""
    rows = [(row["a"], row["b"], reason_of(row["_bad"])) for row in first_spark.sql(sql).collect()]
    missing = (None, None, "field a: the value is missing")
    assert sorted(rows, key=str) == [(1, None, None), missing, missing]


NUMBERS = [
    "nan",
    "NAN",
    "inf",
    "INF",
    "infinity",
    "+NaN",
    "-NaN",
    " NaN",
    "1",
    "1.5",
    "0x1p3",
    "1d",
    "1f",
    "",
]


def base64_texts(count=400):
    """Return texts that look like base64: of its digits, padding and blanks."""
    random = Random(1)
    return sorted({"".join(random.choices("AEFgx8+/== \n", k=random.randint(1, 9))) for _ in range(count)})


def test_spark_and_python_read_the_same_texts_as_bytes_and_numbers(first_spark):
    """A text is bytes only if these bytes are written as it, but for blanks."""
    texts = [*({"b": text} for text in base64_texts()), *({name: text} for text in NUMBERS for name in "xf")]
    values = [(bytearray(json.dumps(text).encode()),) for text in texts]
    rows = first_spark.createDataFrame(values, "value binary")
    rows = rows.selectExpr("value", f"inline(array(decode_json(value, '{FIELDS}', 'plain')))").collect()
    good = [row for row in rows if row["_bad"] is None]
    assert 20 < len(good) < len(rows) - 20
    assert {bytes(row["value"]): read_or_reason(bytes(row["value"])) for row in rows} == {
        bytes(row["value"]): plain(row.asDict(recursive=True))["_bad"] or bytes(row["b"]) for row in rows
    }
    for row in good:
        assert b64encode(row["b"]).decode() == "".join(json.loads(bytes(row["value"]))["b"].split())


def read_or_reason(value):
    try:
        return read_object(value, LOCAL)["b"]
    except UnfitError as error:
        return str(error)
