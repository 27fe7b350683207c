"""Before a query starts: whether it may go on from its checkpoint, and tables that are there."""

from __future__ import annotations

from collections.abc import Collection

from msgspec.structs import replace

from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.commands import rebuild_command
from millstream.physical.lock import Lock
from millstream.physical.values import Query, TableOutput
from millstream.physical.verdict import Verdict, verdict
from millstream.plan.nodes import Column
from millstream.runner import checkpoints
from millstream.runner.backfill import backfill, newcomers
from millstream.runner.checkpoints import Place, Record
from millstream.runner.engine import Engine
from millstream.runner.failures import told_of
from millstream.runner.starting import Around


def refresh(running: Engine, query: Query) -> None:
    """Forget what a query has done: its checkpoint and its tables."""
    running.files.remove(_place(running, query).folder)
    for table in _tables(query):
        running.tables.drop(table)


def prepare(running: Engine, query: Query) -> Around:
    """Return what a query needs; refuse where its checkpoint does not fit any more."""
    place = _place(running, query)
    tables = _tables(query)
    columns = {table.model: table.columns for table in tables}
    record = checkpoints.read_record(running.files, place)
    if record is not None:
        _check(running, query, record)
    created = {
        table.model
        for table in tables
        if (record is None or record.tables.get(table.model) != table.columns)
        and running.tables.create(table, changes=table.model in running.streamed)
    }
    joining = () if record is None else newcomers(query, record)
    if record is not None and joining:
        backfill(running, query, record, place, joining, created)
    new = created if record is None else ()
    record = _written(running, query, place, record, columns)
    return Around(
        project=running.job.project,
        checkpoint=place.spark,
        stores=running.stores(query, f"{query.name}/{record.id}", frozenset(new)),
        sources={source.relation: running.source_options(source) for source in query.sources},
        tables=running.tables,
        settings=running.settings(query),
        backfilled=joining,
    )


def _written(
    running: Engine,
    query: Query,
    place: Place,
    record: Record | None,
    columns: dict[str, tuple[Column, ...]],
) -> Record:
    if record is None:
        new = checkpoints.new_record(running.job.project.settings.name, query, columns)
    else:
        new = replace(
            record,
            signature=query.signature,
            models=query.models,
            tables=columns,
            outputs=checkpoints.outputs_of(query),
        )
    if new != record:
        checkpoints.write_record(running.files, place, new)
    return new


def _place(running: Engine, query: Query) -> Place:
    return checkpoints.place_of(running.checkpoints, query.name)


def _tables(query: Query) -> list[TableOutput]:
    return [target for target in query.outputs if isinstance(target, TableOutput)]


def check(running: Engine, query: Query) -> None:
    """Refuse a query whose checkpoint does not fit any more."""
    record = checkpoints.read_record(running.files, _place(running, query))
    if record is not None:
        _check(running, query, record)


def keep_lock(running: Engine, started: Collection[str]) -> None:
    """Record the groups that have state now."""
    before = checkpoints.read_lock(running.files, running.checkpoints) or Lock()
    known = {*started, *(group.name for group in before.groups)}
    now = Lock(tuple(group for group in running.job.physical.lock.groups if group.name in known))
    if now != before:
        checkpoints.write_lock(running.files, running.checkpoints, now)


def _check(running: Engine, query: Query, record: Record) -> None:
    name = running.job.project.settings.name
    if record.project != name:
        raise MillstreamError(
            Diagnostic(
                "MS869",
                f"the checkpoint of {query.name} is of another project, '{record.project}'",
                None,
                f"give '{name}' a folder of its own: `checkpoints:` of the target in profiles.yml",
            )
        )
    found = verdict(record.signature, query.signature)
    if found.kind == "rebuild" or (found.kind == "forward" and not running.job.accept_forward):
        raise MillstreamError(_refused(query, found))


def _refused(query: Query, found: Verdict) -> Diagnostic:
    what = told_of(query)
    reasons = "; ".join(found.reasons)
    rebuild = rebuild_command(query)
    if found.kind == "forward":
        return Diagnostic(
            "MS871",
            f"{what}: {reasons}",
            None,
            f"go on from here with --accept-forward, or count all anew: {rebuild}",
        )
    return Diagnostic("MS870", f"{what} can't go on from its checkpoint: {reasons}", None, rebuild)
