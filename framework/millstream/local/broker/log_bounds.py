"""Where the topics of the local broker begin and end, read from its files while it does not run."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec import Struct

from millstream.local.broker.kafka import KAFKA

_BATCH = struct.Struct(">qiibiHi")
"""How a batch of records begins: the offset of its first record, the length of what follows, the leader's
epoch, the format, a checksum, attributes, and how far the last record's offset is from the first one's."""
_BEFORE_LENGTH = 12
_FORMAT = 2
_AS_CLIENTS = str.maketrans("-_", "+/")
"""Files have ids in the base64 of addresses, clients in the other one."""
_STARTS = "log-start-offset-checkpoint"
"""Where partitions begin whose first segment also has records that were deleted."""


class LogBounds(NamedTuple):
    first: int
    """The offset of the oldest record that was not deleted."""
    end: int
    """The offset after the last record."""


class BrokerLogs(Struct, frozen=True):
    topics: dict[str, dict[int, LogBounds]] = {}
    """By number of the partition."""
    ids: dict[str, str] = {}
    """Kafka's id of each topic."""


def stopped_logs(root: Path) -> BrokerLogs | None:
    """Return the logs of all topics; None if a file is not as Kafka leaves it when it stops."""
    data = KAFKA.folder(root).data
    if not data.is_dir():
        return BrokerLogs()
    logs, starts = BrokerLogs(), _starts(data / _STARTS)
    for folder in data.iterdir():
        topic, _, number = folder.name.rpartition("-")
        if not folder.is_dir() or not number.isdigit() or topic.startswith("__"):
            continue
        log, id_ = _log(folder, starts), _id(folder)
        if log is None or id_ is None:
            return None
        logs.topics.setdefault(topic, {})[int(number)] = log
        logs.ids[topic] = id_
    return logs


def _starts(file: Path) -> dict[str, int]:
    """Return the offsets by name of the partition's folder."""
    # The first two lines are a version and the number of entries.
    lines = file.read_text(encoding="utf-8").splitlines()[2:] if file.is_file() else []
    parts = (line.split(" ") for line in lines)
    return {f"{topic}-{number}": int(offset) for topic, number, offset in parts}


def _id(folder: Path) -> str | None:
    for line in (folder / "partition.metadata").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(": ")
        if name == "topic_id":
            return value.translate(_AS_CLIENTS)
    return None


def _log(folder: Path, starts: Mapping[str, int]) -> LogBounds | None:
    # Segments are named by their first offset, with as many digits.
    segments = sorted(folder.glob("*.log"))
    if not segments:
        return None
    with segments[-1].open("rb") as file:
        end = _end(file, segments[-1].stat().st_size, int(segments[-1].stem))
    return None if end is None else LogBounds(max(int(segments[0].stem), starts.get(folder.name, 0)), end)


def _end(file: BinaryIO, size: int, first: int) -> int | None:
    end, position = first, 0
    while position < size:
        file.seek(position)
        head = file.read(_BATCH.size)
        if len(head) < _BATCH.size:
            return None
        offset, length, _, format_, _, _, last = _BATCH.unpack(head)
        position += _BEFORE_LENGTH + length
        if format_ != _FORMAT or position > size:
            return None
        end = offset + last + 1
    return end
