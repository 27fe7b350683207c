"""Before a query starts: whether it may go on from its checkpoint, and tables that are there."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from millstream.errors import Diagnostic, MillstreamError
from millstream.physical.values import DeadLetters, Query, TableOutput
from millstream.physical.verdict import Verdict, verdict
from millstream.plan.nodes import Column
from millstream.runner import checkpoints
from millstream.runner.checkpoints import Place, Record
from millstream.runner.engine import Engine
from millstream.runner.failures import told_of
from millstream.runner.starting import Around
from millstream.runner.values import Told


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
        for diagnostic in _newcomers(query, record):
            running.tell(Told(diagnostic))
    new = {
        table.model
        for table in tables
        if (record is None or record.tables.get(table.model) != table.columns)
        and running.tables.create(table, changes=table.model in running.streamed)
        and record is None
    }
    record = _written(running, query, place, record, columns)
    return Around(
        project=running.job.project,
        checkpoint=place.spark,
        stores=running.stores(query, f"{query.name}/{record.id}", frozenset(new)),
        sources={source.relation: running.source_options(source) for source in query.sources},
        tables=running.tables,
        settings=running.settings(query),
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
        new = replace(record, signature=query.signature, models=query.models, tables=columns)
    if new != record:
        checkpoints.write_record(running.files, place, new)
    return new


def _place(running: Engine, query: Query) -> Place:
    return checkpoints.place_of(running.checkpoints, query.name)


def _tables(query: Query) -> list[TableOutput]:
    return [target for target in query.outputs if isinstance(target, TableOutput)]


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


def _newcomers(query: Query, record: Record) -> Iterator[Diagnostic]:
    """Tell of models that join a query that has read its topics before: they get what comes from now on."""
    for target in query.outputs:
        model = "" if isinstance(target, DeadLetters) else target.model
        if model and model not in record.models:
            name = model.partition(".")[2]
            yield Diagnostic(
                "MS876",
                f"'{name}' is new in the query {query.name}, and gets the records from now on",
                None,
                f"for those before: millstream build --full-refresh --select {name}, which sends again "
                "what the other models of the query have sent",
                severity="warning",
            )


def _refused(query: Query, found: Verdict) -> Diagnostic:
    what = told_of(query)
    reasons = "; ".join(found.reasons)
    rebuild = "millstream build --full-refresh --select "
    rebuild += " ".join(m.removeprefix("model.") for m in query.models if m.startswith("model."))
    if found.kind == "forward":
        return Diagnostic(
            "MS871",
            f"{what}: {reasons}",
            None,
            f"go on from here with --accept-forward, or count all anew: {rebuild}",
        )
    return Diagnostic("MS870", f"{what} can't go on from its checkpoint: {reasons}", None, rebuild)
