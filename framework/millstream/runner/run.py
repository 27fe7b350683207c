"""The same queries as of a build, kept running until they are asked to stop."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from pathlib import Path

from msgspec.structs import replace
from pyspark.sql import SparkSession

from millstream.broker import revive
from millstream.deployment.choosing import chosen
from millstream.deployment.stages import Refuse, Reset, Stage, Start, chain
from millstream.errors import MillstreamError
from millstream.kafka.clients import admin_of
from millstream.physical.values import Query
from millstream.runner.clock import Clock, spark_time
from millstream.runner.committing import Commits
from millstream.runner.deployed import keep_manifest
from millstream.runner.deploying import begin, keep_lock, planned
from millstream.runner.engine import Engine, engine
from millstream.runner.failures import jvm_lost
from millstream.runner.keeping import AT_ONCE, Kept
from millstream.runner.order import needs
from millstream.runner.preparing import check_record
from millstream.runner.realtime import check_slots, partitions_of
from millstream.runner.session import lost
from millstream.runner.triggers import RealTime, trigger_of
from millstream.runner.values import Ends, Job, Setup, Tell

_log = logging.getLogger(__name__)
LOOK = 1.0
"""Seconds between two looks at the broker of this machine."""
LAG = 5.0
"""Seconds between two looks at how far topics go."""
DRAIN = 30.0
"""Seconds that the batches have to end in when the run is to stop."""


def run(
    job: Job, folder: Path, tell: Tell, stopping: threading.Event, spark: SparkSession | None = None
) -> None:
    """Run what a job asks for until `stopping` is set; `folder` takes logs."""
    job = replace(job, trigger=job.project.target.settings.get("trigger") or None)
    wanted = chosen(job.physical.queries, job.models)
    with engine(job, wanted, folder, tell, spark, lasting=True) as running:
        queries = chosen(running.job.physical.queries, job.models)
        deployment = planned(running, queries)
        _check(running, queries, deployment)
        begin(running, queries, deployment)
        keep_lock(running, {query.name for query in queries})
        if job.models is None:
            keep_manifest(running.files, running.checkpoints, job.manifest)
        kept = _kept(running, queries, deployment, stopping)
        try:
            _wait(running, kept.values(), stopping)
        finally:
            stopping.set()
            _each(Kept.stop, kept.values())


def _read(queries: Iterable[Query]) -> set[str]:
    return {source.topic for query in queries for source in query.sources if source.topic}


def _wait(running: Engine, kept: Collection[Kept], stopping: threading.Event) -> None:
    """Wait until the run is to stop; on this machine, nobody else would start a broker that died."""
    root = Path(running.job.project.root)
    topics = _read(each.query for each in kept)
    clock, looked = Clock(partial(spark_time, running.spark)), 0.0
    while not stopping.wait(LOOK):
        if (code := lost()) is not None:
            for each in kept:
                each.lose()
            raise MillstreamError(jvm_lost(code, running.log))
        if back := clock.went_back():
            said = f"it was set back by {back:,.0f} s, and Spark would wait so long: the queries start again"
            running.tell(Setup("clock", said, done=True))
            _each(Kept.pause, kept)
        if running.kafka.cluster.embedded and revive(root):
            running.tell(Setup("broker", "it died, and is started again", done=True))
        if time.monotonic() - looked > LAG:
            _tell_ends(running, topics)
            looked = time.monotonic()


def _tell_ends(running: Engine, topics: Collection[str]) -> None:
    try:
        running.tell(Ends(running.kafka.held(topics)))
    except MillstreamError as error:
        # The queries tell of a Kafka that does not answer.
        _log.debug("where topics end is not known: %s", error)


def _check(running: Engine, queries: Sequence[Query], deployment: Sequence[Stage]) -> None:
    """Refuse to start before anything runs, with all that is wrong."""
    problems = [stage.problem for stage in deployment if isinstance(stage, Refuse)]
    going_on = {stage.query for stage in deployment if isinstance(stage, Start | Refuse)}
    fresh = {stage.query for stage in deployment if isinstance(stage, Reset)}
    for query in queries:
        if query.name in going_on - fresh:
            try:
                check_record(running, query, running.record(query))
            except MillstreamError as error:
                problems += error.diagnostics
    if problems:
        raise MillstreamError(*problems)


def _kept(
    running: Engine, queries: Sequence[Query], deployment: Sequence[Stage], stopping: threading.Event
) -> dict[str, Kept]:
    trigger = trigger_of(running.job.trigger)
    ends = running.kafka.held(_read(queries))
    if isinstance(trigger, RealTime):
        counts = [(topic, len(numbers)) for topic, numbers in ends.items()]
        eligible = [query for query in queries if not query.realtime]
        check_slots(running.spark, [(query, partitions_of(query, counts)) for query in eligible])
    commits = Commits(admin_of(running.kafka.cluster), running.job.project.settings.name)
    gate = threading.Semaphore(AT_ONCE)
    kept = {
        query.name: Kept(
            running, query, chain(deployment, query.name), trigger, ends, commits, stopping, gate
        )
        for query in queries
    }
    wanted = needs(queries)
    for name, each in kept.items():
        each.start([kept[other] for other in sorted(wanted[name]) if other in kept])
    return kept


def _each(stop: Callable[[Kept, float], None], kept: Iterable[Kept]) -> None:
    """Stop queries, all at once; each may end its batch."""
    deadline = time.monotonic() + DRAIN
    threads = [threading.Thread(target=stop, args=(each, deadline)) for each in kept]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
