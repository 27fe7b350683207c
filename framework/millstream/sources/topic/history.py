"""The history of a topic: where the records are that it had before a position, and from where it goes on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from millstream.core.types import BIGINT, INT, TIMESTAMP, Field
from millstream.formats.registry import Encoding, format_of, function_of
from millstream.project.columns import ColumnReader
from millstream.project.values import DeclaredColumn, History, RowSource, Topic
from millstream.sources.tables import check_folder
from millstream.sources.topic.positions import Offsets
from millstream.sources.topic.shapes import HistoryShape, TopicShape

_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "delta_table": ("delta", {}),
    "files": ("files", {"format": "parquet", "format_options": {}}),
    "iceberg_table": ("iceberg", {}),
}
"""By key: the kind of source that reads it, and its other settings."""

PARTITION, OFFSET, TIME = (
    Field("_partition", INT, nullable=False),
    Field("_offset", BIGINT, nullable=False),
    Field("_timestamp", TIMESTAMP, nullable=False),
)
"""Where a record was in the topic, and its time."""


class HistoryEnd(Struct, frozen=True):
    """Where a query goes from the history to the topic."""

    offsets: Offsets
    """The first record that is read from the topic, by partition."""
    position: Any
    """The stored position of the history's end, since more rows may be added to it."""
    since: int | None = None
    """The time in milliseconds from which on the topic has the records; None if the offsets say it."""


def read_history(
    reader: ColumnReader, shape: TopicShape, format_: Encoding, *, several: bool, deduplicate: bool
) -> History | None:
    """Read the history of a topic, and report what can't have one."""
    history = shape.history
    if history is None:
        return None
    location = reader.location(shape, "history")
    for message, remedy in _misfits(shape, format_, several=several, deduplicate=deduplicate):
        reader.report_at(location, "MS107", message, remedy)
    named = [(key, path) for key in _KINDS if (path := getattr(history, key)) is not None]
    if len(named) != 1:
        message = f"the history of '{shape.name}' has {'two places' if named else 'no place'}"
        remedy = "name one: `delta_table: …`, `iceberg_table: …`, or `files: …` for a folder of Parquet files"
        reader.report_at(location, "MS108" if not named else "MS107", message, remedy)
        return None
    ((key, path),) = named
    kind, settings = _KINDS[key]
    address = {"path": path}
    if history.catalog is None:
        check_folder(reader, history, key)
    elif kind == "iceberg":
        address = {"catalog": history.catalog, "table": path}
    else:
        at_catalog = reader.location(history, "catalog")
        remedy = "remove it, or name the table: `iceberg_table: shop.sales`"
        reader.report_at(at_catalog, "MS107", "'catalog' is the catalog of an Iceberg table", remedy)
    return History(
        location, kind, {**address, **settings}, history.until or "", _offsets(reader, shape, history)
    )


def _offsets(reader: ColumnReader, shape: TopicShape, history: HistoryShape) -> dict[int, int]:
    """Read offsets by partition."""
    for partition in history.offsets:
        if not partition.isdecimal():
            message = f"'{partition}' is not a partition of '{shape.name}'"
            remedy = "write the numbers of partitions, such as `offsets: {0: 100}`"
            reader.report_at(reader.location(history, "offsets"), "MS107", message, remedy)
    return {int(partition): n for partition, n in history.offsets.items() if partition.isdecimal()}


def _misfits(
    shape: TopicShape, format_: Encoding, *, several: bool, deduplicate: bool
) -> Iterator[tuple[str, str]]:
    """Yield why a topic can't have a history, and what to do."""
    name = shape.name
    if shape.table:
        yield f"'{name}' is a reference topic, which needs no history: it has the newest rows", "remove it"
    if several:
        yield f"'{name}' has several topics, and a history belongs to one", "declare a source for each topic"
    if deduplicate:
        yield f"records of the history of '{name}' have no sender to deduplicate by", "remove `deduplicate`"
    if shape.starting:
        yield f"the history of '{name}' says where the topic starts", "remove `starting`"
    if format_.framing != "plain" or function_of(format_.name) or format_of(format_).of_change:
        yield f"a topic in {format_} can't have a history", "declare the history as a source of its own"


def rows_of_history(topic: Topic, fields: Sequence[Field]) -> RowSource:
    """Return the history of a topic as a source of rows."""
    history = topic.history
    assert history is not None, f"{topic.id} has no history"
    return RowSource(
        kind=history.kind,
        source=topic.source,
        name=topic.name,
        location=history.location,
        columns=tuple(
            DeclaredColumn(field.name, history.location, field.type, field.nullable) for field in fields
        ),
        settings=history.settings,
    )
