"""Input records: late rows, repeated ones, NULLs, times out of order, updates, deletes, and what is no JSON."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from random import Random
from typing import Any

from streaming.query_runner import Record
from streaming.shapes import EPOCH, SECOND, Project, Source, instant

START = int((datetime(2024, 1, 1, tzinfo=timezone.utc) - EPOCH).total_seconds()) * SECOND
TEXTS = ["a", "b", "c", "ab", "dada", None]


def generated_records(project: Project, seed: int) -> dict[str, list[Record]]:
    """Return the records of all topics."""
    random = Random(f"rows {seed}")
    return {source.name: _records(source, random) for source in project.sources}


def _records(source: Source, random: Random) -> list[Record]:
    if source.table:
        return _updates(source, random)
    records: list[Record] = []
    now = START
    step = random.choice([1, 3, 8, 20])
    for number in range(random.randint(10, 40)):
        draw = random.random()
        if draw < 0.05:
            records.append(Record(b"bad", f"not JSON {number}".encode()))
            continue
        if draw < 0.12 and records:
            records.append(random.choice(records))
            continue
        now += random.randint(0, 2 * step) * SECOND
        back = random.choice([0, 0, 0, 0, 5, 10, 30, 90, 600])
        row = {name: _value(kind, random) for name, kind in source.columns.items()}
        row["id"] = number
        row[source.time] = None if random.random() < 0.04 else max(START, now - back * SECOND)
        if random.random() < 0.04:
            row[source.time] = (now // (60 * SECOND) + 1) * 60 * SECOND
        records.append(record(source, row))
    return _unique(source, records)


def _unique(source: Source, records: list[Record]) -> list[Record]:
    """Let the dead letters of a source be told apart: repeated ones are others."""
    return [
        Record(source_record.key, f"{source_record.value.decode()} {i}".encode())
        if source_record.key == b"bad"
        else source_record
        for i, source_record in enumerate(records)
    ]


def _updates(source: Source, random: Random) -> list[Record]:
    records = []
    for _ in range(random.randint(2, 14)):
        row = {name: _value(kind, random) for name, kind in source.columns.items()}
        row[source.key] = random.choice(TEXTS[:-1])
        for name, kind in source.columns.items():
            if kind == "s" and name != source.key and row[name] is None:
                row[name] = "none"
        update = record(source, row)
        records.append(Record(update.key, None) if random.random() < 0.2 else update)
    return records


def _value(kind: str, random: Random) -> Any:
    match kind:
        case "s":
            return random.choice(TEXTS)
        case "i":
            return random.choice([None, 0, 1, 2, 3, 5, 8])
        case _:
            return START + random.randint(0, 300) * SECOND


def record(source: Source, row: dict[str, Any]) -> Record:
    key = row[source.key]
    value = {
        name: f"{instant(row[name]):%Y-%m-%dT%H:%M:%SZ}"
        if kind == "t" and row[name] is not None
        else row[name]
        for name, kind in source.columns.items()
        if name != source.key
    }
    return Record(None if key is None else str(key).encode(), json.dumps(value).encode())


def value_of(source: Source, source_record: Record) -> dict[str, Any] | None:
    """Return what a record says, times in microseconds; None for one that is no JSON.

    A record without a value is one of a reference topic: all but its key is NULL.
    """
    if source_record.value is None:
        message: dict[str, Any] = {}
    else:
        try:
            message = json.loads(source_record.value)
        except ValueError:
            return None
    key = source_record.key.decode() if source_record.key is not None else None
    row: dict[str, Any] = {}
    for name, kind in source.columns.items():
        value = key if name == source.key else message.get(name)
        row[name] = micros(value) if kind == "t" and value is not None else value
    return row


def micros(text: str) -> int:
    message = datetime.fromisoformat(text.replace("Z", "+00:00")) - EPOCH
    return (message.days * 86400 + message.seconds) * SECOND + message.microseconds
