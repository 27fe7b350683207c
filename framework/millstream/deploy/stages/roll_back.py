"""Rolls back the last apply: its previous tables, checkpoints and groups are put back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.checkpoints import retained_version
from millstream.deploy.checkpoints.applied import LastApply, read_apply, remove_apply, write_apply
from millstream.deploy.checkpoints.deployed import restore_manifest
from millstream.deploy.checkpoints.files import checkpoint_folder, records_in
from millstream.deploy.checkpoints.joined_swap import JoinedSwap
from millstream.deploy.checkpoints.retained_version import RetainedVersion
from millstream.deploy.checkpoints.swap import swap_together
from millstream.deploy.engine import Engine, start_engine
from millstream.deploy.planning.records import Offsets, QueryRecord
from millstream.deploy.values import Job, SetupStep, Tell
from millstream.queries.values import TableOutput
from millstream.sources.positions import title_of
from millstream.sources.topic.positions import offsets_in


class Rollback(Struct, frozen=True):
    """What a rollback puts back."""

    applied: LastApply
    retained: dict[str, RetainedVersion]


def roll_back(job: Job, folder: Path, tell: Tell, spark: SparkSession | None = None) -> list[str]:
    """Roll back the last apply of a target, and return its queries; it can be repeated after a kill."""
    with start_engine(job, [], folder, tell, spark) as engine:
        rollback = rollback_of(engine)
        put_back(engine, rollback)
        return list(rollback.retained)


def rollback_of(engine: Engine) -> Rollback:
    """Return what can be put back; raise if the last apply can't be rolled back."""
    applied = read_apply(engine.files, engine.checkpoints)
    retained = {} if applied is None else _retained(engine, applied.id)
    records = records_in(engine.files, engine.checkpoints)
    if applied is None or not (applied.done or applied.back or retained or records.keys() & applied.begun):
        message = f"no apply to {engine.job.project.target.title} can be rolled back"
        remedy = "only the last `millstream apply` that rebuilt something is retained"
        raise MillstreamError(Diagnostic("MS887", message, None, remedy))
    lost = [] if applied.back or not applied.done else sorted(set(applied.replaced) - retained.keys())
    if diagnostics := [*map(_rebuilt_since, lost), *_counted_twice(retained, records)]:
        raise MillstreamError(*diagnostics)
    return Rollback(applied, retained)


def put_back(engine: Engine, rollback: Rollback) -> None:
    """Swap back; the queries must not run."""
    applied, retained = rollback.applied, rollback.retained
    records = records_in(engine.files, engine.checkpoints)
    for name, version in retained.items():
        checkpoint = checkpoint_folder(engine.checkpoints, name)
        if (record := version.record) is None:
            continue
        sent, sent_before = _sent(engine, record, records), _sent_before(engine, record, records)
        if (sent, sent_before) != (record.sent, record.sent_before):
            record = replace(record, sent=sent, sent_before=sent_before)
            retained_version.write_retained(engine.files, checkpoint, replace(version, record=record))
    write_apply(engine.files, engine.checkpoints, replace(applied, back=True))
    joined = JoinedSwap(tuple(retained), applied.lock, back=True)
    swap_together(engine.files, engine.tables, engine.held, engine.checkpoints, joined)
    for name, version in retained.items():
        note = f"version of {version.record.created}" if version.record else "belongs to another query again"
        engine.tell(SetupStep(name, note, done=True))
    for name in applied.begun:
        # The query did not run before the apply.
        for model in records[name].tables if name in records else ():
            engine.tables.drop(TableOutput(model))
        engine.files.remove(checkpoint_folder(engine.checkpoints, name).folder)
    restore_manifest(engine.files, engine.checkpoints)
    remove_apply(engine.files, engine.checkpoints)


def _sent(
    engine: Engine, retained: QueryRecord, records: dict[str, QueryRecord]
) -> dict[str, dict[str, Offsets]]:
    """Return up to where the newer version has sent the records of each topic that the older one writes."""
    sent = dict(retained.sent)
    for name, record in records.items():
        topics = set((record.outputs or {}).values()) & set((retained.outputs or {}).values()) - {""}
        if topics and record.id != retained.id and (read := engine.read(name, record)):
            sent |= dict.fromkeys(sorted(topics), offsets_in(read))
    return sent


def _sent_before(
    engine: Engine, retained: QueryRecord, records: dict[str, QueryRecord]
) -> dict[str, dict[str, Any]]:
    """Return up to where the newer version has read sources other than topics, if the older one only sends.

    Records of their rows have no position, so the rows are left out when they are read.
    """
    topics = set((retained.outputs or {}).values())
    streams = retained.signature.settings_of
    if retained.signature.stateful or "" in topics or not streams:
        return retained.sent_before
    newer = [
        engine.read(name, record)
        for name, record in records.items()
        if record.id != retained.id and topics.intersection((record.outputs or {}).values())
    ]
    sent_before = dict(retained.sent_before)
    for stream in streams:
        positions = [read[stream] for read in newer if stream in read]
        if any(position != positions[0] for position in positions):
            title = title_of(stream)
            message = f"the queries that replaced {retained.query} have not read {title} equally far"
            raise MillstreamError(Diagnostic("MS888", message, None, "repeat the command"))
        if positions:
            sent_before[stream] = positions[0].stored()
    return sent_before


def _retained(engine: Engine, apply: str) -> dict[str, RetainedVersion]:
    names = engine.files.names(engine.checkpoints)
    retained = {
        name: retained_version.read_retained(engine.files, checkpoint_folder(engine.checkpoints, name))
        for name in sorted(names)
    }
    return {
        name: version for name, version in retained.items() if version is not None and version.apply == apply
    }


def _counted_twice(
    retained: dict[str, RetainedVersion], records: dict[str, QueryRecord]
) -> Iterator[Diagnostic]:
    """Refuse a rollback after which a query would count rows twice that were sent again since.

    A query that sends changes would send rows before them that readers no longer have.
    """
    sent = {topic: name for name in retained if name in records for topic in records[name].began}
    remedy = "check out the older version, and run `millstream apply`, which rebuilds both"
    for name, version in retained.items():
        if version.record is not None and version.record.signature.changes:
            message = f"{name} sends changes, and their readers have the rows of the newer version"
            yield Diagnostic("MS888", message, None, remedy.replace("both", "it"))
        for topic in sorted(set(version.record.ids if version.record else ()) & sent.keys()):
            message = f"{name} would count the rows of '{topic}' twice: {sent[topic]} has sent them again"
            yield Diagnostic("MS888", message, None, remedy)


def _rebuilt_since(name: str) -> Diagnostic:
    message = f"{name} was rebuilt since, so its version before the last apply is no longer retained"
    return Diagnostic("MS887", message, None, "check out the older version, and run `millstream apply`")
