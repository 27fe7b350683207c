"""What all queries of a build share: Spark, the broker, topics, places of checkpoints and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import SparkSession

from millstream.broker import shared_broker
from millstream.physical.values import Query, SinkOutput, SourceRead
from millstream.project.folders import folder_name
from millstream.project.values import Target
from millstream.runner.checkpoints import read_lock
from millstream.runner.deliveries import Stores
from millstream.runner.files import Files, files_of, local_path
from millstream.runner.jars import jars_for
from millstream.runner.only import alone
from millstream.runner.session import running_spark
from millstream.runner.states import state_settings
from millstream.runner.tables import Tables
from millstream.runner.topics import Kafka, make_ready
from millstream.runner.values import Job, Stage, Tell
from millstream.tables.places import checkpoints_of
from millstream.topology import physical_of


class Engine(Struct, frozen=True, eq=False):
    job: Job
    spark: SparkSession
    kafka: Kafka
    files: Files
    checkpoints: str
    tables: Tables
    log: Path
    streamed: frozenset[str]
    """Tables whose changes a query reads."""
    tell: Tell

    def said(self, source: SourceRead) -> Mapping[str, Any]:
        """Return what YAML says of a topic; one of the models is read from its start."""
        topic = self.job.project.sources.get(source.relation.removeprefix("source."))
        return topic.options if topic else {}

    def source_options(self, source: SourceRead) -> Mapping[str, str]:
        return self.kafka.source(self.said(source))

    def stores(self, query: Query, identity: str, new: frozenset[str]) -> Stores:
        """Return where the batches of a query go; it has one writer for all of its sinks."""
        given: dict[str, object] = {}
        for target in query.outputs:
            if isinstance(target, SinkOutput):
                given |= target.options.get("producer") or {}
        return Stores(identity, self.kafka.sink(given), self.kafka.producer(given), self.tables.merge, new)

    def settings(self, query: Query) -> Mapping[str, str]:
        return {
            **state_settings(query, self.job.catalog),
            # Without windows to close, a batch without rows has nothing to say.
            "spark.sql.streaming.noDataMicroBatches.enabled": str(query.output_mode == "append").lower(),
        }


@contextmanager
def engine(
    job: Job, queries: Sequence[Query], folder: Path, tell: Tell, spark: SparkSession | None = None
) -> Iterator[Engine]:
    """Start what queries need, but for a Spark that runs; the topics are made ready while it starts."""
    project, root = job.project, Path(job.project.root)
    embedded = project.target.settings.get("kafka", "embedded") == "embedded"
    own = folder / folder_name(project.target.name)
    log = own / "log"
    with ExitStack() as stack:
        stack.enter_context(alone(own, project.target.name))
        jars = _jars(project.target, tell) if spark is None else []
        broker = stack.enter_context(shared_broker(root)) if embedded else None
        pool = stack.enter_context(ThreadPoolExecutor(1))
        ready = pool.submit(make_ready, job, queries, broker, tell)
        if spark is None:
            tell(Stage("Spark"))
            name = f"millstream {project.settings.name}"
            keeping = Stage("Spark", "keeping loaded classes, for faster starts from now on")
            spark = stack.enter_context(running_spark(name, project.target, jars, log, lambda: tell(keeping)))
            tell(Stage("Spark", f"{spark.version} on {spark.sparkContext.master}", done=True))
        checkpoints = checkpoints_of(project.target, root)
        files = files_of(checkpoints, spark)
        job = _with_lock(job, files, checkpoints)
        yield Engine(
            job,
            spark,
            ready.result(),
            files,
            checkpoints,
            Tables(spark, project, job.catalog),
            log / "spark.log",
            frozenset(s.relation for query in job.physical.queries for s in query.sources if not s.topic),
            tell,
        )


def _with_lock(job: Job, files: Files, checkpoints: str) -> Job:
    """Plan the queries again by the groups that have state, where only Spark could look for them."""
    if local_path(checkpoints) is not None or (lock := read_lock(files, checkpoints)) is None:
        return job
    return replace(job, physical=physical_of(job.topology, lock))


def _jars(target: Target, tell: Tell) -> list[Path]:
    told = False

    def progress(_name: str, _done: int, _total: int) -> None:
        nonlocal told
        if not told:
            told = True
            tell(Stage("jars"))

    found = jars_for(target, progress)
    if told:
        tell(Stage("jars", "fetched", done=True))
    return found
