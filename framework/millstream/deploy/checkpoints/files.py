"""The files of a query's checkpoint: its record, Spark's own log of batches, and the lock of groups."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from millstream.deploy.planning.records import QueryRecord
from millstream.project.folders import local_path
from millstream.queries.lock import Lock, decode_lock, encode_lock
from millstream.sources.positions import Positions, SourceLog, in_offset_log, is_of_topics, kind_of
from millstream.sources.registry import source_module
from millstream.stores.files import Files, LocalFiles, path_in, read_json, write_json

_LOCK = "groups.lock"


class CheckpointFolder(Struct, frozen=True):
    """The folder of one query's checkpoint."""

    folder: str

    @property
    def record(self) -> str:
        return f"{self.folder}/millstream.json"

    @property
    def rebuild(self) -> str:
        return f"{self.folder}/rebuild.json"

    @property
    def retained(self) -> str:
        return f"{self.folder}/previous.json"

    def spark(self, record: QueryRecord) -> str:
        return f"{self.folder}/{record.folder}"

    def held(self, record: QueryRecord) -> str:
        """Return the folder of records that are sent when a version takes over."""
        return f"{self.folder}/held-{record.id}"


def checkpoint_folder(checkpoints: str, query: str) -> CheckpointFolder:
    return CheckpointFolder(path_in(checkpoints, query))


def read_record(files: Files, checkpoint: CheckpointFolder) -> QueryRecord | None:
    return read_json(files, checkpoint.record, QueryRecord)


def records_in(files: Files, checkpoints: str) -> dict[str, QueryRecord]:
    """Return the records of all queries that ran, by name."""
    names = files.names(checkpoints)
    records = {name: read_record(files, checkpoint_folder(checkpoints, name)) for name in names}
    return {name: record for name, record in records.items() if record is not None}


def last_done(files: Files, spark: str) -> int | None:
    """Return the last completed batch; Spark repeats a batch that was only planned."""
    return _last(files, f"{spark}/commits")


def last_begun(files: Files, spark: str) -> int | None:
    """Return the last batch whose offsets are planned."""
    return _last(files, f"{spark}/offsets")


def _last(files: Files, folder: str) -> int | None:
    return max((int(name) for name in files.names(folder) if name.isdigit()), default=None)


def clear_unbegun(files: Files, spark: str) -> None:
    """Remove the remains of a first batch that was killed while its offsets were written.

    Spark starts a new query only if these folders are empty (verifyNewCheckpointDirectory).
    """
    for folder in ("offsets", "state", "commits"):
        if files.names(f"{spark}/{folder}"):
            files.remove(f"{spark}/{folder}")


def read_up_to(files: Files, spark: str, batch: int, streams: Sequence[str] = ()) -> Positions | None:
    """Return up to where a batch reads the streams of its query; None if the file's format is unknown.

    Without `streams`, these are the positions in topics.
    """
    # OffsetSeqLog: a version, a line of metadata, and a line for each source.
    content = files.read(f"{spark}/offsets/{batch}") or b""
    lines = content.decode().splitlines()
    if lines[:1] != ["v1"]:
        return None
    return in_offset_log(lines[2:], streams, lambda n: SourceLog(files, f"{spark}/sources/{n}"))


def modified_when_read(files: Files, spark: str, stream: str, streams: Sequence[str]) -> dict[str, int]:
    """Return when each file of a stream that complete batches have read was written; none if unknown."""
    done = last_done(files, spark)
    if done is None or (position := (read_up_to(files, spark, done, streams) or {}).get(stream)) is None:
        return {}
    kind = source_module(kind_of(stream), "positions")
    times: dict[str, int] = {}
    lines = (files.read(f"{spark}/offsets/{done}") or b"").decode().splitlines()[2:]
    for number, line in enumerate(lines):
        value = None if line == "-" else json.loads(line)
        if kind.recognizes(value):
            times |= kind.times_in_log(value, SourceLog(files, f"{spark}/sources/{number}"))
    return {path: times[path] for path in position.parts() if path in times}


def table_offsets(files: Files, spark: str, batch: int) -> list[dict[str, object]]:
    """Return the offsets up to which a batch reads tables, as Spark's JSON, and those of other sources."""
    lines = (files.read(f"{spark}/offsets/{batch}") or b"").decode().splitlines()[2:]
    positions = (json.loads(line) for line in lines if line != "-")
    return [p for p in positions if p and isinstance(p, dict) and not is_of_topics(p)]


def has_closed_all(files: Files, spark: str, batch: int) -> bool:
    """Whether a complete batch has left no window to close: then Spark would run a batch without records."""
    try:
        watermark = watermark_of(files, spark, batch)
        committed = json.loads((files.read(f"{spark}/commits/{batch}") or b"").decode().splitlines()[1])
    except (IndexError, ValueError):
        return False
    return bool(committed.get("nextBatchWatermarkMs", 0) <= watermark)


def watermark_of(files: Files, spark: str, batch: int) -> int:
    """Return the watermark of a batch in milliseconds: windows that end by then have closed."""
    planned = json.loads((files.read(f"{spark}/offsets/{batch}") or b"").decode().splitlines()[1])
    watermark: int = planned.get("batchWatermarkMs", 0)
    return watermark


def read_so_far(files: Files, spark: str, streams: Sequence[str] = ()) -> Positions:
    """Return up to where complete batches have read the streams of a query."""
    done = last_done(files, spark)
    return {} if done is None else read_up_to(files, spark, done, streams) or {}


def records_of(
    files: Files, spark: str, streams: Sequence[str], start: Positions | None, batch: int
) -> int | None:
    """Return how many records a batch reads from its topics; the first one begins at `start`.

    None without a start, and if it reads other sources, whose files or versions can have any number of rows.
    """
    before = read_up_to(files, spark, batch - 1) if batch else start
    ends = read_up_to(files, spark, batch)
    if not before or not ends or any(kind_of(stream) != "topic" for stream in streams):
        return None
    return sum(end.since(before.get(topic)) for topic, end in ends.items())


def places_of(files: Files, spark: str, streams: Sequence[str], batch: int) -> str:
    """Return which records or files a batch reads, as text; empty if only tables are read."""
    before, ends = (read_up_to(files, spark, number, streams) for number in (batch - 1, batch))
    return ", ".join(
        text for stream, end in (ends or {}).items() for text in end.texts(stream, (before or {}).get(stream))
    )


def cut_batch(files: Files, spark: str, batch: int, ends: Positions) -> None:
    """Limit a planned batch to positions in topics."""
    path = f"{spark}/offsets/{batch}"
    version, metadata, *sources = (files.read(path) or b"").decode().splitlines()
    lines = [version, metadata]
    for line in sources:
        read: dict[str, dict[str, int]] = json.loads(line)
        stored = {topic: ends[topic].stored() for topic in read}
        cut_off = {topic: {n: stored[topic][n] for n in numbers} for topic, numbers in read.items()}
        lines.append(json.dumps(cut_off, separators=(",", ":")))
    files.write(path, "\n".join(lines).encode())


def write_record(files: Files, checkpoint: CheckpointFolder, record: QueryRecord) -> None:
    write_json(files, checkpoint.record, record)


def local_lock(checkpoints: str) -> Lock | None:
    """Return the groups that have state, if checkpoints are on this machine.

    Other checkpoints need Spark: a build reads the lock once Spark has started, and plans again if necessary.
    """
    return read_lock(LocalFiles(), checkpoints) if local_path(checkpoints) is not None else None


def read_lock(files: Files, checkpoints: str) -> Lock | None:
    content = files.read(path_in(checkpoints, _LOCK))
    return None if content is None else decode_lock(content)


def write_lock(files: Files, checkpoints: str, lock: Lock) -> None:
    files.write(path_in(checkpoints, _LOCK), encode_lock(lock))
