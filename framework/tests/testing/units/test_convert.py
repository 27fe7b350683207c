import math
from datetime import datetime, timezone
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from millstream.core.types import parse_type
from millstream.testing.units.convert import WrongValueError, convert_text, convert_value

UTC, AMSTERDAM = ZoneInfo("UTC"), ZoneInfo("Europe/Amsterdam")


@pytest.mark.parametrize(
    ("value", "type_", "expected"),
    [
        (None, "int", None),
        (3, "double", 3.0),
        ("NaN", "double", None),
        (2.2, "decimal(10,2)", Decimal("2.20")),
        ("2026-01-01", "timestamp", datetime(2026, 1, 1, tzinfo=timezone.utc)),
        ("2026-01-01T10:00:00.5Z", "timestamp", datetime(2026, 1, 1, 10, 0, 0, 500000, timezone.utc)),
        ({"A": 1}, "struct<a: int, b: string>", {"a": 1, "b": None}),
        ({"x": [1]}, "map<string, array<bigint>>", {"x": [1]}),
        ({"hex": "ff00"}, "binary", b"\xff\x00"),
        ("é", "binary", "é".encode()),
    ],
)
def test_values_of_types(value, type_, expected):
    converted = convert_value(value, parse_type(type_), UTC)
    assert math.isnan(converted) if value == "NaN" else converted == expected


def test_structs_of_records_need_not_be_complete():
    struct = parse_type("struct<a: int, b: array<struct<c: int, d: int>>>")
    assert convert_value({"b": [{"D": 1}]}, struct, UTC, partial=True) == {"b": [{"d": 1}]}
    assert convert_value({"b": [{"D": 1}]}, struct, UTC) == {"a": None, "b": [{"c": None, "d": 1}]}


def test_a_time_without_zone_is_in_that_of_the_target():
    converted = convert_value("2026-07-01 12:00:00", parse_type("timestamp"), AMSTERDAM)
    assert converted == datetime(2026, 7, 1, 10, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "type_", "path"),
    [
        (True, "int", ()),
        (300, "tinyint", ()),
        (1.234, "decimal(10,2)", ()),
        ([1, "x"], "array<int>", (1,)),
        ({"a": {"b": "x"}}, "struct<a: struct<b: int>>", ("a", "b")),
        ({"c": 1}, "struct<a: int>", ("c",)),
        ("10 o'clock", "timestamp", ()),
        ([], "timestamp", ()),
        ([], "date", ()),
        ({"hex": "zz"}, "binary", ()),
    ],
)
def test_invalid_values_are_located(value, type_, path):
    with pytest.raises(WrongValueError) as raised:
        convert_value(value, parse_type(type_), UTC)
    assert raised.value.path == path


def test_fields_of_csv():
    assert convert_text("3", parse_type("bigint"), UTC) == 3
    assert convert_text("TRUE", parse_type("boolean"), UTC) is True
    assert convert_text('{"a": 1}', parse_type("struct<a: int>"), UTC) == {"a": 1}
