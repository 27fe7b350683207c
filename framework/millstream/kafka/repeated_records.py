"""Leaves out records that a sink sent again after a failure, by the headers of its records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from confluent_kafka import Message

from millstream.kafka.topic_decoding import bytes_of, headers_of
from millstream.outputs.kinds import BATCH, POSITION

_BITS = 13
"""Of an offset, within a page of offsets. A page of a thousand bytes has a bit for each."""


class FirstSent:
    """Passes the first record of each position.

    A position belongs to a topic, and to a query with its checkpoint, since a rebuild sends other records of
    the same positions. A record without a position always passes.
    """

    def __init__(self) -> None:
        self._pages: defaultdict[tuple[str, str, str, int], bytearray] = defaultdict(_page)
        self.repeated = 0
        """How many records were left out."""
        self.unplaced = 0
        """How many had no position."""

    def of(self, messages: Iterable[Message]) -> Iterator[Message]:
        for message in messages:
            if self._is_first(message):
                yield message
            else:
                self.repeated += 1

    def _is_first(self, message: Message) -> bool:
        headers = {name: bytes_of(value) or b"" for name, value in headers_of(message)}
        position = headers.get(POSITION, b"").decode(errors="replace")
        partition, _, offset = position.rpartition("-")
        if not partition or not offset.isdecimal():
            self.unplaced += 1
            return True
        sender = headers.get(BATCH, b"").decode(errors="replace").rpartition("/")[0]
        number, slot = divmod(int(offset), 1 << _BITS)
        key = (message.topic() or "", sender, partition, number)
        page = self._pages[key]
        index, bit = slot >> 3, 1 << (slot & 7)
        first = not page[index] & bit
        page[index] |= bit
        return first


def _page() -> bytearray:
    return bytearray(1 << (_BITS - 3))
