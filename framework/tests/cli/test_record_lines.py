"""Records as lines for people: nothing in them reaches the terminal as a control sequence."""

from datetime import datetime, timezone

from millstream.cli.records import text_lines
from millstream.kafka.readings import ShownRecord


def test_names_of_headers_have_no_control_characters():
    record = ShownRecord(
        topic="t", partition=0, offset=0, timestamp=datetime(2026, 1, 1, tzinfo=timezone.utc), key="\x1b[1m", value="\x1b[2m",
        headers=[("\x1b[31mred", b"a"), ("b", "\x1b[0m")], wrong={},
    )  # fmt: skip
    line = text_lines(keys=True, headers=True, topics=True)(record)
    assert "\x1b" not in line
    assert "\\x1b[31mred" in line
