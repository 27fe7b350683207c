"""Runs every query over the records that the topics hold now, in the order of the graph."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from msgspec.structs import replace
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.deploy.checkpoints.applied import LastApply
from millstream.deploy.checkpoints.deployed import write_manifest
from millstream.deploy.checkpoints.files import last_begun, last_done, read_up_to, write_record
from millstream.deploy.checkpoints.state_figures import write_figures
from millstream.deploy.engine import Engine, start_engine
from millstream.deploy.live.query_order import run_in_order, upstream_queries
from millstream.deploy.planning.query_selection import choose_queries
from millstream.deploy.planning.stages import (
    Continue,
    Create,
    ReplaceRange,
    Reset,
    Stage,
    Start,
    Swap,
    rebuilt_queries,
    stages_of_query,
)
from millstream.deploy.stages.clean_up import clean_up_sources
from millstream.deploy.stages.execute import begin_stages, end_stages, stages_of_queries, stages_of_restart
from millstream.deploy.stages.failed_models import isolate_failures, leave_out
from millstream.deploy.stages.prepare import prepare_query
from millstream.deploy.stages.rebuild import swap_rebuilt
from millstream.deploy.stages.replace_range import replace_ranges
from millstream.deploy.values import Job, LeftOut, QueryProgress, QueryStarted, RunEnded, Tell
from millstream.engine.queries.failures import is_slow_start
from millstream.engine.queries.query_results import QueryResult, RecordCounts, rows_of_states, sum_of_states
from millstream.engine.queries.row_tests import CountsByBatch
from millstream.engine.queries.shared_reads import SharedRead
from millstream.engine.queries.spark_progress import batch_of
from millstream.engine.queries.start import start_query
from millstream.queries.values import Query
from millstream.results.run_results import RunResults, TableChanges
from millstream.runner.commands.model_results import (
    BuildOutcome,
    BuildStart,
    nothing_built,
    results_of,
    single_writer_topics,
)
from millstream.runner.commands.read_together import shared_reads, side_by_side
from millstream.runner.commands.watch import CompletedBatches, watch_query
from millstream.sources.positions import records_by_relation

AT_ONCE = 2
"""Queries at a time: while the JVM plans one query, the tasks of the other use the cores."""
_STARTS = 3
"""How often a query is started if the machine is too busy for its Python workers."""


class BuildTests(Protocol):
    """What is tested around a build, while its Spark runs."""

    def before(self) -> bool:
        """Test before any model is built; return whether to go on."""

    def built(self, query: str, models: frozenset[NodeId], /) -> None:
        """Test models that a query has stored; called from several threads."""

    def after(self, results: RunResults, /) -> None: ...


class _NoTests:
    def before(self) -> bool:
        return True

    def built(self, _query: str, _models: frozenset[NodeId]) -> None:
        pass

    def after(self, _results: RunResults) -> None:
        pass


def build_models(
    job: Job, folder: Path, tell: Tell, spark: SparkSession | None = None, tests: BuildTests | None = None
) -> RunResults:
    """Build the models of a job, in a given Spark session or a new one; logs go to `folder`."""
    tests = tests or _NoTests()
    began = BuildStart.now()
    with ExitStack() as stack:
        requested = choose_queries(job.physical.queries, job.models)
        engine = stack.enter_context(start_engine(job, requested, folder, tell, spark))
        queries = choose_queries(engine.job.physical.queries, job.models)
        if not tests.before():
            return results_of(job, began, queries, nothing_built(queries))
        deployment = stages_of_queries(engine, queries)
        applied = begin_stages(engine, queries, deployment)
        queries = [query for query in queries if stages_of_query(deployment, query.name)]
        started: list[StreamingQuery] = []
        ends = engine.kafka.ends(single_writer_topics(queries))
        failed: set[NodeId] = set()
        waits = upstream_queries(queries)
        plain = [query for query in queries if _is_plain(stages_of_query(deployment, query.name))]
        ordered, after, shared = side_by_side(queries, waits, shared_reads(job, plain, engine.spark))
        together = {name: pair for pair in shared for name in (pair.host, pair.guest)}

        def work(query: Query) -> QueryResult:
            pair = together.get(query.name)
            try:
                return run_and_test(query, pair)
            finally:
                if pair is not None:
                    pair.part()

        def run_and_test(query: Query, pair: SharedRead | None) -> QueryResult:
            if causes := sorted(failed.intersection(source.relation for source in query.sources)):
                return _skipped(engine, query, [cause.name for cause in causes])
            stages = stages_of_query(deployment, query.name)
            result = _run(engine, query, stages, started, applied, pair)
            result = _with_ranges(engine, query, stages, result)
            failed.update(result.left_out)
            # What is swapped together with others is not there yet.
            if result.status == "success" and (not rebuilt_queries(stages) or Swap((query.name,)) in stages):
                tests.built(query.name, frozenset(query.stored) - result.left_out.keys())
            engine.tell(RunEnded(result))
            return result

        def skip(query: Query, causes: frozenset[str]) -> QueryResult:
            if query.name in together:
                together[query.name].part()
            return _skipped(engine, query, [q.title for q in queries if q.name in causes])

        def stop() -> None:
            for pair in shared:
                pair.part()
            _stop(engine, started)

        outcomes = run_in_order(
            ordered,
            waits,
            after,
            work,
            skip,
            lambda result: result.status != "success",
            AT_ONCE,
            stop,
        )
        succeeded = all(result.status == "success" for result in outcomes.values())
        end_stages(
            engine,
            deployment,
            [name for name, result in outcomes.items() if result.status != "skipped"],
            succeeded=succeeded,
        )
        clean_up_sources(engine)
        if succeeded and job.models is None:
            write_manifest(engine.files, engine.checkpoints, job.manifest)
        written = _written(engine, ends)
        # Without tests, and without the class cache for the next start.
        results = results_of(job, began, queries, BuildOutcome(outcomes, written))
        tests.after(results)
        return results


def _with_ranges(engine: Engine, query: Query, stages: Sequence[Stage], result: QueryResult) -> QueryResult:
    """Replace the ranges of a query's tables, if it has read all that there was."""
    for stage in stages:
        if isinstance(stage, ReplaceRange) and result.status == "success":
            try:
                replace_ranges(engine, query, stage)
            except Exception as error:  # noqa: BLE001 -- whatever fails in a query, the others go on
                return replace(result, status="error", diagnostic=engine.diagnostic(query, error))
    return result


def _written(engine: Engine, before: Mapping[str, int]) -> dict[str, int]:
    """Return how many records each topic received; empty if Kafka does not answer, since all work is done."""
    try:
        written = {topic: end - before[topic] for topic, end in engine.kafka.ends(before).items()}
    except MillstreamError:
        return {}
    # The ends of transactions have offsets, too.
    return written | {topic: count for topic, count in engine.sent_exactly_once().items() if topic in before}


def _is_plain(stages: Sequence[Stage]) -> bool:
    return all(isinstance(stage, Reset | Create | Continue | Start) for stage in stages)


def _stop(engine: Engine, started: list[StreamingQuery]) -> None:
    for streaming in list(started):
        streaming.stop()
    engine.spark.sparkContext.cancelAllJobs()  # a backfill is not a streaming query that can be stopped


class _Try:
    """What one attempt to run a query has done, also if it failed."""

    def __init__(self, query: Query) -> None:
        self.seen = CompletedBatches({read.stream: read.relation for read in query.topic_reads})
        self.counts = RecordCounts()
        self.changes = TableChanges()
        self.checkpoint = ""
        self.backfilled: dict[NodeId, dict[NodeId, int]] = {}


def _sum(query: Query, total: QueryResult, tried: _Try) -> QueryResult:
    """Add the completed batches of an attempt, after which the query runs without some models."""
    reads = Counter(total.reads) + Counter(tried.seen.reads)
    return replace(
        total,
        rows=total.rows + tried.seen.rows,
        reads=dict(reads),
        counts=total.counts + tried.counts,
        expired=sum_of_states((*total.expired, *rows_of_states(query, tried.seen.expired))),
        late=sum_of_states((*total.late, *rows_of_states(query, tried.seen.late))),
        duplicates=sum_of_states((*total.duplicates, *rows_of_states(query, tried.seen.duplicates))),
    )


def _run(
    engine: Engine,
    query: Query,
    stages: Sequence[Stage],
    started: list[StreamingQuery],
    applied: LastApply | None,
    shared: SharedRead | None,
) -> QueryResult:
    """Run a query; run it again if models fail on their own, without them, or if workers start too slowly."""
    engine.tell(QueryStarted(query))
    began = time.monotonic()
    left_out: dict[NodeId, Diagnostic] = {}
    total = QueryResult(query.name, "success")
    slow_starts = 0
    while True:
        tried = _Try(query)
        try:
            result = _once(engine, query, stages, started, left_out, applied, tried, shared)
            break
        except Exception as error:  # noqa: BLE001 -- whatever fails in a query, the others go on
            if shared is not None:
                shared.part()
            if (
                is_slow_start(error)
                and not rebuilt_queries(stages)
                and (slow_starts := slow_starts + 1) < _STARTS
            ):
                total, stages = _sum(query, total, tried), stages_of_restart(engine, query)
                continue
            failing = (
                {}
                if rebuilt_queries(stages)
                else isolate_failures(engine, leave_out(engine, query, left_out))
            )
            for model, diagnostic in failing.items():
                engine.tell(LeftOut(query.name, model, diagnostic))
            if not failing:
                failed = unfinished_batch(engine, query, tried.checkpoint) if tried.checkpoint else {}
                result = QueryResult(
                    query.name,
                    "error",
                    tried.seen.rows,
                    diagnostic=engine.diagnostic(query, error),
                    reads=tried.seen.reads,
                    counts=tried.counts,
                    failed=failed,
                    backfilled=tried.backfilled,
                    expired=rows_of_states(query, tried.seen.expired),
                    late=rows_of_states(query, tried.seen.late),
                    duplicates=rows_of_states(query, tried.seen.duplicates),
                )
                break
            total = _sum(query, total, tried)
            left_out |= failing
            stages = stages_of_restart(engine, query)
    if total.rows:
        result = replace(
            result,
            rows=result.rows + total.rows,
            reads=dict(Counter(total.reads) + Counter(result.reads)),
            counts=total.counts + result.counts,
            expired=sum_of_states((*total.expired, *result.expired)),
            late=sum_of_states((*total.late, *result.late)),
            duplicates=sum_of_states((*total.duplicates, *result.duplicates)),
        )
    return replace(result, seconds=round(time.monotonic() - began, 3))


def _once(
    engine: Engine,
    query: Query,
    stages: Sequence[Stage],
    started: list[StreamingQuery],
    left_out: dict[NodeId, Diagnostic],
    applied: LastApply | None,
    tried: _Try,
    shared: SharedRead | None,
) -> QueryResult:
    prepared, context = prepare_query(engine, query, stages, left_out, applied)
    context = replace(context, shared=shared)
    tried.checkpoint, tried.backfilled = context.checkpoint, dict(context.backfilled)
    streaming = start_query(engine.spark, prepared, context, availableNow=True)
    started.append(streaming)
    try:
        watch_query(streaming, tried.seen, lambda rows: engine.tell(QueryProgress(query.name, rows)))
    except PySparkException:
        if context.stores.raised:  # Spark passes on only its text
            raise context.stores.raised[-1] from None
        raise
    finally:
        tried.counts = tried.seen.counts + context.stores.counted.all()
        tried.changes = context.stores.counted.changes()
        if shared is not None:
            shared.part()
        streaming.stop()
    if Swap((query.name,)) in stages:
        swap_rebuilt(engine, query)
    record = engine.record(query)
    if record is not None and record.tombstones == "first" and not rebuilt_queries(stages):
        record = replace(record, tombstones="needed")
        write_record(engine.files, engine.checkpoint(query), record)
    if (last := streaming.lastProgress) is not None and record is not None:
        batch = batch_of(last, CountsByBatch())
        write_figures(engine.files, engine.checkpoint(query), record, batch, tried.seen.restored)
    return QueryResult(
        query.name,
        "success",
        tried.seen.rows,
        reads=tried.seen.reads,
        counts=tried.counts,
        backfilled=tried.backfilled,
        expired=rows_of_states(query, tried.seen.expired),
        late=rows_of_states(query, tried.seen.late),
        duplicates=rows_of_states(query, tried.seen.duplicates),
        changes=tried.changes if query.maintaining is not None else None,
        left_out=left_out | dict(context.left_out),
    )


def _skipped(engine: Engine, query: Query, causes: Iterable[str]) -> QueryResult:
    result = QueryResult(query.name, "skipped", message=f"it reads {', '.join(causes)}, which failed")
    engine.tell(RunEnded(result))
    return result


def unfinished_batch(engine: Engine, query: Query, checkpoint: str) -> dict[NodeId, int]:
    """Return how many records of each source or model the batch reads; empty if no batch is unfinished."""
    begun, done = last_begun(engine.files, checkpoint), last_done(engine.files, checkpoint)
    if begun is None or begun == done:
        return {}
    ends = read_up_to(engine.files, checkpoint, begun, query.streams)
    starts = read_up_to(engine.files, checkpoint, done, query.streams) if done is not None else {}
    if ends is None or starts is None:
        return {}
    try:
        record = engine.record(query)
        ranges = engine.ranges(query, starts, ends, record.histories if record is not None else {})
    except MillstreamError:
        return {}  # Kafka does not answer, which is why the query failed
    return records_by_relation(query.relations, ranges)
