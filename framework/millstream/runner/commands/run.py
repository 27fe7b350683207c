"""Keeps the queries of a job running until they are stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from millstream.broker import revive_broker
from millstream.deployment.choosing import choose_queries
from millstream.deployment.stages import Refuse, Reset, Stage, Start, chain
from millstream.errors import MillstreamError
from millstream.kafka.clients import admin_of
from millstream.physical.values import Query
from millstream.runner.checkpoints.deployed import write_manifest
from millstream.runner.commands.clock import Clock, spark_time
from millstream.runner.commands.consumer_offsets import Commits
from millstream.runner.commands.order import needs
from millstream.runner.commands.supervisor import AT_ONCE, SupervisedQuery
from millstream.runner.deployment.prepare import check_record
from millstream.runner.deployment.stages import begin, planned, update_lock
from millstream.runner.engine import Engine, engine
from millstream.runner.queries.realtime import check_slots, partitions_of
from millstream.runner.queries.triggers import RealTime, trigger_of
from millstream.runner.spark.machine import collections, heap, resident
from millstream.runner.spark.session import jvm_lost, lost
from millstream.runner.values import Ends, Job, Machine, Setup, Tell

_log = logging.getLogger(__name__)
CHECK = 1.0
"""Seconds between two checks of the broker on this machine."""
LAG = 5.0
"""Seconds between two checks of where topics end."""
DRAIN = 30.0
"""Seconds for running batches to end when the run stops."""


Alongside = Callable[[SparkSession], None]
"""Work in a thread of its own while queries run, until the run stops."""


def run(
    job: Job,
    folder: Path,
    tell: Tell,
    stopping: threading.Event,
    spark: SparkSession | None = None,
    alongside: Sequence[Alongside] = (),
) -> None:
    """Run the models of a job until `stopping` is set; logs go to `folder`."""
    job = replace(job, trigger=job.project.target.settings.get("trigger") or None)
    requested = choose_queries(job.physical.queries, job.models)
    with engine(job, requested, folder, tell, spark, long_running=True) as running:
        queries = choose_queries(running.job.physical.queries, job.models)
        deployment = planned(running, queries)
        _check(running, queries, deployment)
        begin(running, queries, deployment)
        update_lock(running, {query.name for query in queries})
        if job.models is None:
            write_manifest(running.files, running.checkpoints, job.manifest)
        supervised = _supervise(running, queries, deployment, stopping)
        threads = [
            threading.Thread(target=work, args=(running.spark,), name="alongside", daemon=True)
            for work in alongside
        ]
        for thread in threads:
            thread.start()
        try:
            _wait(running, supervised, stopping)
        finally:
            stopping.set()
            _stop_all(SupervisedQuery.stop, supervised)
            for thread in threads:
                thread.join(DRAIN)


def _read(queries: Iterable[Query]) -> set[str]:
    return {source.topic for query in queries for source in query.sources if source.topic}


def _wait(running: Engine, supervised: Collection[SupervisedQuery], stopping: threading.Event) -> None:
    """Wait until the run stops; meanwhile, restart the broker of this machine if it dies."""
    root = Path(running.job.project.root)
    topics = _read(each.query for each in supervised)
    clock, checked = Clock(partial(spark_time, running.spark)), 0.0
    while not stopping.wait(CHECK):
        if (code := lost()) is not None:
            for each in supervised:
                each.lose()
            raise MillstreamError(jvm_lost(code, running.log))
        try:
            back = clock.went_back()
        except (Py4JError, OSError) as error:
            if lost(error) is None:
                raise
            continue  # the JVM died since
        if back:
            note = f"set back by {back:,.0f} s; restarting queries, since Spark would wait that long"
            running.tell(Setup("clock", note, done=True))
            _stop_all(SupervisedQuery.pause, supervised)
        if running.kafka.cluster.embedded and revive_broker(root):
            running.tell(Setup("broker", "died; restarted", done=True))
        if time.monotonic() - checked > LAG:
            _tell_ends(running, topics)
            _tell_machine(running)
            checked = time.monotonic()


def _tell_machine(running: Engine) -> None:
    try:
        running.tell(Machine(heap(running.spark), collections(running.spark), resident()))
    except (Py4JError, OSError) as error:
        if lost(error) is None:  # otherwise the next check reports it
            raise


def _tell_ends(running: Engine, topics: Collection[str]) -> None:
    try:
        running.tell(Ends(running.kafka.held(topics)))
    except MillstreamError as error:
        # If Kafka does not answer, the queries report it.
        _log.debug("could not read where topics end: %s", error)


def _check(running: Engine, queries: Sequence[Query], deployment: Sequence[Stage]) -> None:
    """Refuse to start before anything runs, and report all problems."""
    problems = [stage.problem for stage in deployment if isinstance(stage, Refuse)]
    continuing = {stage.query for stage in deployment if isinstance(stage, Start | Refuse)}
    fresh = {stage.query for stage in deployment if isinstance(stage, Reset)}
    for query in queries:
        if query.name in continuing - fresh:
            try:
                check_record(running, query, running.record(query))
            except MillstreamError as error:
                problems += error.diagnostics
    if problems:
        raise MillstreamError(*problems)


def _supervise(
    running: Engine, queries: Sequence[Query], deployment: Sequence[Stage], stopping: threading.Event
) -> Collection[SupervisedQuery]:
    trigger = trigger_of(running.job.trigger)
    ends = running.kafka.held(_read(queries))
    if isinstance(trigger, RealTime):
        counts = {topic: len(numbers) for topic, numbers in ends.items()}
        eligible = [query for query in queries if not query.realtime]
        check_slots(running.spark, [(query, partitions_of(query, counts)) for query in eligible])
    commits = Commits(admin_of(running.kafka.cluster), running.job.project.settings.name)
    gate = threading.Semaphore(AT_ONCE)
    supervised = {
        query.name: SupervisedQuery(
            running, query, chain(deployment, query.name), trigger, ends, commits, stopping, gate
        )
        for query in queries
    }
    upstream = needs(queries)
    for name, each in supervised.items():
        each.start([supervised[other] for other in sorted(upstream[name])])
    return supervised.values()


def _stop_all(stop: Callable[[SupervisedQuery, float], None], supervised: Iterable[SupervisedQuery]) -> None:
    """Stop queries in parallel; each may complete its batch."""
    deadline = time.monotonic() + DRAIN
    threads = [threading.Thread(target=stop, args=(each, deadline)) for each in supervised]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
