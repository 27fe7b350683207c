"""Where the topics of the local broker end, read from its files while it does not run."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from millstream.broker.kafka import KAFKA

_BATCH = struct.Struct(">qiibiHi")
"""How a batch of records begins: the offset of its first record, the length of what follows, the leader's
epoch, the format, a checksum, attributes, and how far the last record's offset is from the first one's."""
_BEFORE_LENGTH = 12
_FORMAT = 2
_AS_CLIENTS = str.maketrans("-_", "+/")
"""Files have ids in the base64 of addresses, clients in the other one."""


class LogEnds(Struct, frozen=True):
    ends: dict[str, dict[int, int]] = {}
    """The offset after the last record of each partition, by topic."""
    ids: dict[str, str] = {}
    """Kafka's id of each topic."""


def log_ends(root: Path) -> LogEnds | None:
    """Return where all topics end; None if a file is not as Kafka leaves it when it stops."""
    found = LogEnds()
    for folder in KAFKA.folder(root).data.iterdir():
        topic, _, number = folder.name.rpartition("-")
        if not folder.is_dir() or not number.isdigit() or topic.startswith("__"):
            continue
        end, id_ = _end(folder), _id(folder)
        if end is None or id_ is None:
            return None
        found.ends.setdefault(topic, {})[int(number)] = end
        found.ids[topic] = id_
    return found


def _id(folder: Path) -> str | None:
    for line in (folder / "partition.metadata").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(": ")
        if name == "topic_id":
            return value.translate(_AS_CLIENTS)
    return None


def _end(folder: Path) -> int | None:
    # Segments are named by their first offset, with as many digits.
    segment = max(folder.glob("*.log"), default=None)
    if segment is None:
        return None
    with segment.open("rb") as file:
        return _end_of(file, segment.stat().st_size, int(segment.stem))


def _end_of(file: BinaryIO, size: int, first: int) -> int | None:
    end, at = first, 0
    while at < size:
        file.seek(at)
        head = file.read(_BATCH.size)
        if len(head) < _BATCH.size:
            return None
        offset, length, _, format_, _, _, last = _BATCH.unpack(head)
        at += _BEFORE_LENGTH + length
        if format_ != _FORMAT or at > size:
            return None
        end = offset + last + 1
    return end
