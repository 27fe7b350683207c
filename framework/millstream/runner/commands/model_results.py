"""The results of a build, model by model."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timezone

from msgspec import Struct

from millstream.deploy.planning.intents import FullRefresh
from millstream.deploy.values import Job
from millstream.engine.queries.query_results import QueryResult, of_model
from millstream.engine.queries.record_outcomes import counts_of, fates_of, rows_of_table
from millstream.queries.values import ModelOutput, Query
from millstream.results.run_results import ModelResult, RunResults, TableChanges


class BuildStart(Struct, frozen=True):
    """When a build began."""

    time: datetime
    clock: float

    @classmethod
    def now(cls) -> BuildStart:
        return cls(datetime.now(timezone.utc), time.monotonic())


class BuildOutcome(Struct, frozen=True):
    """What a build did."""

    outcomes: Mapping[str, QueryResult]
    """By the name of the query."""
    written: Mapping[str, int]
    """How many records each topic with a single writer received, if that is known."""


def nothing_new(queries: Sequence[Query]) -> BuildOutcome:
    """Return what a build does if all is up to date."""
    outcomes = {
        query.name: QueryResult(
            query.name, "success", changes=None if query.maintaining is None else TableChanges()
        )
        for query in queries
    }
    return BuildOutcome(outcomes, dict.fromkeys(single_writer_topics(queries), 0))


def nothing_built(queries: Iterable[Query]) -> BuildOutcome:
    """Return what a build does if a unit test fails."""
    return BuildOutcome(
        {query.name: QueryResult(query.name, "skipped", message="a unit test failed") for query in queries},
        {},
    )


def single_writer_topics(queries: Iterable[Query]) -> list[str]:
    """Return the topics with a single writer."""
    topics = [sink.topic for query in queries for sink in query.sinks]
    return [topic for topic in topics if topics.count(topic) == 1]


def results_of(job: Job, began: BuildStart, queries: Iterable[Query], done: BuildOutcome) -> RunResults:
    return RunResults(
        "build",
        job.project.settings.name,
        job.project.target.title,
        began.time.isoformat(timespec="seconds"),
        round(time.monotonic() - began.clock, 3),
        tuple(_results(queries, done)),
        full_refresh=isinstance(job.intent, FullRefresh),
    )


def _results(queries: Iterable[Query], done: BuildOutcome) -> Iterable[ModelResult]:
    for query in queries:
        result = done.outcomes[query.name]
        for target in query.model_outputs:
            left_out = counts_of(result.counts, query, target)
            diagnostic = result.left_out.get(target.model) or result.diagnostic
            reads, failed = result.reads, result.failed
            again = result.backfilled.get(target.model, {})
            if target.model in result.left_out:
                # The other models go on without it; it reads these records when it joins the query again.
                reads, failed = dict.fromkeys(reads, 0), reads
            status = "error" if target.model in result.left_out else result.status
            written = _written(target, query, result, done)
            read = {id_: count + again.get(id_, 0) for id_, count in reads.items()}
            yield ModelResult(
                target.model,
                status,
                query.name,
                result.rows + sum(result.failed.values()) + sum(again.values()),
                result.seconds,
                diagnostic.message if diagnostic else result.message,
                reads,
                written,
                None if result.changes is None else result.changes.stored,
                result.changes,
                left_out.skipped,
                left_out.dead_letters,
                left_out.tests,
                failed,
                again,
                expired=of_model(target.model, result.expired),
                late=of_model(target.model, result.late),
                fates=fates_of(
                    target, read, written, left_out, result.duplicates, result.late, unfinished=failed
                ),
            )


def _written(target: ModelOutput, query: Query, result: QueryResult, done: BuildOutcome) -> int | None:
    match target.written_as:
        case "record":
            return done.written.get(target.topic)
        case "row" | "batch":
            return rows_of_table(target, query, result.counts)
        case "nothing":
            return None
