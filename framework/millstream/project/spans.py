"""Rendered text that records where each of its characters was written."""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple


class MacroCall(NamedTuple):
    """The location in a template of a call that rendered text of another file."""

    path: str
    offset: int
    caller: "MacroCall | None" = None


class TextSegment(NamedTuple):
    """`length` rendered characters from one location.

    A copied segment (`width` is None) maps character by character; a computed one maps as a whole to the
    `width` characters of the expression that computed it.
    """

    length: int
    path: str
    offset: int
    width: int | None = None
    caller: MacroCall | None = None


class TracedText(str):
    """Text with the segments that it consists of; `strip` keeps them."""

    __slots__ = ("segments",)

    segments: tuple[TextSegment, ...]

    @staticmethod
    def of(text: str, segments: tuple[TextSegment, ...]) -> "TracedText":
        piece = TracedText(text)
        piece.segments = segments
        return piece

    def lstrip(self, chars: str | None = None, /) -> "TracedText":
        stripped = str.lstrip(self, chars)
        return self._cut(len(self) - len(stripped), len(self))

    def rstrip(self, chars: str | None = None, /) -> "TracedText":
        return self._cut(0, len(str.rstrip(self, chars)))

    def strip(self, chars: str | None = None, /) -> "TracedText":
        return self.lstrip(chars).rstrip(chars)

    def _cut(self, start: int, stop: int) -> "TracedText":
        segments: list[TextSegment] = []
        position = 0
        for segment in self.segments:
            first, last = max(position, start), min(position + segment.length, stop)
            if first < last:
                moved = segment.offset if segment.width is not None else segment.offset + first - position
                segments.append(segment._replace(length=last - first, offset=moved))
            position += segment.length
        return TracedText.of(str.__getitem__(self, slice(start, stop)), tuple(segments))


def concat(pieces: Iterable[str]) -> TracedText:
    """Join pieces; Jinja's generated code calls this instead of `"".join`."""
    texts: list[str] = []
    segments: list[TextSegment] = []
    for piece in pieces:
        texts.append(piece)
        if isinstance(piece, TracedText):
            segments.extend(piece.segments)
        elif piece:
            segments.append(TextSegment(len(piece), "", 0, 0))
    return TracedText.of("".join(texts), tuple(segments))


def trace_value(value: object, path: str, offset: int, width: int) -> TracedText:
    """Wrap the value of a `{{ … }}`: text of a macro keeps its own locations, with this call as caller."""
    if isinstance(value, TracedText):
        call = MacroCall(path, offset)
        return TracedText.of(value, tuple(_called(segment, call, width) for segment in value.segments))
    text = str(value)
    return TracedText.of(text, (TextSegment(len(text), path, offset, width),) if text else ())


def _called(segment: TextSegment, call: MacroCall, width: int) -> TextSegment:
    if not segment.path:
        return segment._replace(path=call.path, offset=call.offset, width=width)
    return segment._replace(caller=_outermost(segment.caller, call))


def _outermost(caller: MacroCall | None, call: MacroCall) -> MacroCall:
    if caller is None:
        return call
    return caller._replace(caller=_outermost(caller.caller, call))


class TextOrigin(NamedTuple):
    """Where a range of rendered text was written."""

    path: str
    start: int
    stop: int
    caller: MacroCall | None


class SpanMap:
    """Maps offsets of rendered text back to files."""

    def __init__(self, piece: TracedText) -> None:
        self._segments = piece.segments
        self._starts: list[int] = []
        position = 0
        for segment in piece.segments:
            self._starts.append(position)
            position += segment.length
        self.length = position

    def origin(self, start: int, stop: int | None = None) -> TextOrigin | None:
        """Return where the character at `start` was written, up to `stop` within one segment."""
        if not self._segments:
            return None
        index = bisect_right(self._starts, max(0, min(start, self.length - 1))) - 1
        segment = self._segments[index]
        if segment.width is not None:
            return TextOrigin(segment.path, segment.offset, segment.offset + segment.width, segment.caller)
        first = segment.offset + min(max(start - self._starts[index], 0), segment.length)
        room = self._starts[index] + segment.length - start
        width = 1 if stop is None else max(1, min(stop - start, room))
        return TextOrigin(segment.path, first, first + width, segment.caller)

    def calls(self, position: int) -> frozenset[MacroCall]:
        """Return the calls that rendered a character, directly or through others."""
        segment = self.origin(position)
        return _with_outer(segment.caller if segment else None)

    def beginning(self, position: int, call: MacroCall) -> int:
        """Return where the text begins that a call rendered, and of which the character at `position` is."""
        index = bisect_right(self._starts, position) - 1
        while index and call in _with_outer(self._segments[index - 1].caller):
            index -= 1
        return self._starts[index]


def _with_outer(call: MacroCall | None) -> frozenset[MacroCall]:
    """Return a call and those that led to it."""
    calls = set()
    while call:
        calls.add(call)
        call = call.caller
    return frozenset(calls)
