"""Removes dead letters that were already sent from a query's records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from millstream.core.node_id import NodeId
from millstream.queries.dead_letters import FILE, LINE, OFFSET, PARTITION, SOURCE, TOPIC


def from_offsets(
    records: DataFrame, source: NodeId, topic: str, starts: Mapping[str, Mapping[int, int]]
) -> DataFrame:
    """Remove the dead letters of a source's records before an offset of each partition of its topics."""
    sent_before = {f"{name}-{n}": offset for name, numbers in starts.items() for n, offset in numbers.items()}
    partitions, offsets = (
        f.array(*map(f.lit, values)) for values in (sent_before.keys(), sent_before.values())
    )
    partition = f.concat_ws("-", _header(TOPIC), _header(PARTITION))
    start = f.try_element_at(f.map_from_arrays(partitions, offsets), partition)
    sent = (f.col("topic") == topic) & _from_source(source) & (_header(OFFSET).cast("long") < start)
    return records.where(~f.coalesce(sent, f.lit(False)))


def not_among(dead_letters: DataFrame, sent: DataFrame, source: NodeId) -> DataFrame:
    """Remove a source's dead letters that the dead letter topic already holds."""
    return _not_among(dead_letters, sent, source, (TOPIC, PARTITION, OFFSET))


def lines_not_among(dead_letters: DataFrame, sent: DataFrame, source: NodeId) -> DataFrame:
    """Do the same with lines of files; a file that was written again may have another line of that number."""
    return _not_among(dead_letters, sent, source, (FILE, LINE), ("value",))


def _not_among(
    dead_letters: DataFrame,
    sent: DataFrame,
    source: NodeId,
    headers: Sequence[str],
    columns: Sequence[str] = (),
) -> DataFrame:
    names = [f"_{header.rpartition('.')[2]}" for header in headers]
    position = [_header(header).alias(name) for header, name in zip(headers, names, strict=True)]
    positions = sent.where(_from_source(source)).select(*position, *columns).distinct()
    keys = [*names, *columns]
    return (
        dead_letters.select("*", *position).join(positions, keys, "left_anti").select(*dead_letters.columns)
    )


def _from_source(source: NodeId) -> Column:
    return f.coalesce(_header(SOURCE) == str(source), f.lit(False))


def _header(name: str) -> Column:
    """Return the text of the last header of this name: the original record may have had earlier ones."""
    headers = f.filter("headers", lambda header: header.getField("key") == name)
    return f.try_element_at(headers, f.lit(-1)).getField("value").cast("string")
