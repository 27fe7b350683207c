"""What all queries of a job share: Spark, the broker, topics, checkpoints and tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import SparkSession

from millstream.compile.manifest import Manifest
from millstream.core.decoding import from_json
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NO_NODE, NodeId
from millstream.deploy.backlog import amount_to_read
from millstream.deploy.checkpoints import dead_letter_offsets, environments, splitting
from millstream.deploy.checkpoints.deployed import deployed_at
from millstream.deploy.checkpoints.environments import RecordedEnvironment
from millstream.deploy.checkpoints.files import (
    CheckpointFolder,
    checkpoint_folder,
    clear_unbegun,
    last_begun,
    last_done,
    places_of,
    read_record,
    read_up_to,
    records_of,
)
from millstream.deploy.checkpoints.held_records import HeldRecords
from millstream.deploy.checkpoints.joined_swap import has_begun
from millstream.deploy.checkpoints.splitting import apply_splits
from millstream.deploy.checkpoints.swap import settle_all
from millstream.deploy.checkpoints.transactions import TransactionNames, TransactionsOf
from millstream.deploy.fit_to_deployment import fit_job
from millstream.deploy.matched_topics import match_job
from millstream.deploy.planning.definitions import definition_of
from millstream.deploy.planning.records import QueryRecord
from millstream.deploy.shared_target import TargetSharing, enter_target, must_change, own_queries
from millstream.deploy.topics import RunTopics, check_sources, make_ready
from millstream.deploy.values import Job, SetupStep, Tell
from millstream.engine.python.dead_workers import in_function
from millstream.engine.python.forwarding import LogAddress
from millstream.engine.python.functions import batch_writer
from millstream.engine.queries.batch_scheduler import BatchTurns, QueryTurn
from millstream.engine.queries.deliveries import BatchWriter
from millstream.engine.queries.failing_line import at_line, at_source, at_test
from millstream.engine.queries.failures import OF_SOURCES, problem_of
from millstream.engine.queries.histories import HistoryReads
from millstream.engine.queries.outdated_tables import outdated_table
from millstream.engine.queries.positions import without_earlier
from millstream.engine.queries.record_sizes import record_sizes
from millstream.engine.queries.start import QueryContext
from millstream.engine.queries.tables import Tables
from millstream.engine.spark.jars import jars_for
from millstream.engine.spark.registry import use_registry, used_registry
from millstream.engine.spark.session import jvm_lost, lost_jvm, running_spark
from millstream.engine.spark.settings import session_settings
from millstream.engine.spark.start_settings import Amount
from millstream.engine.spark.target_lock import checkpoints_lock, shared_lock, target_lock
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import is_embedded
from millstream.kafka.registry.settings import RegistryAddress
from millstream.local.broker import shared_broker
from millstream.local.holders import LockHolder
from millstream.plan.durations import duration_millis
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.folders import checkpoints_of, folder_in
from millstream.project.names import Environment
from millstream.project.options import PRIORITIES
from millstream.project.secrets import mask_secrets, secrets_in
from millstream.project.values import Project, Target, is_local
from millstream.queries.values import Query, TopicRead
from millstream.queries.verdict import match_copies
from millstream.sources.positions import Positions, Range, Read, ends_of, from_stored
from millstream.sources.topic.history import HistoryEnd
from millstream.sources.topic.positions import offsets_in, positions_at, topic_range
from millstream.sources.topic.spark.history_end import end_of_history
from millstream.stores.files import Files
from millstream.stores.hadoop_files import files_of
from millstream.stores.session_settings import fast_path_settings


class Engine(Struct, frozen=True, eq=False):
    job: Job
    spark: SparkSession
    kafka: RunTopics
    files: Files
    checkpoints: str
    tables: Tables
    log: Path
    streamed: frozenset[NodeId]
    """Tables whose changes a query reads."""
    tell: Tell
    registry: RegistryAddress | None = None
    """The schema registry that records need, if any."""
    turns: BatchTurns | None = None
    """Limits how many batches of a run execute at a time."""
    transactions: TransactionNames | None = None
    """Those in which records are sent, if any query sends them exactly once."""
    sharing: TargetSharing | None = None
    """The other runs, if several share the target."""
    function_log: LogAddress | None = None
    """Where a run receives what Python functions log."""

    def turn(self, query: Query | None = None) -> QueryTurn | None:
        """Return the turns of a query, if they are limited; without one, those of a long rebuild."""
        if self.turns is None:
            return None
        if query is None:
            return QueryTurn(self.turns, quick=False)
        return QueryTurn(self.turns, quick=not query.tables, priority=self.service(query).priority)

    def service(self, query: Query) -> Service:
        return service_of(query, self.job.catalog, self.job.project.target)

    def with_job(self, job: Job) -> Engine:
        """Return the engine of another version of the project, or of the same one in other queries."""
        senders = _transactions_of(job, self.files, self.checkpoints, self.kafka)
        return replace(
            self,
            job=job,
            transactions=senders.with_senders(self.transactions, job.physical.queries),
            tables=Tables(self.spark, job.project, job.catalog),
            streamed=streamed_tables_of(job),
        )

    @property
    def held(self) -> HeldRecords:
        return HeldRecords(self.spark, self.files, self.kafka.cluster, self.kafka.trigger, self.transactions)

    def topic_options(self, read: TopicRead) -> Mapping[str, Any]:
        """Return the options of a topic; a model's topic is read from where its current rows begin."""
        topic = self.job.project.topic(read.relation)
        if topic is not None:
            return topic.options
        environment = self.job.project.target.environment
        (name,) = read.topics  # that of a model
        if environment is not None and environment.defers(read.relation):
            began = environment.began.get(name)
            return {"began": began} if began else {}
        writers = (query for query in self.job.physical.queries if read.relation in query.stored)
        records = map(self.record, writers)
        began = next((record.began.get(name) for record in records if record is not None), None)
        return {"began": began} if began else {}

    def stores(
        self, query: Query, identity: str, new: frozenset[NodeId], *, key: str = "", alone: bool = False
    ) -> BatchWriter:
        """Return where the batches of a query go; all its sinks share one producer."""
        producer: dict[str, object] = {}
        for sink in query.sinks:
            producer |= sink.options.get("producer") or {}
        kafka = self.kafka.sink(producer)
        exactly_once = None
        if query.exactly_once:
            assert self.transactions is not None, f"{query.name} is not among those that need transactions"
            topics = (*query.topics, *query.dead_letter_topics)
            exactly_once = self.transactions.of(query.name, key or identity, topics, alone=alone)
        turn = self.turn(query)
        sizes = record_sizes(admin_of(self.kafka.cluster), query)
        environment = self.job.project.target.environment
        return BatchWriter(
            identity,
            kafka,
            self.tables.merge,
            new,
            turn=turn,
            exactly_once=exactly_once,
            sizes=sizes,
            function=partial(batch_writer, self.job.project),
            environment="" if environment is None else environment.name,
        )

    def ids(self, query: Query) -> dict[str, str]:
        return self.kafka.ids(query.topics_read)

    def checkpoint(self, query: Query) -> CheckpointFolder:
        return checkpoint_folder(self.checkpoints, query.name)

    def record(self, query: Query) -> QueryRecord | None:
        return read_record(self.files, self.checkpoint(query))

    def definition(self, stored: Iterable[NodeId]) -> bytes:
        """Return the definitions of a query's stored models, to record what it was started with."""
        if not self.job.manifest:
            return b""
        return definition_of(_manifest(self.job.manifest), self.job.catalog, stored).packed()

    def context(
        self,
        query: Query,
        record: QueryRecord,
        checkpoint: CheckpointFolder,
        new: frozenset[NodeId],
        *,
        sends: bool = True,
    ) -> QueryContext:
        """Return what a query needs to continue from a checkpoint; `new` are tables without rows.

        A version that does not send runs next to one that does, whose transactions must not be ended.
        """
        context, spark = self.context_of(query, f"{query.name}/{record.id}", new), checkpoint.spark(record)
        begun = last_begun(self.files, spark)
        if begun is None:
            clear_unbegun(self.files, spark)
        done = last_done(self.files, spark)
        again = begun if begun != done else None
        sent = partial(without_earlier, bounds=record.sent) if record.sent else None
        exactly_once = context.stores.exactly_once if sends else None
        if exactly_once is not None and again is not None:
            exactly_once = exactly_once.repeating(again, *_split_from(record))
        histories = HistoryReads(record.histories, unread=done is None)
        read = {} if done is None else read_up_to(self.files, spark, done) or {}
        left = None if histories.unread and record.histories else self._left(query, read)
        start = (
            None
            if left is None
            else {topic: part.start for topic, part in left.items() if part.start is not None}
        )
        records = lru_cache(maxsize=1)(partial(records_of, self.files, spark, query.streams, start))
        writer = replace(
            context.stores,
            again=again,
            without_sent=sent,
            sent_as=record.header,
            exactly_once=exactly_once,
            records=records,
            positions=partial(places_of, self.files, spark, query.streams),
        )
        every = record.tombstones != "needed"
        present = match_copies(record.signature, query.signature)
        assert present is not None, f"the state of {query.name} has other columns"
        absent = tuple(name for name, there in zip(query.copies, present, strict=True) if not there)
        return replace(
            self.with_histories(query, context, histories),
            checkpoint=spark,
            stores=writer,
            every_tombstone=every,
            without_copies=absent,
            sent_before=from_stored(record.sent_before),
            unread=None if left is None else sum(part.end.since(part.start) for part in left.values()),
        )

    def _left(self, query: Query, read: Positions) -> dict[str, Range] | None:
        """Return what a query has not read of its topics yet; None if it reads other sources, too."""
        if len(query.topic_reads) < len(query.sources) or not query.sources:
            return None
        return self.ranges(query, read, self.ends([query]))

    def histories(self, query: Query) -> dict[str, HistoryEnd]:
        """Return where the topics of a new query go on whose older records are elsewhere."""
        admin, project = admin_of(self.kafka.cluster), self.job.project
        topics = {read.stream: project.topic(read.relation) for read in query.topic_reads if read.history}
        return {
            name: end_of_history(self.spark, project, topic, admin)
            for name, topic in topics.items()
            if topic is not None
        }

    def with_histories(self, query: Query, context: QueryContext, histories: HistoryReads) -> QueryContext:
        """Return the context of a query that reads topics from where their histories end."""
        sources = {
            read.relation: self.kafka.source(
                read.topics, {**self.topic_options(read), "began": histories.ends[read.stream].offsets}
            )
            for read in query.topic_reads
            if read.history
        }
        return replace(context, sources={**context.sources, **sources}, histories=histories)

    def sent_exactly_once(self) -> dict[str, int]:
        """Return how many records were sent to each topic that is written in transactions."""
        if self.transactions is None:
            return {}
        topics = {
            topic for query in self.job.physical.queries if query.exactly_once for topic in query.topics
        }
        return {topic: self.transactions.counts[topic] for topic in topics}

    def read(self, name: str, record: QueryRecord) -> Positions:
        """Return up to where a query that has stopped has read, and sent what it read.

        That is the end of its last complete batch, or of one that was sent in a transaction before it failed.
        """
        spark = checkpoint_folder(self.checkpoints, name).spark(record)
        done, begun = last_done(self.files, spark), last_begun(self.files, spark)
        if self.transactions is not None and begun not in {None, done}:
            sender = self.transactions.of(name, f"{name}/{record.id}", ())
            sent = sender.read_sent(*_split_from(record))
            done = begun if sent is not None and sent.batch >= begun else done
        return {} if done is None else read_up_to(self.files, spark, done, record.signature.topics) or {}

    def context_of(
        self,
        query: Query,
        identity: str,
        new: frozenset[NodeId] = frozenset(),
        *,
        key: str = "",
        alone: bool = False,
    ) -> QueryContext:
        """Return what a query needs without a checkpoint; stores recognise repeated rows by `identity`.

        Transactions have `key` instead, if that is given; what runs `alone` may run while the query does.
        """
        read = ((source, self.topic_options(source)) for source in query.topic_reads)
        return QueryContext(
            project=self.job.project,
            checkpoint="",
            stores=self.stores(query, identity, new, key=key, alone=alone),
            sources={source.relation: self.kafka.source(source.topics, options) for source, options in read},
            tables=self.tables,
            settings=session_settings(query, self.job.catalog) | fast_path_settings(self.job.project.target),
            log=self.function_log and self.function_log._replace(models=_stored(query)),
        )

    def ranges(
        self,
        query: Query,
        starts: Read,
        ends: Read,
        histories: Mapping[str, HistoryEnd] = MappingProxyType({}),
    ) -> dict[str, Range]:
        """Return what a query reads of its sources between `starts` and `ends`, within their options.

        That of a topic with a history can begin before the first record that the topic has.
        """
        ranges: dict[str, Range] = {}
        offsets, first_offsets = offsets_in(ends), offsets_in(starts)
        for topic, options in ((t, self.topic_options(s)) for s in query.topic_reads for t in s.topics):
            history = histories.get(topic)
            began = options if history is None else {**options, "began": history.offsets}
            available = self.kafka.until(topic, began, offsets.get(topic, {}))
            first_of = first_offsets.get(topic, {})
            if history is not None:
                available = {n: (0, stop) for n, (_, stop) in available.items()}
            ranges[topic] = topic_range(
                {
                    n: (min(max(first, first_of.get(n, first)), stop), stop)
                    for n, (first, stop) in available.items()
                }
            )
        for read in query.source_reads:
            if read.stream in ends:
                ranges[read.stream] = Range(starts.get(read.stream), ends[read.stream])
        return ranges

    def ends(self, queries: Iterable[Query]) -> Positions:
        """Return where the sources of queries end now."""
        queries = tuple(queries)
        topics = {topic for query in queries for topic in query.topics_read}
        streams = [read.stream for query in queries for read in query.source_reads]
        return positions_at(self.kafka.held(topics)) | ends_of(self.job.project, streams)

    def diagnostic(self, query: Query, error: BaseException) -> Diagnostic:
        """Return why a query failed, without secrets."""
        if (code := lost_jvm(error)) is not None:
            return jvm_lost(code, self.log)
        target = self.job.project.target
        diagnostic = problem_of(query.title, error, str(self.log), target.location)
        diagnostic = in_function(diagnostic, query.functions)
        models = (self.job.project.models.get(id_.name) for id_ in query.models)
        files = [model for model in models if model is not None]
        if diagnostic.code == "MS860":
            diagnostic = outdated_table(query, str(error), self.tables, files) or diagnostic
        if diagnostic.code == "MS868":
            diagnostic = at_line(diagnostic, str(error), files)
        if diagnostic.code == "MS863":
            diagnostic = at_test(diagnostic, self.job.project)
        if diagnostic.code in OF_SOURCES:
            relations = [read.relation for read in query.source_reads]
            diagnostic = at_source(diagnostic, relations, self.job.project)
        return replace(diagnostic, message=mask_secrets(diagnostic.message, secrets_in(target.settings)))


def _stored(query: Query) -> tuple[str, ...]:
    return tuple(model.name for model in query.stored)


def _split_from(record: QueryRecord) -> tuple[str, ...]:
    return (record.split_from,) if record.split_from else ()


@lru_cache(maxsize=1)
def _manifest(content: bytes) -> Manifest:
    return from_json(content, Manifest)


@contextmanager
def start_engine(
    job: Job,
    queries: Sequence[Query],
    folder: Path,
    tell: Tell,
    spark: SparkSession | None = None,
    *,
    endless: bool = False,
) -> Iterator[Engine]:
    """Start what queries need, and Spark unless it is given; topics are created while Spark starts."""
    project, root = job.project, Path(job.project.root)
    target_folder = folder_in(folder, project.target)
    log = target_folder / "log"
    waiting = partial(_tell_holder, tell) if job.wait else None
    check_isolated(job.physical.queries, project.target.environment)
    with ExitStack() as stack:
        stack.enter_context(target_lock(target_folder, project.target.title, waiting, shared=job.shared))
        if job.wait:
            tell(SetupStep("target", done=True))
        if not is_embedded(project.target):
            check_sources(job, queries)
        jars = _jars(job, tell) if spark is None else []
        amount = "endless" if endless else "few" if spark is not None else amount_to_read(job, queries)
        broker = stack.enter_context(shared_broker(root)) if is_embedded(project.target) else None
        registry = stack.enter_context(used_registry(project, job.catalog, _sinks_of(queries)))
        pool = stack.enter_context(ThreadPoolExecutor(1))
        ready = pool.submit(make_ready, job, queries, broker, tell)
        if spark is None:
            spark = stack.enter_context(_own_spark(project, jars, log, tell, amount, len(queries)))
        use_registry(spark, registry)
        checkpoints = checkpoints_of(project.target, root)
        files = files_of(checkpoints, spark)
        sharing = None
        if job.shared:
            locks = stack.enter_context(shared_lock(checkpoints, files, project.target.title, waiting))
            sharing = enter_target(locks, partial(_needed_queries, job, files, checkpoints), waiting)
            stack.enter_context(sharing.setup)
        else:
            stack.enter_context(checkpoints_lock(checkpoints, files, project.target.title, waiting))
        tables = Tables(spark, project, job.catalog)
        kafka = ready.result()
        job = match_job(job, admin_of(kafka.cluster))
        transaction_store = _transactions_of(job, files, checkpoints, kafka)
        if sharing is not None and sharing.others:
            job = _joining(job, files, checkpoints)
            transactions = transaction_store.opened(job.physical.queries, sharing.others)
        else:
            dead_letter_offsets.settle_offsets(files, checkpoints)
            transactions = transaction_store.opened(job.physical.queries)
            held = HeldRecords(spark, files, kafka.cluster, kafka.trigger, transactions)
            settle_all(files, tables, held, checkpoints)
            splitting.settle_splits(files, checkpoints)
            job = _split(job, files, checkpoints)
            transactions = transaction_store.with_senders(transactions, job.physical.queries)
            record_environment(job, files, checkpoints)
        yield Engine(
            job,
            spark,
            kafka,
            files,
            checkpoints,
            tables,
            log / "spark.log",
            streamed_tables_of(job),
            tell,
            registry.address,
            _turns(spark) if endless and is_local(project.target) else None,
            transactions,
            sharing,
        )


@contextmanager
def _own_spark(
    project: Project, jars: Sequence[Path], log: Path, tell: Tell, amount: Amount, queries: int
) -> Iterator[SparkSession]:
    tell(SetupStep("Spark"))
    name = f"millstream {project.settings.name}"
    with running_spark(name, project.target, jars, log, amount=amount, queries=queries) as spark:
        tell(SetupStep("Spark", f"{spark.version} on {spark.sparkContext.master}", done=True))
        yield spark


def _transactions_of(job: Job, files: Files, checkpoints: str, kafka: RunTopics) -> TransactionsOf:
    project = job.project
    return TransactionsOf(
        files, checkpoints, kafka.cluster, project.settings.name, project.target.environment
    )


def streamed_tables_of(job: Job) -> frozenset[NodeId]:
    """Return the tables whose changes a query reads."""
    return frozenset(read.relation for query in job.physical.queries for read in query.table_reads)


def _needed_queries(job: Job, files: Files, checkpoints: str, others: Collection[str]) -> list[str]:
    """Return the names of the queries that a job needs."""
    planned_job = fit_job(job, deployed_at(files, checkpoints)).job
    return [query.name for query in own_queries(planned_job, others)]


def _joining(job: Job, files: Files, checkpoints: str) -> Job:
    """Plan the queries on what is deployed, of which nothing may have to change: other runs share it."""
    deployed = deployed_at(files, checkpoints)
    fitted_job = fit_job(job, deployed)
    if (
        fitted_job.changes(deployed)
        or splitting.has_begun(files, checkpoints)
        or has_begun(files, checkpoints)
    ):
        raise must_change()
    return fitted_job.job


def _tell_holder(tell: Tell, holder: LockHolder | str | None) -> None:
    tell(SetupStep("target", f"waiting until {holder or 'another command'} ends"))


def record_environment(job: Job, files: Files, checkpoints: str) -> None:
    """Store what the environment of a job builds, and what it reads from production."""
    environment = job.project.target.environment
    if environment is None:
        return
    check_isolated(job.physical.queries, environment)
    built = {id_ for query in job.physical.queries for id_ in query.stored}
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    recorded = RecordedEnvironment(
        environment.name,
        environment.project,
        job.project.target.name,
        now,
        tuple(sorted(built)),
        tuple(sorted(environment.deferred or ())),
        environment.began,
    )
    environments.write_environment(files, checkpoints, recorded)


def _sinks_of(queries: Sequence[Query]) -> frozenset[NodeId]:
    """Return the models whose records queries write."""
    return frozenset(sink.model for query in queries for sink in query.sinks)


def _turns(spark: SparkSession) -> BatchTurns:
    return BatchTurns(max(2, spark.sparkContext.defaultParallelism))


def _split(job: Job, files: Files, checkpoints: str) -> Job:
    """Plan the queries on what is deployed, and split those that models leave."""
    deployed = deployed_at(files, checkpoints)
    fitted_job = fit_job(job, deployed)
    if fitted_job.reused is not None:
        apply_splits(files, checkpoints, deployed, fitted_job.reused.running, fitted_job.reused.splits)
    return fitted_job.job


def _jars(job: Job, tell: Tell) -> list[Path]:
    reported = False

    def progress(_name: str, _done: int, _total: int) -> None:
        nonlocal reported
        if not reported:
            reported = True
            tell(SetupStep("jars"))

    jars = jars_for(job.project.target, job.catalog.jars, progress)
    if reported:
        tell(SetupStep("jars", "fetched", done=True))
    return jars


def check_isolated(queries: Iterable[Query], environment: Environment | None) -> None:
    """Raise if a query would write a topic or table of production."""
    if environment is None:
        return
    for query in queries:
        for output in query.model_outputs:
            if output.written_as != "nothing":
                environment.check(output.model, output.topic)
        for topic in query.dead_letter_topics:
            environment.check(NO_NODE, topic)


class Service(Struct, frozen=True):
    latency: float | None
    """The seconds within which results shall be stored."""
    priority: int
    every: str | None = None
    """The trigger of its own, if the run has an interval or none."""


def service_of(query: Query, catalog: Catalog, target: Target) -> Service:
    """Return the shortest latency and the highest priority of a query's stored models."""
    models = [catalog.models[id_] for id_ in query.stored if id_ in catalog.models]
    latencies = [spec.latency or target.settings.get("latency") for spec in models]
    return Service(
        min((duration_millis(latency) / 1000 for latency in latencies if latency), default=None),
        max((PRIORITIES.index(spec.priority) for spec in models), default=PRIORITIES.index("normal")),
        next((spec.every for spec in models if spec.every), None),  # such a table has a query of its own
    )
