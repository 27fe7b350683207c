"""Positions in a topic: the next record to read, by partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millstream.sources.positions import Position, Positions, Range

Offsets = dict[int, int]
"""The offset of the next record to read, by partition."""


class TopicPosition(Position, frozen=True):
    offsets: Offsets

    def covers(self, other: TopicPosition, /) -> bool:
        return all(self.offsets.get(number, 0) >= offset for number, offset in other.offsets.items())

    def earlier(self, other: TopicPosition, /) -> TopicPosition:
        offsets = self.offsets.items()
        return TopicPosition(
            {number: min(offset, other.offsets.get(number, offset)) for number, offset in offsets}
        )

    def later(self, other: TopicPosition, /) -> TopicPosition:
        offsets = dict(self.offsets)
        for number, offset in other.offsets.items():
            offsets[number] = max(offset, offsets.get(number, 0))
        return TopicPosition(offsets)

    def since(self, start: TopicPosition | None, /) -> int:
        first = {} if start is None else start.offsets
        return sum(offset - first.get(number, 0) for number, offset in self.offsets.items())

    def behind(self, end: TopicPosition, /) -> int:
        """Return how many records are before an end that this does not cover, in partitions that it has."""
        read = self.offsets
        return sum(max(0, offset - read.get(number, offset)) for number, offset in end.offsets.items())

    def texts(self, stream: str, start: TopicPosition | None, /) -> Iterator[str]:
        first = {} if start is None else start.offsets
        for number, end in sorted(self.offsets.items()):
            if end > first.get(number, 0):
                yield f"topic {stream}, partition {number}, {_span(first.get(number), end)}"

    def parts(self) -> tuple[str, ...]:
        return tuple(f"{number}:{offset}" for number, offset in self.offsets.items())

    def stored(self) -> dict[str, int]:
        return {str(number): offset for number, offset in self.offsets.items()}


def _span(first: int | None, end: int) -> str:
    if first is None:
        return f"offsets up to {end - 1}"
    return f"offset {first}" if first == end - 1 else f"offsets {first} to {end - 1}"


def from_stored(value: Mapping[str, int]) -> TopicPosition:
    return TopicPosition({int(number): offset for number, offset in value.items()})


def by_topic(value: Mapping[str, Any]) -> Iterator[tuple[str, TopicPosition]]:
    return ((topic, from_stored(numbers)) for topic, numbers in value.items() if isinstance(numbers, dict))


def offsets_in(positions: Mapping[str, Position]) -> dict[str, Offsets]:
    """Return the offsets in topics, for what only records have."""
    return {
        stream: position.offsets
        for stream, position in positions.items()
        if isinstance(position, TopicPosition)
    }


def positions_at(offsets: Mapping[str, Mapping[int, int]]) -> Positions:
    return {topic: TopicPosition(dict(numbers)) for topic, numbers in offsets.items()}


def topic_range(offsets: Mapping[int, tuple[int, int]]) -> Range:
    """Return the range between the first offset of each partition and the one after the last."""
    return Range(
        TopicPosition({number: first for number, (first, _) in offsets.items()}),
        TopicPosition({number: stop for number, (_, stop) in offsets.items()}),
    )


def offset_ranges(part: Range) -> dict[int, tuple[int, int]]:
    """Return the first offset of each partition in a range, and the one after the last."""
    assert isinstance(part.start, TopicPosition)
    assert isinstance(part.end, TopicPosition)
    return {number: (part.start.offsets[number], stop) for number, stop in part.end.offsets.items()}
