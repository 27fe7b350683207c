"""Runs a unit test over micro-batches, and returns the rows of each step and of the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from msgspec import Struct, structs

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.project.values import Project
from millstream.queries.values import ChangesRead, Query, TopicRead
from millstream.testing.units.clock import freeze_clock
from millstream.testing.units.convert import convert_value
from millstream.testing.units.plan import UnitTestPlan
from millstream.testing.units.records import RecordEncoder, arrow_rows, decode_record, sent_headers
from millstream.testing.units.relations import UnitRelations
from millstream.testing.units.schedule import MicroBatch, schedule_batches
from millstream.testing.units.stored_changes import remaining_rows, stored_changes
from millstream.testing.units.streaming_checks import StreamingChecks
from millstream.testing.units.values import DELETED, HEADERS, GivenRow, UnitTestCase

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.runner.samples.trial import AtRest, Trial, TrialResult

Row = dict[str, Any]


class ComputedRows(Struct, frozen=True):
    columns: tuple[Column, ...]
    steps: tuple[tuple[Row, ...], ...]
    """The output of each step; for an upsert relation, the newest row of each key."""
    final: tuple[Row, ...]
    """All rows at the end; for an upsert relation, those that are not deleted."""
    dead_letters: tuple[Row, ...] = ()
    late: int = 0
    expired: int = 0
    """Rows of state that expired."""


class RunContext(Struct, frozen=True):
    """What all unit tests of a project share."""

    project: Project
    relations: UnitRelations
    zone: ZoneInfo
    spark: Callable[[], SparkSession]
    log: str
    streaming_checks: StreamingChecks


def run_unit_test(
    context: RunContext,
    test: UnitTestCase,
    plan: UnitTestPlan,
    batches: Sequence[MicroBatch],
    *,
    each_step: bool = True,
) -> ComputedRows:
    """Run the tested model over micro-batches; without `each_step`, only the final rows are exact."""
    from millstream.runner.samples.trial import Stored, as_batch, as_stream

    run = UnitTestRun(context, test, plan)
    if plan.stateful:
        # A window that closes in a later step would look up the rows of that step.
        each_step = each_step or run.looks_up_later_rows
        scheduled = schedule_batches(batches, test, plan, each_step=each_step)
        streamed = as_stream(context.spark(), run.streamed_trial(scheduled), context.log)
        output, late, expired = run.rows(streamed, scheduled), streamed.late, streamed.expired
    else:
        output, late, expired = [], 0, 0
        stored: Stored = {}
        for index, batch in enumerate(batches):
            single = as_batch(context.spark(), run.trial([batch], batches[: index + 1]), context.log, stored)
            output += run.rows(single, [batch])
    dead_letters = [row for _, row in output if row.get(_DEAD_LETTER)]
    if _has_dead_letters(test):
        dead_letters += run.dead_letters_of_others(batches)
    rows = [(step, row) for step, row in output if not row.get(_DEAD_LETTER)]
    if plan.output.materialization.at_rest:
        rows = list(stored_changes(rows, plan.output))
    return ComputedRows(
        plan.output.columns,
        tuple(_newest([row for s, row in rows if s == i], plan) for i in range(len(test.steps))),
        tuple(row for row in _newest(remaining_rows(rows, plan.output), plan) if not row.get(DELETED)),
        tuple(dead_letters),
        late,
        expired,
    )


_DEAD_LETTER = "_letter"


def _has_dead_letters(test: UnitTestCase) -> bool:
    return test.dead_letters is not None or any(
        "_value" in row.metadata
        for step in test.steps
        for step_input in step.inputs
        for row in step_input.rows
    )


class UnitTestRun:
    """Turns a test's batches into trials, and their results into rows."""

    def __init__(self, context: RunContext, test: UnitTestCase, plan: UnitTestPlan) -> None:
        self.context = context
        self.test = test
        self.plan = plan
        self.encoder = RecordEncoder(test, context.project, context.relations)

    @property
    def looks_up_later_rows(self) -> bool:
        """Whether a step after the first one has rows of a relation that is looked up."""
        read = {static_read.relation for static_read in self.plan.query.reads}
        return any(
            step_input.rows and step_input.relation in read
            for step in self.test.steps[1:]
            for step_input in step.inputs
        )

    def streamed_trial(self, batches: Sequence[MicroBatch]) -> Trial:
        """Return a trial of all batches; lookups of each see the rows up to the end of its step."""
        read = {static_read.relation for static_read in self.plan.query.reads}
        later = {}
        for index, batch in enumerate(batches):
            new = index > 0 and batch.step != batches[index - 1].step
            step = [other for other in batches if other.step == batch.step]
            if new and any(other.rows.get(relation) for other in step for relation in read):
                seen = [other for other in batches if other.step <= batch.step]
                later[index] = self._all_at_rest(self.plan.query, seen)
        first = [other for other in batches if other.step == batches[0].step]
        return structs.replace(self.trial(batches, first), later=later)

    def trial(
        self, batches: Sequence[MicroBatch], visible: Sequence[MicroBatch], other: Query | None = None
    ) -> Trial:
        """Return a trial of the batches; lookups see the rows of `known`.

        It runs the query of the tested model, or another one over the same inputs.
        """
        from millstream.engine.spark.settings import state_settings
        from millstream.runner.samples.trial import Trial

        query = other or freeze_clock(self.plan.query, self.test.now)
        return Trial(
            project=self.context.project,
            query=query,
            feeds=() if query.maintaining else self._feeds(query, batches),
            at_rest=self._all_at_rest(query, visible),
            earlier=self._all_at_rest(query, visible[: -len(batches)]) if query.maintaining else (),
            settings=state_settings(query, self.context.relations.catalog),
            reached=tuple(batch.reached for batch in batches),
        )

    def _feeds(self, query: Query, batches: Sequence[MicroBatch]) -> Any:
        from millstream.runner.samples.trial import RECORDS, ViewFeed, columns_to_ddl

        feeds = []
        for source in query.sources:
            rows = [batch.rows.get(source.relation, ()) for batch in batches]
            if isinstance(source, TopicRead):
                records = [
                    self.encoder.records(source.relation, source.topics[0], batch_rows) for batch_rows in rows
                ]
                feeds.append(ViewFeed(source.view, RECORDS, tuple(records)))
                continue
            stored = self.context.relations.stored(source.relation)
            assert stored is not None
            columns, deletes = stored[0], isinstance(source, ChangesRead)
            arrow = [arrow_rows(batch_rows, columns, deletes=deletes) for batch_rows in rows]
            names = f"{columns_to_ddl(columns)}, {DELETED} boolean" if deletes else columns_to_ddl(columns)
            computed = self.context.relations.computed(source.relation)
            feeds.append(ViewFeed(source.view, names, tuple(arrow), computed))
        return tuple(feeds)

    def _all_at_rest(self, query: Query, visible: Sequence[MicroBatch]) -> tuple[AtRest, ...]:
        return tuple(self._at_rest(read.view, read.relation, visible) for read in query.reads)

    def _at_rest(self, view: str, relation: NodeId, visible: Sequence[MicroBatch]) -> AtRest:
        from millstream.runner.samples.trial import LookupRows, OwnSeed, ReferenceTopic, columns_to_ddl

        rows = tuple(row for batch in visible for row in batch.rows.get(relation, ()))
        kind, name = relation.kind, relation.name
        if kind == "seed" and relation not in self.test.relations:
            return OwnSeed(view, name)
        stored = self.context.relations.stored(relation)
        if stored is None:
            topic = self.context.relations.catalog.topics[relation].topics[0]
            query = self.plan.references[relation]
            # A record is the same for every batch that reads it.
            encoder = RecordEncoder(self.test, self.context.project, self.context.relations)
            return ReferenceTopic(view, encoder.records(relation, topic, rows), query)
        columns, keys = stored
        rows = _newest_given(rows, keys) if keys else _rows_left(rows)
        arrow = arrow_rows(rows, columns, deletes=False)
        return LookupRows(view, columns_to_ddl(columns), arrow, self.context.relations.computed(relation))

    # -- the output

    def rows(self, result: TrialResult, batches: Sequence[MicroBatch]) -> list[tuple[int, Row]]:
        """Return the rows of the output, each with its step."""
        rows: list[tuple[int, Row]] = []
        for output_rows in result.outputs:
            step = batches[output_rows.batch].step
            if output_rows.kind == "records":
                rows += [(step, self._decoded(record)) for record in output_rows.rows]
            elif output_rows.output == str(self.test.model):
                rows += [(step, self._typed(row)) for row in output_rows.rows]
        return rows

    def _decoded(self, record: Row) -> Row:
        query, columns = self.plan.query, self.plan.output.columns
        for target in query.sinks:
            if target.topic == record["topic"]:
                deletes = self.plan.traits.mode == "upsert"
                row: Row = decode_record(record, target.sink, columns, self.context.zone, deletes=deletes)
                return row | {HEADERS: sent_headers(record)} if self.test.names_headers else row
        return _dead_letter(record)

    def _typed(self, row: Row) -> Row:
        types = {column.name: column.type for column in self.plan.output.columns}
        return {n: convert_value(v, types[n], self.context.zone) if n in types else v for n, v in row.items()}

    def dead_letters_of_others(self, batches: Sequence[MicroBatch]) -> list[Row]:
        from millstream.runner.samples.trial import Trial, as_batch

        dead_letters: list[Row] = []
        for query in self.plan.dead_letters:
            trial = Trial(self.context.project, query, self._feeds(query, batches))
            tried = as_batch(self.context.spark(), trial, self.context.log)
            topics = {output.topic for output in query.dead_letters}
            rows = [
                row for output_rows in tried.outputs for row in output_rows.rows if row["topic"] in topics
            ]
            dead_letters += map(_dead_letter, rows)
        return dead_letters


def _newest_given(rows: Iterable[GivenRow], keys: Sequence[str]) -> tuple[GivenRow, ...]:
    """Return the newest row of each key that is not deleted, as a table holds them."""
    newest: dict[str, GivenRow] = {}
    for row in rows:
        newest[repr([row.values.get(key) for key in keys])] = row
    return tuple(row for row in newest.values() if not row.metadata.get(DELETED))


def _rows_left(rows: Iterable[GivenRow]) -> tuple[GivenRow, ...]:
    """Return the rows that an append-only table has: a deleted row removes earlier ones with its values."""
    left: list[GivenRow] = []
    for row in rows:
        if row.metadata.get(DELETED):
            left = [other for other in left if not row.values.items() <= other.values.items()]
        else:
            left.append(row)
    return tuple(left)


def _dead_letter(record: Row) -> Row:
    headers = {header["key"]: header["value"] for header in record.get("headers") or ()}
    reason = headers.get("millstream.reason")
    return {
        "key": record["key"],
        "value": record["value"],
        "topic": record["topic"],
        "reason": reason.decode() if reason else None,
        _DEAD_LETTER: True,
    }


def _newest(rows: Sequence[Row], plan: UnitTestPlan) -> tuple[Row, ...]:
    """Return the newest row of each key; all rows if there are no keys."""
    keys = keys_of(plan)
    if not keys:
        return tuple(rows)
    newest: dict[str, Row] = {}
    for row in rows:
        key = repr([row.get(name) for name in keys])
        newest.pop(key, None)
        newest[key] = row
    return tuple(newest.values())


def keys_of(plan: UnitTestPlan) -> tuple[str, ...]:
    """Return the columns that identify the rows of an upsert relation."""
    if plan.output.materialization.at_rest:
        return plan.output.keys
    if plan.traits.mode != "upsert":
        return ()
    return plan.output.keys or plan.traits.keys
