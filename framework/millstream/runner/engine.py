"""What all queries of a build share: Spark, the broker, topics, places of checkpoints and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct
from pyspark.sql import SparkSession

from millstream.broker import shared_broker
from millstream.machine.jars import fetch
from millstream.physical.values import Query, SinkOutput, SourceRead
from millstream.runner.deliveries import Stores
from millstream.runner.files import Files, files_of
from millstream.runner.only import alone
from millstream.runner.session import running_spark
from millstream.runner.tables import Tables
from millstream.runner.topics import Kafka, make_ready
from millstream.runner.values import Job, Stage, Tell
from millstream.tables.places import checkpoints_of

_STORES = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}


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

    def source_options(self, source: SourceRead) -> Mapping[str, str]:
        topic = self.job.project.sources.get(source.relation.removeprefix("source."))
        # A topic of one of the models is read from its start.
        return self.kafka.source(topic.options if topic else {})

    def stores(self, query: Query, identity: str, new: frozenset[str]) -> Stores:
        """Return where the batches of a query go; it has one writer for all of its sinks."""
        given: dict[str, object] = {}
        for target in query.outputs:
            if isinstance(target, SinkOutput):
                given |= target.options.get("producer") or {}
        return Stores(identity, self.kafka.sink(given), self.kafka.producer(given), self.tables.merge, new)

    def settings(self, query: Query) -> Mapping[str, str]:
        stores = {
            store
            for model in query.models
            if model in self.job.catalog.models
            and (store := (self.job.catalog.models[model].options.get("state") or {}).get("store"))
        }
        store = "memory" if stores == {"memory"} else "rocksdb"
        return {
            "spark.sql.streaming.stateStore.providerClass": _STORES[store],
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
    log = folder / project.target.name / "log"
    with ExitStack() as stack:
        stack.enter_context(alone(folder / project.target.name, project.target.name))
        jars = _jars(project.target.settings, tell) if spark is None else []
        broker = stack.enter_context(shared_broker(root)) if embedded else None
        pool = stack.enter_context(ThreadPoolExecutor(1))
        ready = pool.submit(make_ready, job, queries, broker, tell)
        if spark is None:
            tell(Stage("Spark"))
            name = f"millstream {project.settings.name}"
            spark = stack.enter_context(running_spark(name, project.target, jars, log))
            tell(Stage("Spark", f"{spark.version} on {spark.sparkContext.master}", done=True))
        checkpoints = checkpoints_of(project.target, root)
        yield Engine(
            job,
            spark,
            ready.result(),
            files_of(checkpoints, spark),
            checkpoints,
            Tables(spark, project, job.catalog),
            log / "spark.log",
            frozenset(s.relation for query in job.physical.queries for s in query.sources if not s.topic),
            tell,
        )


def _jars(settings: Mapping[str, Any], tell: Tell) -> list[Path]:
    if settings.get("jars") == "provided":
        return []
    told = False

    def progress(_name: str, _done: int, _total: int) -> None:
        nonlocal told
        if not told:
            told = True
            tell(Stage("jars"))

    features = ["kafka", "delta", *(["postgres"] if "url" in (settings.get("tables") or {}) else [])]
    found = fetch(features, progress)
    if told:
        tell(Stage("jars", "fetched", done=True))
    return list(dict.fromkeys(path for feature in features for path in found[feature]))
