"""Keeps the queries of a job running until they are stopped."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.checkpoints.deployed import write_manifest
from millstream.deploy.engine import Engine, start_engine
from millstream.deploy.handover.channel import RunConnection, listen_for_requests, run_of
from millstream.deploy.handover.request_handler import RequestHandler
from millstream.deploy.handover.values import NewTopicsRequest, RequestRefused
from millstream.deploy.live.function_logs import driver_addresses, receive_logs
from millstream.deploy.live.live_queries import DRAIN, INTERRUPTED, LiveQueries
from millstream.deploy.matched_topics import match_job
from millstream.deploy.planning.query_selection import choose_queries
from millstream.deploy.planning.stages import Refuse, Reset, Stage, Start
from millstream.deploy.shared_target import TargetSharing
from millstream.deploy.stages.clean_up import clean_up_sources
from millstream.deploy.stages.execute import begin_stages, stages_of_queries, update_lock
from millstream.deploy.stages.prepare import check_record
from millstream.deploy.values import DiagnosticEvent, Job, MachineUsage, SetupStep, Tell, TopicEnds
from millstream.engine.spark.jvm_process import end_jvm
from millstream.engine.spark.session import jvm_lost, lost_jvm
from millstream.kafka.clients import admin_of
from millstream.kafka.registry.local import revive_registry
from millstream.local.broker import revive_broker
from millstream.project.contents import with_contents
from millstream.project.values import is_local
from millstream.queries.values import Query

_log = logging.getLogger(__name__)
CHECK = 1.0
"""Seconds between two checks of the servers on this machine."""
TOPICS = 10.0
"""Seconds between two checks whether topics match the pattern of a source that it does not read yet."""
CLEAN_UP = 60.0
"""Seconds between two times at which files that were read are removed, of sources that say so."""
LAG = 5.0
"""Seconds between two checks of where topics end."""


Alongside = Callable[[SparkSession], None]
"""Work in a thread of its own while queries run, until the run stops."""


def run_models(
    job: Job,
    folder: Path,
    tell: Tell,
    stopping: threading.Event,
    spark: SparkSession | None = None,
    alongside: Sequence[Alongside] = (),
) -> None:
    """Run the models of a job until `stopping` is set; logs go to `folder`."""
    trigger = job.project.target.settings.get("trigger") or None
    job = replace(job, project=with_contents(job.project), trigger=trigger)
    requested = choose_queries(job.physical.queries, job.models)
    owned = spark is None and is_local(job.project.target)
    with (
        _ending_in_time(stopping) if owned else nullcontext(),
        start_engine(job, requested, folder, tell, spark, endless=True) as engine,
        receive_logs(*driver_addresses(engine.spark), tell) as log,
    ):
        live = LiveQueries(replace(engine, function_log=log))
        _keep_running(live, stopping, alongside)


@contextmanager
def _ending_in_time(stopping: threading.Event) -> Iterator[None]:
    """Kill Spark's JVM if the run has not ended in time once it is stopped.

    What Spark plans can't be interrupted, and a JVM without memory answers nothing. Checkpoints allow for its
    end at any time.
    """
    ended = threading.Event()

    def watch() -> None:
        stopping.wait()
        if not ended.wait(DRAIN + INTERRUPTED):
            end_jvm()

    threading.Thread(target=watch, name="ending", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _keep_running(live: LiveQueries, stopping: threading.Event, alongside: Sequence[Alongside]) -> None:
    engine = live.running
    job = engine.job
    sharing = engine.sharing
    queries = choose_queries(job.physical.queries, job.models) if sharing is None else sharing.queries(job)
    if sharing is not None:
        sharing.take(queries)
    deployment = stages_of_queries(engine, queries)
    if sharing is not None:
        sharing.check(deployment)
    _check(engine, queries, deployment)
    begin_stages(engine, queries, deployment)
    update_lock(engine, {query.name for query in queries})
    if job.models is None:
        write_manifest(engine.files, engine.checkpoints, job.manifest)
    threads = [
        threading.Thread(target=work, args=(engine.spark,), name="alongside", daemon=True)
        for work in alongside
    ]
    # An apply would change a deployment that other runs share.
    handle = RequestHandler(live, stopping)
    target, root = job.project.target, Path(job.project.root)
    with listen_for_requests(target, root, handle) if sharing is None else nullcontext():
        try:
            live.start(queries, deployment)
            if sharing is not None:
                sharing.setup.close()
            cleaning = threading.Thread(target=_clean_up, args=(live, stopping), name="clean-up", daemon=True)
            threads.append(cleaning)
            for thread in threads:
                thread.start()
            _wait(live, stopping)
        finally:
            stopping.set()
            deadline = time.monotonic() + DRAIN
            engine.tell(SetupStep("stopping", f"running batches may end, for up to {DRAIN:.0f} s", done=True))
            live.end()
            for thread in threads:
                thread.join(max(0.0, deadline - time.monotonic()))


def _clean_up(live: LiveQueries, stopping: threading.Event) -> None:
    """Remove files that were read, now and then until the run stops; warn once of what prevents it."""
    warned: list[Diagnostic] = []
    while not stopping.wait(CLEAN_UP):
        try:
            warned = clean_up_sources(live.running, warned)
        except Py4JError as error:
            if lost_jvm(error) is None:  # otherwise the run reports it
                raise


def _wait(live: LiveQueries, stopping: threading.Event) -> None:
    """Wait until the run stops; meanwhile, restart this machine's broker and registry if they die."""
    engine = live.running
    root = Path(engine.job.project.root)
    reported: set[str] = set()
    clock, checked, matched = Clock(partial(spark_time, engine.spark)), 0.0, time.monotonic()
    while not stopping.wait(CHECK):
        if (code := lost_jvm()) is not None:
            live.lose()
            raise MillstreamError(jvm_lost(code, engine.log))
        if live.failure is not None:
            raise live.failure
        try:
            back = clock.went_back()
        except (Py4JError, OSError) as error:
            if lost_jvm(error) is None:
                raise
            continue  # the JVM died since
        if back:
            note = f"set back by {back:,.0f} s; restarting queries, since Spark would wait that long"
            engine.tell(SetupStep("clock", note, done=True))
            threading.Thread(target=live.pause, name="clock", daemon=True).start()
        if engine.kafka.cluster.embedded and revive_broker(root):
            engine.tell(SetupStep("broker", "died; restarted", done=True))
        if engine.registry is not None and engine.registry.local and revive_registry(root):
            engine.tell(SetupStep("registry", "died; restarted", done=True))
        if time.monotonic() - checked > LAG:
            _tell_ends(engine, live.queries)
            _tell_machine(engine)
            checked = time.monotonic()
        if time.monotonic() - matched > TOPICS:
            _read_new_topics(live.running, stopping, reported)
            matched = time.monotonic()


def _read_new_topics(engine: Engine, stopping: threading.Event, reported: set[str]) -> None:
    """Let the run read topics that appeared; it is asked as commands ask it, after what they asked before.

    `reported` are topics of which a run that shares its target has reported that it does not read them yet.
    """
    if not engine.job.catalog.has_patterns:
        return
    try:
        job = match_job(engine.job, admin_of(engine.kafka.cluster))
    except MillstreamError as error:
        # If Kafka does not answer, the queries report it.
        _log.debug("could not read which topics there are: %s", error)
        return
    if engine.sharing is not None:
        _report_new_topics(engine, engine.sharing, job, reported)
        return
    new = sorted({t for query in job.physical.queries for t in query.topics_read} - _topics_of(engine))
    run = run_of(engine.job.project.target, Path(engine.job.project.root)) if new else None
    if run is None:
        return
    engine.tell(SetupStep("topics", f"{', '.join(new)} appeared; read from the start", done=True))
    threading.Thread(target=_ask, args=(run, engine.tell, stopping), name="new topics", daemon=True).start()


def _report_new_topics(engine: Engine, sharing: TargetSharing, job: Job, reported: set[str]) -> None:
    """Warn once of topics that appeared for queries of this run, which would change what others work with."""
    read = {topic for query in sharing.queries(job) for topic in query.topics_read}
    if new := sorted(read - _topics_of(engine) - reported):
        reported.update(new)
        topics = ", ".join(f"'{topic}'" for topic in new)
        message = f"{topics} appeared, and a run with --shared keeps to the topics that it began with"
        remedy = "start this run again: it reads them from their start"
        engine.tell(DiagnosticEvent(Diagnostic("MS616", message, None, remedy, severity="warning")))


def _topics_of(engine: Engine) -> set[str]:
    return {topic for query in engine.job.physical.queries for topic in query.topics_read}


def _ask(run: RunConnection, tell: Tell, stopping: threading.Event) -> None:
    try:
        refused = [a for a in run.ask(NewTopicsRequest()) if isinstance(a, RequestRefused)]
        diagnostics = [diagnostic for answer in refused for diagnostic in answer.diagnostics]
    except MillstreamError as error:
        diagnostics = [*error.diagnostics]
    for diagnostic in diagnostics if not stopping.is_set() else ():  # the next check asks again
        tell(DiagnosticEvent(replace(diagnostic, severity="warning")))


def _tell_machine(engine: Engine) -> None:
    try:
        at_once = engine.turns.at_once if engine.turns is not None else 0
        cores = engine.spark.sparkContext.defaultParallelism
        engine.tell(
            MachineUsage(
                heap_bytes(engine.spark), gc_collections(engine.spark), resident_bytes(), at_once, cores
            )
        )
    except (Py4JError, OSError) as error:
        if lost_jvm(error) is None:  # otherwise the next check reports it
            raise


def _tell_ends(engine: Engine, queries: Sequence[Query]) -> None:
    try:
        engine.tell(TopicEnds(engine.ends(queries)))
    except MillstreamError as error:
        # If Kafka does not answer, the queries report it.
        _log.debug("could not read where topics end: %s", error)


def _check(engine: Engine, queries: Sequence[Query], deployment: Sequence[Stage]) -> None:
    """Refuse to start before anything runs, and report all problems."""
    diagnostics = [stage.diagnostic for stage in deployment if isinstance(stage, Refuse)]
    continuing = {stage.query for stage in deployment if isinstance(stage, Start | Refuse)}
    fresh = {stage.query for stage in deployment if isinstance(stage, Reset)}
    for query in queries:
        if query.name in continuing - fresh:
            try:
                check_record(engine, query, engine.record(query))
            except MillstreamError as error:
                diagnostics += error.diagnostics
    if diagnostics:
        raise MillstreamError(*diagnostics)


REPORTED = 5.0
"""Seconds that it must go back to be reported: starting queries again takes longer than to wait for less."""


def spark_time(spark: SparkSession) -> float:
    """Return the time of the JVM's clock, as seconds since 1970."""
    jvm: Any = spark._jvm  # noqa: SLF001
    return float(jvm.System.currentTimeMillis()) / 1000


class Clock:
    """Compares the wall clock with a monotonic clock.

    Reading the wall clock takes long on a busy machine, so their difference is only known within bounds.
    """

    def __init__(self, wall: Callable[[], float], steady: Callable[[], float] = time.monotonic) -> None:
        self._wall = wall
        self._steady = steady
        self._least, _ = self._difference()

    def went_back(self) -> float:
        """Return how many seconds it was set back since the last call; 0 if too few to report."""
        least, most = self._difference()
        back = self._least - most
        # A reading that took long would hide a step that comes later.
        if back > REPORTED or most - least < REPORTED / 2:
            self._least = least
        return back if back > REPORTED else 0.0

    def _difference(self) -> tuple[float, float]:
        before = self._steady()
        wall = self._wall()
        return wall - self._steady(), wall - before


def heap_bytes(spark: SparkSession) -> dict[str, int]:
    used = _management(spark).getMemoryMXBean().getHeapMemoryUsage()
    return {"used": used.getUsed(), "committed": used.getCommitted(), "max": used.getMax()}


def gc_collections(spark: SparkSession) -> dict[str, tuple[int, float]]:
    """Return how often each collector ran, and for how many seconds in total."""
    beans = _management(spark).getGarbageCollectorMXBeans()
    return {
        bean.getName(): (max(0, bean.getCollectionCount()), max(0, bean.getCollectionTime()) / 1000)
        for bean in (beans[index] for index in range(len(beans)))
    }


def _management(spark: SparkSession) -> Any:
    jvm: Any = spark._jvm  # noqa: SLF001 -- there is no public API for the JVM
    return jvm.java.lang.management.ManagementFactory


def resident_bytes() -> dict[str, int]:
    """Return the resident memory of this process, its JVM and Spark's Python workers, on Linux."""
    sizes = {"python": _resident(os.getpid())}
    gateway: Any = SparkContext._gateway  # noqa: SLF001
    if getattr(gateway, "proc", None) is not None:  # otherwise spark-submit started the JVM
        java = gateway.proc.pid
        sizes["jvm"] = _resident(java)
        sizes["workers"] = sum(map(_resident, _descendants(java)))
    return {process: size for process, size in sizes.items() if size}


def _resident(process: int) -> int:
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _descendants(process: int) -> Iterator[int]:
    for child in _children(process):
        yield child
        yield from _descendants(child)


def _children(process: int) -> list[int]:
    """Return the processes that a process has started; its threads, and itself, may end meanwhile."""
    children: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            with suppress(OSError):
                children += map(int, task.read_text(encoding="ascii").split())
    return children
