"""Records on the screen or in a file: lines of text, of JSON, or of CSV."""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from millstream.kafka.readings import Reading, ShownRecord

Line = Callable[[ShownRecord], str]

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    9: "\\t", 10: "\\n", 13: "\\r", 0x2028: "\\u2028", 0x2029: "\\u2029",
}  # fmt: skip
_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=str)


def text_lines(*, keys: bool, headers: bool, topics: bool) -> Line:
    """Return what writes a record as a line: its value, after tabs where more of it is wanted."""

    def line(record: ShownRecord) -> str:
        parts = [record.topic] if topics else []
        parts += [_said(record.key, record.wrong.get("key"))] if keys else []
        if headers:
            parts.append(", ".join(f"{name}={_said(value)}" for name, value in record.headers))
        return "\t".join([*parts, _said(record.value, record.wrong.get("value"))])

    return line


def _said(value: Any, wrong: str | None = None) -> str:
    """Return a value as one line that does nothing to a terminal."""
    match value:
        case bytes():
            found = f"base64:{b64encode(value).decode()}"
            return f"{found} ({wrong.translate(_CONTROL)})" if wrong else found
        case str():
            return value.translate(_CONTROL).encode("utf-8", "replace").decode()
        case _:
            # JSON escapes controls, but for those from 127 on.
            return _json(value).translate(_CONTROL)


def json_line(record: ShownRecord) -> str:
    """Return a record as one JSON object; bytes are `{"base64": …}`."""
    found: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": _time(record.timestamp),
        "key": _plain(record.key),
        "value": _plain(record.value),
    }
    if record.headers:
        found["headers"] = [{"key": name, "value": _plain(value)} for name, value in record.headers]
    if record.wrong:
        found["undecodable"] = record.wrong
    return _json(found)


def _plain(value: Any) -> Any:
    return {"base64": b64encode(value).decode()} if isinstance(value, bytes) else value


def _json(value: Any) -> str:
    return _ENCODER.encode(value).decode()


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def csv_lines(reading: Reading) -> tuple[str, Line]:
    """Return the line of names, and what writes a record below it."""
    names = [field.name for field in reading.fields]
    whole = reading.whole
    names = names[:1] or ["value"] if whole else names

    def line(record: ShownRecord) -> str:
        value = record.value
        if whole:
            cells = [value]
        else:
            folded = {name.lower(): each for name, each in value.items()} if isinstance(value, dict) else {}
            cells = [folded.get(name.lower()) for name in names]
        about = [record.partition, record.offset, _time(record.timestamp), record.key]
        left = record.value if "value" in record.wrong else None
        return _row([*about, *cells, left if not whole else None])

    return _row(["_partition", "_offset", "_timestamp", "_key", *names, "_undecodable"]), line


def _row(cells: Iterable[Any]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="").writerow([_cell(cell) for cell in cells])
    return file.getvalue()


def _cell(value: Any) -> str | None:
    match value:
        case None:
            return None
        case str():
            return value
        case bytes():
            return b64encode(value).decode()
        case Decimal():
            return format(value, "f")
        case _:
            return _json(value)
