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
from millstream.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import admin_of
from millstream.physical.values import Query
from millstream.runner.choosing import chosen
from millstream.runner.clock import Clock, spark_time
from millstream.runner.committing import Commits
from millstream.runner.deployed import keep_manifest
from millstream.runner.engine import Engine, engine
from millstream.runner.failures import jvm_lost
from millstream.runner.keeping import AT_ONCE, Kept
from millstream.runner.order import needs
from millstream.runner.preparing import check, keep_lock, refresh
from millstream.runner.realtime import check_slots, partitions_of
from millstream.runner.rebuilding import to_rebuild
from millstream.runner.session import lost
from millstream.runner.triggers import RealTime, trigger_of
from millstream.runner.values import Ends, Job, Stage, Tell

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
    with engine(job, chosen(job), folder, tell, spark, lasting=True) as running:
        queries = chosen(running.job)
        if job.full_refresh:
            for query in queries:
                refresh(running, query)
        anew = to_rebuild(running, queries)
        _check(running, [query for query in queries if query.name not in anew])
        keep_lock(running, {query.name for query in queries})
        if job.models is None:
            keep_manifest(running.files, running.checkpoints, job.manifest)
        kept = _kept(running, queries, anew, stopping)
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
            running.tell(Stage("clock", said, done=True))
            _each(Kept.pause, kept)
        if running.kafka.cluster.embedded and revive(root):
            running.tell(Stage("broker", "it died, and is started again", done=True))
        if time.monotonic() - looked > LAG:
            _tell_ends(running, topics)
            looked = time.monotonic()


def _tell_ends(running: Engine, topics: Collection[str]) -> None:
    try:
        running.tell(Ends(running.kafka.held(topics)))
    except MillstreamError as error:
        # The queries tell of a Kafka that does not answer.
        _log.debug("where topics end is not known: %s", error)


def _check(running: Engine, queries: Sequence[Query]) -> None:
    """Refuse to start before anything runs, with all that is wrong."""
    problems: list[Diagnostic] = []
    for query in queries:
        try:
            check(running, query)
        except MillstreamError as error:
            problems += error.diagnostics
    if problems:
        raise MillstreamError(*problems)


def _kept(
    running: Engine, queries: Sequence[Query], anew: Collection[str], stopping: threading.Event
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
        query.name: Kept(running, query, trigger, ends, commits, stopping, gate, anew=query.name in anew)
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
