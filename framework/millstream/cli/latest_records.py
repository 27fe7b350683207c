"""The newest records of a topic as rows of a table, newest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from millstream.cli.writer_schemas import decode_by_writers
from millstream.kafka.clients import Admin
from millstream.kafka.consuming import newest_records
from millstream.kafka.registry.writers import Writers
from millstream.kafka.topic_decoding import ShownRecord, TopicDecoding
from millstream.stores.tables.values import Answer

_UNDECODABLE = "_undecodable"


def newest_rows(admin: Admin, reading: TopicDecoding, limit: int, writers: Writers) -> Answer:
    """Return records as rows: time, key, the fields of the value, and what could not be decoded."""
    messages, _ = newest_records(admin, reading.topics, limit + 1)
    records = [decode_by_writers(message, reading, writers) for message in reversed(messages)]
    more, records = len(records) > limit, records[:limit]
    fields = _fields(reading, records)
    undecodable = any(record.wrong for record in records)
    columns = ("_timestamp", "_key", *fields, *([_UNDECODABLE] if undecodable else []))
    rows = [_row(record, fields, undecodable=undecodable) for record in records]
    return Answer(columns, rows, more)


def _fields(reading: TopicDecoding, records: Sequence[ShownRecord]) -> tuple[str, ...]:
    """Return the declared fields of the value; if none are declared, those that the records have."""
    if reading.format is not None and reading.format.single:
        return ("value",)
    if reading.is_single:
        names = {name: None for record in records if isinstance(record.value, dict) for name in record.value}
        return (*names,) or ("value",)
    return tuple(field.name for field in reading.fields)


def _row(record: ShownRecord, fields: tuple[str, ...], *, undecodable: bool) -> tuple[Any, ...]:
    value = record.value
    if "value" in record.wrong:
        cells: list[Any] = [None] * len(fields)
    elif isinstance(value, dict) and fields != ("value",):
        folded = {name.lower(): cell for name, cell in value.items()}
        cells = [folded.get(name.lower()) for name in fields]
    else:
        cells = [value, *[None] * (len(fields) - 1)]
    reasons = "; ".join(f"{part}: {why}" for part, why in record.wrong.items()) or None
    return (record.timestamp, record.key, *cells, *([reasons] if undecodable else []))
