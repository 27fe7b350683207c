"""Removes what all queries of a project have read from sources that say so.

Spark's own option would do it for each query alone, although others may still have to read the same files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.files import CheckpointFolder, checkpoint_folder, modified_when_read
from millstream.deploy.checkpoints.pending_swap import read_pending
from millstream.deploy.checkpoints.retained_version import read_retained
from millstream.deploy.engine import Engine
from millstream.deploy.planning.records import QueryRecord
from millstream.deploy.values import DiagnosticEvent, SetupStep
from millstream.project.values import RowSource
from millstream.queries.values import stream_of
from millstream.sources.positions import ends_of
from millstream.sources.registry import source_module

Times = Mapping[str, int]
"""By path of a file: when it was written, as a query has read it."""


def clean_up_sources(engine: Engine, warned: Collection[Diagnostic] = ()) -> list[Diagnostic]:
    """Remove files that all queries have read, which can be interrupted at any time.

    Return warnings of sources whose files can't be removed now; those in `warned` were told before.
    Environments read production's files, and so remove none.
    """
    project = engine.job.project
    sources = [s for s in project.sources.values() if isinstance(s, RowSource) and s.removes_read]
    warnings: list[Diagnostic] = []
    for source in sources if project.target.environment is None else ():
        try:
            _remove(engine, source, _removable(engine, source))
        except MillstreamError as error:
            warnings += (_warning(source, diagnostic) for diagnostic in error.diagnostics)
    for warning in warnings:
        if warning not in warned:
            engine.tell(DiagnosticEvent(warning))
    return warnings


def _warning(source: RowSource, diagnostic: Diagnostic) -> Diagnostic:
    message = f"files of source '{source.id}' that were read are not removed: {diagnostic.message}"
    return replace(diagnostic, message=message, severity="warning")


def _remove(engine: Engine, source: RowSource, read: Times) -> None:
    if not read:
        return
    try:
        removed = source_module(source.kind, "clean_up").remove_read(source, engine.job.project, read)
    except OSError as error:
        remedy = "let Millstream write to the folder of the source, and to its archive"
        raise MillstreamError(Diagnostic("MS699", str(error), source.location, remedy)) from None
    done = "archived" if source.options["clean_up"] == "archive" else "deleted"
    if removed:
        engine.tell(SetupStep("clean-up", f"{removed:,} files of {source.id} {done}", done=True))


def _removable(engine: Engine, source: RowSource) -> Times:
    """Return the files that all queries have read, also those that read them as another source."""
    read = _read_by_all(engine, _stream(source))
    for other in engine.job.project.sources.values():
        if isinstance(other, RowSource) and other.kind == source.kind and other.id != source.id and read:
            stream = _stream(other)
            if _readers(engine, stream):
                in_folder = ends_of(engine.job.project, [stream])[stream].parts()
                unread = set(in_folder) - _read_by_all(engine, stream).keys()
                read = {path: time for path, time in read.items() if path not in unread}
    return read


def _stream(source: RowSource) -> str:
    return stream_of(source.kind, NodeId("source", source.id))


def _readers(engine: Engine, stream: str) -> list[str]:
    return [query.name for query in engine.job.physical.queries if stream in query.streams]


def _read_by_all(engine: Engine, stream: str) -> Times:
    """Return the files that every query has read, all of them as written at the same time."""
    times: dict[str, int] | None = None
    for read in _read_by_each(engine, stream):
        times = dict(read) if times is None else {p: t for p, t in times.items() if read.get(p) == t}
    return times or {}


def _read_by_each(engine: Engine, stream: str) -> Iterator[Times]:
    """Yield what each query has read; nothing of a query that may read files again from the start."""
    queries = {query.name: query for query in engine.job.physical.queries}
    for name in _readers(engine, stream):
        record = engine.record(queries[name])
        # Models that failed get the files that they miss later.
        yield (
            {}
            if record is None or record.left_out
            else _read(engine, engine.checkpoint(queries[name]), record, stream)
        )
    for name in engine.files.names(engine.checkpoints):
        checkpoint = checkpoint_folder(engine.checkpoints, name)
        pending, retained = read_pending(engine.files, checkpoint), read_retained(engine.files, checkpoint)
        if pending is not None and stream in pending.record.signature.topics:
            yield {}
        if (
            retained is not None
            and retained.record is not None
            and stream in retained.record.signature.topics
        ):
            # After a rollback, it goes on from where it is.
            yield _read(engine, checkpoint, retained.record, stream)


def _read(engine: Engine, checkpoint: CheckpointFolder, record: QueryRecord, stream: str) -> Times:
    return modified_when_read(engine.files, checkpoint.spark(record), stream, record.signature.topics)
