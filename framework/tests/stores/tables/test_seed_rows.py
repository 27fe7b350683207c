"""The values of seeds."""

from datetime import date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from millstream.core.types import parse_type
from millstream.stores.tables.seeds import reader_of

BERLIN = ZoneInfo("Europe/Berlin")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("bigint", "+007", 7),
        ("double", "1e3", 1000.0),
        ("boolean", "TRUE", True),
        ("boolean", "false", False),
        ("string", " x ", " x "),
        ("decimal(4,2)", "1.50", "1.50"),
        ("binary", "ä", "ä".encode()),
        ("date", "2024-02-29", date(2024, 2, 29)),
        ("timestamp", "2024-01-01", datetime(2024, 1, 1, tzinfo=BERLIN)),
        ("timestamp", "2024-01-01T10:30", datetime(2024, 1, 1, 10, 30, tzinfo=BERLIN)),
        ("timestamp", "2024-01-01 10:30:05.12", datetime(2024, 1, 1, 10, 30, 5, 120000, tzinfo=BERLIN)),
        ("timestamp", "2024-01-01 10:30:05.123456789Z", datetime(2024, 1, 1, 10, 30, 5, 123456, tzinfo=timezone.utc)),
        ("timestamp", "2024-01-01 10:30:05 UTC", datetime(2024, 1, 1, 10, 30, 5, tzinfo=timezone.utc)),
        ("timestamp", "2024-01-01 10:30-0530", datetime(2024, 1, 1, 10, 30, tzinfo=timezone(-timedelta(hours=5, minutes=30)))),
        ("timestamp", "2024-01-01 10:30+05", datetime(2024, 1, 1, 10, 30, tzinfo=timezone(timedelta(hours=5)))),
        ("timestamp_ntz", "2024-01-01 10:30", datetime(2024, 1, 1, 10, 30)),  # noqa: DTZ001
    ],
)  # fmt: skip
def test_texts_are_read_as_their_types(kind, text, value):
    read = reader_of(parse_type(kind), "Europe/Berlin")(text)
    assert (read, type(read)) == (value, type(value))
