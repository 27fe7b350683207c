"""How far sources are read. Only the kind of a source knows what is in its positions.

Positions have the names of streams: a topic's name, or `kind:source.name`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.project.values import Project, RowSource
from millstream.sources.registry import source_declaration, source_module
from millstream.stores.files import Files


class Position(Struct, frozen=True):
    """How far one source is read."""

    def covers(self, other: Any, /) -> bool:
        """Whether all that is before the other position is before this one, too."""
        raise NotImplementedError

    def earlier(self, other: Any, /) -> Any:
        """Return the position before which are only rows that are before both."""
        raise NotImplementedError

    def later(self, other: Any, /) -> Any:
        """Return the position before which are the rows that are before one of both."""
        raise NotImplementedError

    def since(self, start: Any, /) -> int:
        """Return how many records, files or other units are between two positions; `start` may be None."""
        raise NotImplementedError

    def behind(self, end: Any, /) -> int:
        """Return how much is before an end, and was there when this was read, that this does not cover."""
        amount: int = end.since(self)
        return max(0, amount)

    def texts(self, stream: str, start: Any, /) -> Iterator[str]:
        """Yield what of a stream is between two positions, for messages; `start` may be None."""
        raise NotImplementedError

    def parts(self) -> tuple[str, ...]:
        """Return texts that differ if the position does."""
        raise NotImplementedError

    def stored(self) -> Any:
        """Return it as a JSON value, from which `from_stored` of its kind makes it again."""
        raise NotImplementedError


Positions = dict[str, Position]
"""By name of the stream."""
Read = Mapping[str, Position]


class Range(Struct, frozen=True):
    """A part of a source: what is before `end`, and not before `start`."""

    start: Position | None
    end: Position

    @property
    def amount(self) -> int:
        return self.end.since(self.start)


def amount_text(ranges: Mapping[str, Range]) -> str:
    """Return how much is in parts of sources, in the units of these: `1,203 records, 2 files`."""
    amounts: dict[str, int] = {}
    for stream, part in ranges.items():
        unit = source_declaration(kind_of(stream)).unit
        amounts[unit] = amounts.get(unit, 0) + part.amount
    return ", ".join(f"{amount:,} {unit}" for unit, amount in amounts.items())


def record_amounts(ranges: Mapping[str, Range]) -> dict[str, int]:
    """Return how many records are in parts of sources, without those whose amount is in other units."""
    return {
        stream: part.amount
        for stream, part in ranges.items()
        if source_declaration(kind_of(stream)).unit == "records"
    }


def records_by_relation(relations: Mapping[str, NodeId], ranges: Mapping[str, Range]) -> dict[NodeId, int]:
    """Return how many records are in parts of sources; `relations` has the source of each stream."""
    amounts: dict[NodeId, int] = {}
    for stream, amount in record_amounts(ranges).items():
        amounts[relations[stream]] = amounts.get(relations[stream], 0) + amount
    return amounts


class SourceLog(Struct, frozen=True):
    """The folder of a checkpoint in which Spark notes what a source's positions stand for."""

    files: Files
    folder: str


def kind_of(stream: str) -> str:
    kind, colon, _ = stream.partition(":")
    return kind if colon else "topic"


def title_of(stream: str) -> str:
    """Return the name that people see: of a topic, or of another source."""
    return stream.partition(":")[2] or stream


def covers(read: Read, ends: Read) -> bool:
    """Whether everything before the ends is read."""
    return all(_covers(read.get(stream), end) for stream, end in ends.items())


def _covers(position: Position | None, end: Position) -> bool:
    return end.since(None) == 0 if position is None else position.covers(end)


def latest(positions: Iterable[Read]) -> Positions:
    """Return positions that cover all of these."""
    later: Positions = {}
    for read in positions:
        for stream, position in read.items():
            later[stream] = later[stream].later(position) if stream in later else position
    return later


def stored(positions: Read) -> dict[str, Any]:
    return {stream: position.stored() for stream, position in positions.items()}


def from_stored(values: Mapping[str, Any]) -> Positions:
    return {
        stream: source_module(kind_of(stream), "positions").from_stored(value)
        for stream, value in values.items()
    }


def ends_of(project: Project, streams: Iterable[str]) -> Positions:
    """Return where sources other than topics end now."""
    ends: Positions = {}
    for stream in streams:
        kind, colon, id_ = stream.partition(":")
        source = project.sources.get(id_)
        if colon and isinstance(source, RowSource):
            ends[stream] = source_module(kind, "positions").ends(source, project)
    return ends


def in_offset_log(lines: Sequence[str], streams: Sequence[str], log: Callable[[int], SourceLog]) -> Positions:
    """Return the positions of a batch in Spark's log, which has a line for each read of a source.

    Topics are named in it. Other sources are matched by their order; if a query reads several sources whose
    lines look alike, and one of them twice, their positions are unknown. Tables have positions of their own.
    """
    values = [{} if line == "-" else json.loads(line) for line in lines]
    by_topic = source_module("topic", "positions").by_topic
    positions: Positions = {}
    read = [pair for value in values if is_of_topics(value) for pair in by_topic(value)]
    for names, numbers in _alike(values, dict.fromkeys(stream for stream in streams if ":" in stream)):
        if len(names) not in {1, len(numbers)}:
            continue
        for name, number in zip(names * len(numbers) if len(names) == 1 else names, numbers, strict=True):
            from_log = source_module(kind_of(name), "positions").from_log
            read.append((name, from_log(values[number], log(number))))
    for stream, position in read:
        # If a query reads a source twice, the slower read counts.
        positions[stream] = positions[stream].earlier(position) if stream in positions else position
    return positions


def is_of_topics(value: Any) -> bool:
    """Whether a value of Spark's log is about topics: it has a mapping for each."""
    return isinstance(value, dict) and any(isinstance(numbers, dict) for numbers in value.values())


def _alike(values: Sequence[Any], streams: Iterable[str]) -> Iterator[tuple[list[str], tuple[int, ...]]]:
    """Yield streams whose kinds recognize the same values of Spark's log, and the numbers of these.

    Several kinds can have such values: all that Spark reads as files do.
    """
    names: dict[tuple[int, ...], list[str]] = {}
    for stream in streams:
        recognizes = source_module(kind_of(stream), "positions").recognizes
        numbers = tuple(n for n, value in enumerate(values) if not is_of_topics(value) and recognizes(value))
        names.setdefault(numbers, []).append(stream)
    for numbers, alike in names.items():
        if numbers:
            yield alike, numbers
