"""Dead letters that were sent already, left out of a query's records."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from millstream.physical.dead_letters import OFFSET, PARTITION, SOURCE

_PLACE = ("_partition", "_offset")


def from_offsets(records: DataFrame, source: str, topic: str, starts: Mapping[int, int]) -> DataFrame:
    """Leave out the letters of a source's records before some offset of each partition."""
    numbers, offsets = (f.array(*map(f.lit, each)) for each in (starts.keys(), starts.values()))
    start = f.try_element_at(f.map_from_arrays(numbers, offsets), _said(PARTITION).cast("int"))
    sent = (f.col("topic") == topic) & _is_of(source) & (_said(OFFSET).cast("long") < start)
    return records.where(~f.coalesce(sent, f.lit(False)))


def not_among(letters: DataFrame, sent: DataFrame, source: str) -> DataFrame:
    """Leave out those of a source's letters that are among records of the topic of dead letters."""
    places = (_said(PARTITION).alias("_partition"), _said(OFFSET).alias("_offset"))
    known = sent.where(_is_of(source)).select(*places).distinct()
    return letters.select("*", *places).join(known, [*_PLACE], "left_anti").drop(*_PLACE)


def _is_of(source: str) -> Column:
    return f.coalesce(_said(SOURCE) == source, f.lit(False))


def _said(name: str) -> Column:
    """Return the text of a header; of several, the last: a letter keeps those that its record came with."""
    found = f.filter("headers", lambda header: header.getField("key") == name)
    return f.try_element_at(found, f.lit(-1)).getField("value").cast("string")
