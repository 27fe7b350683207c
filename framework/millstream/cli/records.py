"""Records as lines of text, JSON or CSV."""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from millstream.core.text import DIRECTIONS
from millstream.kafka.topic_decoding import ShownRecord, TopicDecoding

Line = Callable[[ShownRecord], str]

_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | DIRECTIONS | {
    9: "\\t", 10: "\\n", 13: "\\r", 0x2028: "\\u2028", 0x2029: "\\u2029",
}  # fmt: skip
_ENCODER = msgspec.json.Encoder(decimal_format="number", enc_hook=str)


def text_lines(*, keys: bool, headers: bool, topics: bool) -> Line:
    """Return a function that formats a record as a line: the requested parts, separated by tabs."""

    def line(record: ShownRecord) -> str:
        parts = [record.topic] if topics else []
        parts += [one_line(record.key, record.wrong.get("key"))] if keys else []
        if headers:
            parts.append(", ".join(f"{one_line(name)}={one_line(value)}" for name, value in record.headers))
        return "\t".join([*parts, one_line(record.value, record.wrong.get("value"))])

    return line


def one_line(value: Any, wrong: str | None = None) -> str:
    """Return a value as one line without control characters."""
    match value:
        case bytes():
            encoded = f"base64:{b64encode(value).decode()}"
            return f"{encoded} ({wrong.translate(_CONTROL)})" if wrong else encoded
        case str():
            return value.translate(_CONTROL).encode("utf-8", "replace").decode()
        case _:
            # JSON escapes control characters below 32 only.
            return _json(value).translate(_CONTROL)


def json_line(record: ShownRecord) -> str:
    """Return a record as one JSON object; bytes are `{"base64": …}`."""
    document: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": _time(record.timestamp),
        "key": to_json_value(record.key),
        "value": to_json_value(record.value),
    }
    if record.headers:
        document["headers"] = [{"key": name, "value": to_json_value(value)} for name, value in record.headers]
    if record.wrong:
        document["undecodable"] = record.wrong
    return _json(document)


def to_json_value(value: Any) -> Any:
    return {"base64": b64encode(value).decode()} if isinstance(value, bytes) else value


def _json(value: Any) -> str:
    return _ENCODER.encode(value).decode()


def _time(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def csv_lines(reading: TopicDecoding) -> tuple[str, Line]:
    """Return the header line, and a function that formats a record."""
    names = [field.name for field in reading.fields]
    is_single = reading.is_single
    names = names[:1] or ["value"] if is_single else names

    def line(record: ShownRecord) -> str:
        value = record.value
        if is_single:
            cells = [value]
        else:
            folded = {name.lower(): cell for name, cell in value.items()} if isinstance(value, dict) else {}
            cells = [folded.get(name.lower()) for name in names]
        metadata = [record.partition, record.offset, _time(record.timestamp), record.key]
        undecodable = record.value if "value" in record.wrong and not is_single else None
        return _row([*metadata, *cells, undecodable])

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
