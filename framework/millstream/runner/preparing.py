"""Before a query starts: whether it may go on from its checkpoint, and tables that are there."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.commands import rebuild_command
from millstream.physical.lock import Lock
from millstream.physical.values import Query, TableOutput
from millstream.physical.verdict import Verdict, is_lost, verdict
from millstream.runner import checkpoints, previous
from millstream.runner.backfill import backfill, newcomers
from millstream.runner.checkpoints import Place, Record, outputs_of, records_in, tables_of, taken_over
from millstream.runner.dead_letters import with_letters
from millstream.runner.engine import Engine
from millstream.runner.failures import told_of
from millstream.runner.isolating import kept, without
from millstream.runner.starting import Around
from millstream.runner.swapping import forget
from millstream.runner.values import LeftOut


def refresh(running: Engine, query: Query) -> None:
    """Forget what a query has done: its checkpoint and its tables."""
    place = running.place(query)
    forget(running.files, running.tables, place)
    previous.forget(running.files, running.tables, place)
    running.files.remove(place.folder)
    for table in tables_of(query):
        running.tables.drop(table)


def prepare(running: Engine, query: Query, left_out: Collection[str] = ()) -> tuple[Query, Around]:
    """Return a query and what it needs; refuse where its checkpoint does not fit any more.

    Models that are left out are not in it, nor those that have to catch up and fail.
    """
    place = running.place(query)
    before, ids = check(running, query), running.ids(query)
    if before is not None and (anew := [t for t, id_ in ids.items() if before.ids.get(t, id_) != id_]):
        raise MillstreamError(_other_records(query, anew))
    created = {
        table.model
        for table in tables_of(query)
        if (before is None or before.tables.get(table.model) != table.columns)
        and running.tables.create(table, changes=table.model in running.streamed)
    }
    joining = [] if before is None else [m for m in newcomers(query, before) if m not in left_out]
    failed: dict[str, Diagnostic] = {}
    if before is not None and joining:
        failed = backfill(running, query, before, place, joining, created)
    out = [model for model in outputs_of(query) if model in left_out or model in failed]
    if failed and len(out) == len(outputs_of(query)):
        raise MillstreamError(*failed.values())
    for model, problem in failed.items():
        running.tell(LeftOut(query.name, model, problem))
    record = _written(running, query, place, before, out, ids)
    made = without(running, query, out)
    new = frozenset(created if before is None else ())
    around = with_letters(running, made, record, place, running.around(made, record, place, new))
    joined = tuple(model for model in joining if model not in failed)
    return made, replace(around, backfilled=joined, left_out=failed)


def _written(
    running: Engine,
    query: Query,
    place: Place,
    record: Record | None,
    out: Collection[str],
    ids: dict[str, str],
) -> Record:
    new = checkpoints.new_record(running.job.project.settings.name, query, ids)
    outputs = {model: topic for model, topic in outputs_of(query).items() if model not in out}
    new = replace(new, outputs=outputs, left_out=kept(record, out))
    if record is not None:
        new = replace(
            record,
            signature=new.signature,
            models=new.models,
            tables=new.tables,
            gone=tuple(sorted({*record.gone, *record.tables} - new.tables.keys())),
            outputs=outputs,
            left_out=new.left_out,
            ids=record.ids | ids,
        )
    if new != record:
        checkpoints.write_record(running.files, place, new)
    return new


def check(running: Engine, query: Query) -> Record | None:
    """Return what is known of a query; refuse it where its checkpoint does not fit any more."""
    record = running.record(query)
    if record is not None:
        _check(running, query, record)
    for table in tables_of(query):
        if (record is None or table.model not in record.tables) and running.tables.has_rows(table):
            _check_maker(running, query, table)
    return record


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
    spark = running.place(query).spark(record)
    if checkpoints.last_begun(running.files, spark) is None:
        return  # Nothing has been read: it failed before its first batch.
    found = verdict(record.signature, query.signature)
    if is_lost(found.kind, accept_forward=running.job.accept_forward):
        raise MillstreamError(_refused(query, found))


def _check_maker(running: Engine, query: Query, table: TableOutput) -> None:
    """Refuse to store rows among those of another query, which nobody would replace."""
    before = taken_over(query, records_in(running.files, running.checkpoints)).get(table.model)
    if before is not None:
        name = table.model.partition(".")[2]
        raise MillstreamError(
            Diagnostic(
                "MS870",
                f"the table {name} has rows that query {before} made; {query.name} would leave some of them",
                None,
                f"make its rows anew beside what is there, and swap: {rebuild_command(query)}",
            )
        )


def _other_records(query: Query, topics: Sequence[str]) -> Diagnostic:
    named = ", ".join(f"'{topic}'" for topic in topics)
    return Diagnostic(
        "MS864",
        f"{told_of(query)}: {named} was deleted and made anew: what was read up to there says nothing of it",
        None,
        "build with --full-refresh, which reads it from its start",
    )


def _refused(query: Query, found: Verdict) -> Diagnostic:
    what = told_of(query)
    reasons = "; ".join(found.reasons)
    rebuild = rebuild_command(query)
    if found.kind == "forward":
        return Diagnostic(
            "MS871",
            f"{what}: {reasons}",
            None,
            f"go on from here with --accept-forward, or count all anew with {rebuild}",
        )
    return Diagnostic(
        "MS870",
        f"{what} can't go on from its checkpoint: {reasons}",
        None,
        f"count anew beside what is there, and swap: {rebuild}",
    )
