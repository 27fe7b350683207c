"""The example's topics and seeds, read into rows."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from typing import NamedTuple

from example.generated import ROOT
from example.models import Row
from example.row_comparison import Record
from example.spark_values import timestamp_millis


class Source(NamedTuple):
    key: str
    columns: str
    doubles: tuple[str, ...] = ()
    on_bad_record: str = "dead_letter"


SOURCES = {
    "storefront_events": Source(
        "event_key",
        "event_id type user_id timestamp product_id category value session_id metadata",
        doubles=("value",),
    ),
    "account_activity": Source("user_id", "activity_type score timestamp session_id duration_ms"),
    "partner_events": Source(
        "event_id",
        "event_type priority is_valid score timestamp batch_id source",
        on_bad_record="skip",
    ),
    "device_events": Source(
        "event_key", "user_id timestamp event_type_id value score metadata", on_bad_record="fail"
    ),
    "app_events": Source("user_id", "event_id event_type product_id value timestamp", doubles=("value",)),
    "page_hits": Source("visitor_key", "path timestamp", on_bad_record="skip"),
}


def decoded(topic: str, records: list[Record]) -> list[Row]:
    """Return a topic's rows; a record without a value can't be decoded."""
    source = SOURCES[topic]
    if source.on_bad_record == "fail" and bad(records):
        raise ValueError(f"{topic} has a record without a value, and a build stops there")
    rows = []
    for key, value in records:
        if value is not None:
            row = {source.key: key} | {name: value.get(name) for name in source.columns.split()}
            row |= {name: float(row[name]) for name in source.doubles if row[name] is not None}
            rows.append(row | {"event_time": timestamp_millis(row["timestamp"])})
    return rows


def bad(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record[1] is None]


def latest(records: Iterable[Record]) -> dict[str, Row]:
    """Return the newest version of each key of a reference topic; a record without a value deletes."""
    return {key: value for key, value in dict(records).items() if value is not None and key is not None}


def event_types() -> dict[int, str]:
    with (ROOT / "seeds/event_types.csv").open(encoding="utf-8", newline="") as file:
        return {int(row["event_type_id"]): row["event_type"] for row in csv.DictReader(file)}
