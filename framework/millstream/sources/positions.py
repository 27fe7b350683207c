"""How far sources are read. Only the kind of a source knows what is in its positions.

Positions have the names of streams: a topic's name, or `kind:source.name`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from millstream.project.values import Project, RowSource
from millstream.sources.registry import source_module
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


class SourceLog(Struct, frozen=True):
    """The folder of a checkpoint in which Spark notes what a source's positions stand for."""

    files: Files
    folder: str


def kind_of(stream: str) -> str:
    kind, colon, _ = stream.partition(":")
    return kind if colon else "topic"


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

    Topics are named in it. Other sources are matched by their order; if a query reads several sources of a
    kind, and one of them twice, their positions are unknown. Tables have positions of their own.
    """
    values = [{} if line == "-" else json.loads(line) for line in lines]
    named = dict.fromkeys(stream for stream in streams if ":" in stream)
    positions: Positions = {}
    for kind in dict.fromkeys(("topic", *map(kind_of, named))):
        module = source_module(kind, "positions")
        recognized = [(value, log(n)) for n, value in enumerate(values) if module.recognizes(value)]
        if kind == "topic":
            read = [pair for value, _ in recognized for pair in module.by_topic(value)]
        else:
            names = [stream for stream in named if kind_of(stream) == kind]
            if len(names) not in {1, len(recognized)}:
                continue
            names = names * len(recognized) if len(names) == 1 else names
            in_log = (module.from_log(value, source_log) for value, source_log in recognized)
            read = list(zip(names, in_log, strict=True))
        for stream, position in read:
            # If a query reads a source twice, the slower read counts.
            positions[stream] = positions[stream].earlier(position) if stream in positions else position
    return positions
