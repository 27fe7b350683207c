"""The stages of a query before it starts: its checkpoint is opened, and models that join it catch up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.deployment.records import Record, new_record, taken_over
from millstream.deployment.stages import (
    Backfill,
    Compare,
    Continue,
    Create,
    Rebuild,
    Refuse,
    Stage,
    Start,
)
from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.commands import rebuild_command
from millstream.physical.values import Query, TableOutput
from millstream.runner import checkpoints, previous
from millstream.runner.applying import Applied
from millstream.runner.backfill import backfill
from millstream.runner.checkpoints import records_in
from millstream.runner.dead_letters import with_letters
from millstream.runner.engine import Engine
from millstream.runner.isolating import kept, without
from millstream.runner.proving import proved
from millstream.runner.rebuilding import begin
from millstream.runner.starting import Around
from millstream.runner.swapping import forget
from millstream.runner.values import LeftOut


class Opened(Struct, frozen=True):
    """A checkpoint that a query is about to go on from, and its tables."""

    record: Record | None
    """None: it is new."""
    ids: dict[str, str]
    """By topic that it reads: Kafka's id of it."""
    created: frozenset[str]
    """Models whose tables have been created."""
    backfilled: tuple[str, ...] = ()
    """Models that got what the query had read before."""
    failed: dict[str, Diagnostic] = {}
    """Those of them that failed."""


def prepare(
    running: Engine,
    query: Query,
    chain: Iterable[Stage],
    left_out: Collection[str] = (),
    applied: Applied | None = None,
) -> tuple[Query, Around]:
    """Carry out what comes before a query reads; return it as it is to start, and what it needs.

    Models that are left out are not in it, nor those that have to catch up and fail.
    """
    ready: tuple[Query, Around] | None = None
    opened: Opened | None = None
    for stage in chain:
        match stage, ready, opened:
            case Refuse(problem=problem), _, _:
                raise MillstreamError(problem)
            case ((Create() | Continue()), _, _):
                opened = open_checkpoint(running, query)
            case Backfill(models=models), _, Opened():
                joining = [model for model in models if model not in left_out]
                opened = _backfilled(running, query, opened, joining)
            case Start(), _, Opened():
                ready = _ready(running, query, opened, left_out)
            case Rebuild(), _, _:
                ready = begin(running, query, applied.id if applied else "")
            case Compare(), (made, around), _:
                replaced = applied.replaced if applied else ()
                ready = made, proved(running, query, made, around, stage, replaced)
    assert ready is not None, f"nothing starts {query.name}"
    return ready


def open_checkpoint(running: Engine, query: Query) -> Opened:
    """Refuse a checkpoint whose topics are others by now; create the tables that are missing."""
    record, ids = running.record(query), running.ids(query)
    check_record(running, query, record)
    if record and (remade := [topic for topic, id_ in ids.items() if record.ids.get(topic, id_) != id_]):
        raise MillstreamError(_other_records(query, remade))
    created = {
        table.model
        for table in query.tables
        if (record is None or record.tables.get(table.model) != table.columns)
        and running.tables.create(table, changes=table.model in running.streamed)
    }
    return Opened(record, ids, frozenset(created))


def check_record(running: Engine, query: Query, record: Record | None) -> None:
    """Refuse a checkpoint of another project, and to store rows among those of another query."""
    project = running.job.project.settings.name
    if record is not None and record.project != project:
        raise MillstreamError(_other_project(query, record, project))
    for table in query.tables:
        if (record is not None and table.model in record.tables) or not running.tables.has_rows(table):
            continue
        before = taken_over(query, records_in(running.files, running.checkpoints)).get(table.model)
        if before is not None:
            raise MillstreamError(_other_maker(query, table, before))


def _backfilled(running: Engine, query: Query, opened: Opened, models: Sequence[str]) -> Opened:
    if opened.record is None or not models:
        return opened
    place = running.place(query)
    failed = backfill(running, query, opened.record, place, models, opened.created)
    return replace(opened, backfilled=tuple(models), failed=failed)


def _ready(running: Engine, query: Query, opened: Opened, left_out: Collection[str]) -> tuple[Query, Around]:
    place, failed = running.place(query), opened.failed
    out = [model for model in query.stored if model in left_out or model in failed]
    if failed and len(out) == len(query.stored):
        raise MillstreamError(*failed.values())
    for model, problem in failed.items():
        running.tell(LeftOut(query.name, model, problem))
    record = _noted(running, query, opened, out)
    made = without(running, query, out)
    new = opened.created if opened.record is None else frozenset[str]()
    around = with_letters(running, made, record, place, running.around(made, record, place, new))
    joined = tuple(model for model in opened.backfilled if model not in failed)
    return made, replace(around, backfilled=joined, left_out=failed)


def _noted(running: Engine, query: Query, opened: Opened, out: Collection[str]) -> Record:
    """Write down what the checkpoint is of from now on."""
    before = opened.record
    new = new_record(running.job.project.settings.name, query, opened.ids)
    outputs = {model: topic for model, topic in query.stored.items() if model not in out}
    new = replace(new, outputs=outputs, left_out=kept(before, out))
    if before is not None:
        new = replace(
            before,
            signature=new.signature,
            models=new.models,
            tables=new.tables,
            gone=tuple(sorted({*before.gone, *before.tables} - new.tables.keys())),
            outputs=outputs,
            left_out=new.left_out,
            ids=before.ids | opened.ids,
        )
    if new != before:
        checkpoints.write_record(running.files, running.place(query), new)
    return new


def reset(running: Engine, query: Query) -> None:
    """Forget what a query has done: its checkpoint and its tables."""
    place = running.place(query)
    forget(running.files, running.tables, place)
    previous.forget(running.files, running.tables, place)
    running.files.remove(place.folder)
    for table in query.tables:
        running.tables.drop(table)


def _other_project(query: Query, record: Record, project: str) -> Diagnostic:
    return Diagnostic(
        "MS869",
        f"the checkpoint of {query.name} is of another project, '{record.project}'",
        None,
        f"give '{project}' a folder of its own: `checkpoints:` of the target in profiles.yml",
    )


def _other_maker(query: Query, table: TableOutput, before: str) -> Diagnostic:
    name = table.model.partition(".")[2]
    return Diagnostic(
        "MS870",
        f"the table {name} has rows that query {before} made; {query.name} would leave some of them",
        None,
        f"rebuild it next to what is there, and swap: {rebuild_command(query)}",
    )


def _other_records(query: Query, topics: Sequence[str]) -> Diagnostic:
    named = ", ".join(f"'{topic}'" for topic in topics)
    return Diagnostic(
        "MS864",
        f"{query.title}: {named} was deleted and created again: offsets of the old topic mean other records",
        None,
        "build with --full-refresh, which reads it from its start",
    )
