"""Finds the original records of records by their headers, and removes those before some offsets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from millstream.outputs.kinds import POSITION
from millstream.queries.dead_letters import OFFSET, PARTITION, TOPIC
from millstream.sources.topic.positions import Offsets

_PARTS = r"^(.+)-([0-9]+)$"
"""`topic-partition` and the offset."""


def position_column() -> Column:
    """Return `topic-partition-offset` of the original record; NULL if a record has several."""
    letter = f.concat_ws("-", header_column(TOPIC), header_column(PARTITION), header_column(OFFSET))
    return f.coalesce(header_column(POSITION), f.when(header_column(OFFSET).isNotNull(), letter))


def header_column(name: str) -> Column:
    """Return the text of the last header of this name: the original record may have had earlier ones."""
    headers = f.filter("headers", lambda header: header.getField("key") == name)
    return f.try_element_at(headers, f.lit(-1)).getField("value").cast("string")


def without_earlier(records: DataFrame, bounds: Mapping[str, Mapping[str, Offsets]]) -> DataFrame:
    """Remove records of original records before the offsets that `bounds` has for the topic of the record."""
    earlier = [
        (f.col("topic") == topic) & (_offset() < _bound(starts)) for topic, starts in bounds.items() if starts
    ]
    if not earlier:
        return records
    return records.where(~f.coalesce(reduce(lambda one, other: one | other, earlier), f.lit(False)))


def _bound(starts: Mapping[str, Offsets]) -> Column:
    pairs = {f"{topic}-{n}": offset for topic, numbers in starts.items() for n, offset in numbers.items()}
    offsets = f.map_from_arrays(f.array(*map(f.lit, pairs)), f.array(*map(f.lit, pairs.values())))
    return f.try_element_at(offsets, f.regexp_extract(position_column(), _PARTS, 1))


def _offset() -> Column:
    return f.regexp_extract(position_column(), _PARTS, 2).try_cast("long")
