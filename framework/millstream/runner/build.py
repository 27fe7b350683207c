"""Every query over what the topics hold now, in the order of the graph."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from datetime import datetime, timezone
from pathlib import Path

from msgspec.structs import replace
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.errors import MillstreamError
from millstream.physical.values import DeadLetters, Query, SinkOutput
from millstream.project.secrets import mask, secrets_in
from millstream.runner.engine import Engine, engine
from millstream.runner.failures import problem_of, told_of
from millstream.runner.order import needs, run_in_order
from millstream.runner.preparing import keep_lock, prepare, refresh
from millstream.runner.results import ModelResult, Outcome, RunResults
from millstream.runner.starting import start
from millstream.runner.values import Ended, Going, Job, Started, Tell
from millstream.runner.watch import read_of, watch

AT_ONCE = 2
"""Queries at a time: while the JVM plans one, the other one's tasks have the cores."""


def build(job: Job, folder: Path, tell: Tell, spark: SparkSession | None = None) -> RunResults:
    """Build what a job asks for, in a Spark that runs already or a new one; `folder` takes logs."""
    began, now = time.monotonic(), datetime.now(timezone.utc)
    with ExitStack() as stack:
        running = stack.enter_context(engine(job, chosen(job), folder, tell, spark))
        queries = chosen(running.job)
        if job.full_refresh:
            for query in queries:
                refresh(running, query)
        started: list[StreamingQuery] = []
        ends = running.kafka.ends(_topics(queries))
        outcomes = run_in_order(
            queries,
            needs(queries),
            lambda query: _run(running, query, tell, started),
            lambda query, causes: _skipped(query, causes, queries, tell),
            lambda outcome: outcome.status != "success",
            AT_ONCE,
            lambda: _stop(running, started),
        )
        keep_lock(running, {name for name, each in outcomes.items() if each.status != "skipped"})
        written = _written(running, ends)
        took = round(time.monotonic() - began, 3)  # without what is kept for the next start
    return RunResults(
        "build",
        job.project.settings.name,
        job.project.target.name,
        now.isoformat(timespec="seconds"),
        took,
        tuple(_results(queries, outcomes, written)),
        anew=job.full_refresh,
    )


def _topics(queries: Iterable[Query]) -> list[str]:
    """Return the topics that one model alone writes to."""
    topics = [target.topic for query in queries for target in query.outputs if isinstance(target, SinkOutput)]
    return [topic for topic in topics if topics.count(topic) == 1]


def chosen(job: Job) -> list[Query]:
    """Return the queries of the models that are asked for, and those that keep what these look up."""
    if job.models is None:
        return list(job.physical.queries)
    found = [query for query in job.physical.queries if job.models.intersection(query.models)]
    read = {read.relation for query in found for read in query.reads}
    kept = [q for q in job.physical.queries if read.intersection(q.models) and q not in found]
    return [q for q in kept if any(model.startswith("source.") for model in q.models)] + found


def _written(running: Engine, before: Mapping[str, int]) -> dict[str, int]:
    """Return how many records came into each topic; nothing where Kafka does not answer: all is done."""
    try:
        return {topic: end - before[topic] for topic, end in running.kafka.ends(before).items()}
    except MillstreamError:
        return {}


def _stop(running: Engine, started: list[StreamingQuery]) -> None:
    for each in list(started):
        each.stop()
    running.spark.sparkContext.cancelAllJobs()  # a backfill is no query that could be stopped


def _run(running: Engine, query: Query, tell: Tell, started: list[StreamingQuery]) -> Outcome:
    tell(Started(query))
    began = time.monotonic()

    def took() -> float:
        return round(time.monotonic() - began, 3)

    try:
        around = prepare(running, query)
        streaming = start(running.spark, query, around, availableNow=True)
        started.append(streaming)
        try:
            rows, batches, counts = watch(streaming, lambda rows: tell(Going(query.name, rows)))
            reads = read_of(streaming, {each.topic: each.relation for each in query.sources if each.topic})
        finally:
            streaming.stop()
        outcome = Outcome(
            query.name, "success", rows, batches, took(),
            reads=reads, counts=counts, backfilled=around.backfilled,
        )  # fmt: skip
    except (MillstreamError, PySparkException, Py4JError, OSError) as error:
        problem = problem_of(told_of(query), error, str(running.log))
        secrets = secrets_in(running.job.project.target.settings)
        problem = replace(problem, message=mask(problem.message, secrets))
        outcome = Outcome(query.name, "error", seconds=took(), problem=problem)
    tell(Ended(outcome))
    return outcome


def _skipped(query: Query, causes: frozenset[str], queries: Iterable[Query], tell: Tell) -> Outcome:
    failed = ", ".join(told_of(each) for each in queries if each.name in causes)
    outcome = Outcome(query.name, "skipped", message=f"{failed} failed, and it reads that")
    tell(Ended(outcome))
    return outcome


def _results(
    queries: Iterable[Query], outcomes: Mapping[str, Outcome], written: Mapping[str, int]
) -> Iterable[ModelResult]:
    for query in queries:
        outcome = outcomes[query.name]
        for target in query.outputs:
            if isinstance(target, DeadLetters):
                continue
            # What a backfill sent was not made of what the query has read now.
            backfilled = target.model in outcome.backfilled
            left_out = outcome.counts.of({target.model, *(each.relation for each in query.sources)})
            yield ModelResult(
                target.model,
                outcome.status,
                query.name,
                outcome.rows,
                outcome.seconds,
                outcome.problem.message if outcome.problem else outcome.message,
                outcome.reads,
                written.get(target.topic) if isinstance(target, SinkOutput) and not backfilled else None,
                left_out.skipped,
                left_out.dead_letters,
            )
