"""Streaming queries as values, which explain, docs, review and the runner read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, ClassVar, Literal

from msgspec import Struct, field

from millstream.core.encoding import to_msgpack
from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.types import STRING, Type
from millstream.formats.format import DecodingCall
from millstream.outputs.kinds import LAYOUT, PROCESSING_TIME, Sink
from millstream.plan.nodes import Column, Maintenance, Meter, RecordValidity, RowLog
from millstream.queries.emit.steps import Step

Kind = Literal["stateless", "stateful", "single"]
OutputMode = Literal["append", "update"]
Grouping = Literal["all", "stateless", "off"]
WrittenAs = Literal["row", "record", "batch", "nothing"]


class TopicRead(Struct, frozen=True, tag="topic"):
    """The records of a topic that a query reads as they come, under the name of a view."""

    view: str
    relation: NodeId
    """The id of the source, or of the model that writes the topic."""
    topics: tuple[str, ...]
    """One, unless a source reads several; or a pattern, until it is known which topics match it."""
    columns: tuple[Column, ...] = ()
    """The decoded fields."""
    key: Column | None = None
    key_type: Type = STRING
    metadata: tuple[str, ...] = ()
    on_bad_record: str = "fail"
    headers: bool = False
    """Records are read with their headers."""
    bad_by: tuple[str, ...] | None = None
    """The columns of which a wrong value makes a record bad for some model; None if any does."""
    reads_all: bool = field(default=False, name="whole")
    """Each batch reads all records that there are: they are versions, for which other rows wait."""
    pattern: str = ""
    history: str = ""
    """Where older records are, as JSON, which the first batch reads."""

    @property
    def deciding(self) -> tuple[Column, ...]:
        """The columns that decide whether a record is bad."""
        columns = (*((self.key,) if self.key else ()), *self.columns)
        if self.bad_by is None:
            return columns
        key = self.key if "_key" in self.bad_by else None
        return tuple(column for column in columns if column is key or column.name.lower() in self.bad_by)

    @property
    def stream(self) -> str:
        """Its topics in one text, as Spark names a read of them; positions are stored by each topic."""
        return ", ".join(self.topics)

    @property
    def identity(self) -> str:
        """Its topics in one text; or their pattern, which is the same when topics appear.

        Streams of other kinds of sources have a colon, as `(?:eu|us)` has.
        """
        return self.pattern.replace(":", "") or self.stream

    @property
    def title(self) -> str:
        return self.stream


class SourceRead(Struct, frozen=True, tag="source"):
    """The rows of a source other than a topic, which a query reads as they come."""

    view: str
    relation: NodeId
    kind: str
    """Its kind in the registry of kinds of sources."""
    columns: tuple[Column, ...] = ()
    """The columns that are read."""
    settings: str = ""
    """What it is read by, such as a path, as JSON: with others, it is another source."""
    removes_read: bool = False
    """What was read is removed from it."""
    bad: bool = False
    """What can't be decoded is read instead of its rows."""

    @property
    def stream(self) -> str:
        """The name by which positions are stored; no topic can have it."""
        return stream_of(self.kind, self.relation)

    @property
    def title(self) -> str:
        return self.relation.name


def stream_of(kind: str, relation: NodeId) -> str:
    """Return the name by which positions in a source other than a topic are stored."""
    return f"{kind}:{relation.name}"


class ChangesRead(Struct, frozen=True, tag="changes"):
    """The changes of a table that a query reads as they come, with `_deleted` for deleted rows."""

    view: str
    relation: NodeId
    columns: tuple[Column, ...] = ()
    """The columns of the table that are read."""

    @property
    def stream(self) -> str:
        """Empty: only Spark and the table's store know the positions."""
        return ""

    @property
    def title(self) -> str:
        return f"changes of {self.relation.shown_name}"


StreamRead = TopicRead | SourceRead | ChangesRead
"""What a query reads as a stream."""


def streams_of(read: StreamRead) -> tuple[str, ...]:
    """Return the names by which positions in a source are stored: of topics, each one."""
    return read.topics if isinstance(read, TopicRead) else (read.stream,)


class StaticRead(Struct, frozen=True):
    """A seed, table or reference topic at rest, in its newest version in every batch."""

    view: str
    relation: NodeId
    columns: tuple[Column, ...] = ()
    """The columns that are read; empty for subqueries and opaque SQL, whose text decides."""


class TooLarge(Struct, frozen=True):
    """The query goes on if a record is larger than Kafka accepts: it is counted, and not sent."""

    dead_letters: str = ""
    """The topic for a dead letter of it; empty if it is skipped."""


class _Output(Struct, frozen=True):
    """The facts of a kind of output, and their defaults: other code needs no case for a kind."""

    written_as: ClassVar[WrittenAs] = "nothing"
    """What a query gives for it."""

    @property
    def topic(self) -> str:
        """The topic of its records; empty without any."""
        return ""

    @property
    def writer(self) -> str:
        """The kind that writes it by itself; empty for rows of tables and for records."""
        return ""

    @property
    def options(self) -> dict[str, Any]:
        return {}

    @property
    def guarantee(self) -> str:
        """That of its records, if it has another one than its target."""
        return ""

    @property
    def tests(self) -> tuple[NodeId, ...]:
        """Ids of the row checks that report failing rows and don't stop the query."""
        return ()

    @property
    def metrics(self) -> tuple[Meter, ...]:
        return ()

    @property
    def log(self) -> RowLog | None:
        return None

    @property
    def drops_by(self) -> dict[NodeId, str]:
        """The column by which it drops the bad records of a source, if there is only one."""
        return {}

    @property
    def counted(self) -> NodeId:
        """The source or model of which each record gives at most one of its rows; empty if none does."""
        return NO_NODE


class SinkOutput(_Output, frozen=True, tag="sink"):
    model: NodeId
    sink: Sink
    """How its records are written."""
    options: dict[str, Any] = {}
    tests: tuple[NodeId, ...] = ()
    metrics: tuple[Meter, ...] = ()
    log: RowLog | None = None
    drops_by: dict[NodeId, str] = {}
    keeps_out: bool = False
    """A row that fails a data test is not sent: the record that its key had before stays."""
    counted: NodeId = NO_NODE
    too_large: TooLarge | None = None
    """What happens to records that are larger than Kafka accepts; None: the query stops."""

    written_as: ClassVar[WrittenAs] = "record"

    @property
    def topic(self) -> str:
        return self.sink.topic

    @property
    def guarantee(self) -> str:
        return self.options.get("guarantee") or ""


class RowVersions(Struct, frozen=True):
    """How a table keeps the versions of rows."""

    by: tuple[str, ...]
    """The key that the versions of a row have in common."""
    keep: str = ""
    """How long a version is kept after its end; empty: forever."""
    replaces: bool = False
    """New rows replace the newest version, and a deleted row ends now; otherwise, each row has its time."""


class TableOutput(_Output, frozen=True, tag="table"):
    model: NodeId
    keys: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    options: dict[str, Any] = {}
    tests: tuple[NodeId, ...] = ()
    metrics: tuple[Meter, ...] = ()
    log: RowLog | None = None
    drops_by: dict[NodeId, str] = {}
    versions: RowVersions | None = None
    counted: NodeId = NO_NODE

    written_as: ClassVar[WrittenAs] = "row"

    @property
    def is_version(self) -> bool:
        """Whether it is a rebuilt or retained version of a table, or a copy to compare with."""
        return self.model.name.count(".") > (self.model.kind == "source")

    @property
    def appends(self) -> bool:
        """Whether rows are only appended: they have no key."""
        return not self.keys

    @property
    def deleted_by(self) -> tuple[str, ...]:
        """The columns whose values say which rows a deleted row deletes."""
        return self.keys or tuple(self.options.get("delete_by") or ())

    @property
    def deletes_on_request(self) -> bool:
        """Whether a row can delete those of an append-only table that came before it."""
        return self.appends and bool(self.deleted_by)

    @property
    def layout(self) -> dict[str, list[str]]:
        """The columns that say which rows are in a file together, by option."""
        return {option: columns for option in LAYOUT if (columns := self.options.get(option))}

    @property
    def newest_by(self) -> tuple[str, ...]:
        """The key of which a batch stores only the newest row."""
        return self.versions.by if self.versions is not None and self.versions.replaces else self.keys


class WriterOutput(_Output, frozen=True, tag="writer"):
    """Rows of batches that a kind of output writes by itself."""

    model: NodeId
    writer: str
    """The word of its materialization, whose folder has what writes it."""
    keys: tuple[str, ...] = ()
    """The key of rows that can change, of which a batch has only the newest."""
    columns: tuple[Column, ...] = ()
    options: dict[str, Any] = {}
    tests: tuple[NodeId, ...] = ()
    metrics: tuple[Meter, ...] = ()
    log: RowLog | None = None
    drops_by: dict[NodeId, str] = {}
    counted: NodeId = NO_NODE
    dead_letters: str = ""
    """The topic for rows that can't be written; empty: the query stops."""

    written_as: ClassVar[WrittenAs] = "batch"


class ViewOutput(_Output, frozen=True, tag="view"):
    """A view that no other model reads: it is not stored; only `show` and tests compute its rows."""

    model: NodeId
    columns: tuple[Column, ...] = ()


class DeadLetters(_Output, frozen=True, tag="dead_letters"):
    """Records of a source that can't be decoded, unchanged; or rows of a model that fail a data test."""

    source: NodeId
    """Id of the source or model."""
    topic: str
    good: tuple[RecordValidity, ...] = ()
    """The columns by which models drop bad records: each dead letter is that of some of these models."""

    written_as: ClassVar[WrittenAs] = "record"


ModelOutput = SinkOutput | TableOutput | WriterOutput | ViewOutput
Target = ModelOutput | DeadLetters


def sinks_in(outputs: Iterable[Target]) -> tuple[SinkOutput, ...]:
    return tuple(output for output in outputs if isinstance(output, SinkOutput))


def tables_in(outputs: Iterable[Target]) -> tuple[TableOutput, ...]:
    return tuple(output for output in outputs if isinstance(output, TableOutput))


class ToKafka(Struct, frozen=True, tag="kafka"):
    """The query's rows are records: `topic, key, value, headers`, and `timestamp` where a sink sets it."""

    outputs: tuple[Target, ...]
    placed: bool = False
    """A header of each record has the position of its original record."""
    skips: tuple[NodeId, ...] = ()
    """Models that leave out rows on which a function fails.

    A marker without a topic counts each such row; its key is the model.
    """

    @property
    def tests(self) -> tuple[NodeId, ...]:
        """The row checks that report failing rows by such markers."""
        return tuple(test for output in self.outputs for test in output.tests)

    @property
    def metrics(self) -> tuple[Meter, ...]:
        """The metrics whose numbers are in such markers."""
        return tuple(meter for output in self.outputs for meter in output.metrics)

    @property
    def logs(self) -> dict[NodeId, RowLog]:
        """How rows are logged, by model; their texts are in such markers."""
        return {sink.model: sink.log for sink in sinks_in(self.outputs) if sink.log}

    @property
    def timed(self) -> bool:
        """Whether an option sets the time of records."""
        times = (sink.options.get("timestamp") for sink in sinks_in(self.outputs))
        return any(time and time != PROCESSING_TIME for time in times)


class OutputDelivery(Struct, frozen=True):
    """One output of a batch and its rows over the batch's view.

    Rows of a sink are records; rows of a table have its columns, and `_deleted` if rows can be deleted.
    """

    target: Target
    sql: str
    deletes: bool = False
    counts_sql: str = ""
    """Counts the rows that fail data tests: one row, with a column for each test."""
    stops: tuple[NodeId, ...] = ()
    """The tests that stop the query if a row fails."""
    stops_sql: str = ""
    """Shows the rows that fail these: the test, and a text of the row."""
    failed_sql: str = ""
    """The rows as dead letters, in case that they can't be written."""

    @property
    def table(self) -> TableOutput | None:
        """The table that has the rows; None for records."""
        return next(iter(tables_in([self.target])), None)

    @property
    def name(self) -> str:
        """The id of the model as text, or the topic of dead letters."""
        return self.target.topic if isinstance(self.target, DeadLetters) else str(self.target.model)

    @property
    def title(self) -> str:
        """The name of the model, or the topic of dead letters."""
        return self.target.topic if isinstance(self.target, DeadLetters) else self.target.model.name


class PerBatch(Struct, frozen=True, tag="batch"):
    """Each micro-batch is cached as a view that every output reads (foreachBatch)."""

    view: str
    deliveries: tuple[OutputDelivery, ...]


DependencyKind = Literal[
    "type", "reading", "schema", "seed", "table", "test", "stop", "library", "bad", "reference", "calculation"
]
"""Wrong values of a `bad` column make records bad.

A `test` keeps rows out; a `stop` is one that lets no wrong row be stored, and stops the query."""


class Dependency(Struct, frozen=True, order=True, array_like=True):
    """Something besides SQL that rows depend on."""

    kind: DependencyKind
    name: str
    content: str
    """A type, a condition, a version; or the digest of rows, or of the SQL that computes them."""


class StatefulOperator(Struct, frozen=True):
    """What one stateful operator stores and how; equal operators can read each other's state."""

    name: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    """What must stay the same, in order: name and content."""
    below: str = ""
    """Digest of the upstream logic; if it changes, the verdict is `mixed`."""
    depends: tuple[Dependency, ...] | None = None
    """What the facts depend on besides their SQL. Older records don't have it."""
    below_depends: tuple[Dependency, ...] = ()
    """What the upstream logic depends on."""
    emitted: tuple[str, ...] | None = None
    """Upstream conditions of which excluded rows would still be emitted from the state."""
    models: tuple[NodeId, ...] = ()
    """The stored models whose rows pass it. Models can join and leave it. Older records don't have it."""
    stored_facts: tuple[tuple[str, str], ...] | None = field(default=None, name="kept")
    """The facts without columns and aggregates that Spark does not keep, since nothing above reads them.

    Older records don't have it.
    """
    number: int | None = None
    """Spark's number of it, counted from the result to the sources. Older records don't have it."""


def content_id(operator: StatefulOperator) -> str:
    """Return an id of what an operator stores; figures of an edited operator don't fit the new one."""
    return blake2b(to_msgpack((operator.kind, operator.facts)), digest_size=12).hexdigest()


class StoredOutput(Struct, frozen=True):
    """How the rows of a table, or of a topic with one row for each key, are computed."""

    model: NodeId
    keys: tuple[str, ...]
    rows: str
    """Digest of everything that computes them, from the sources on."""
    depends: tuple[Dependency, ...] | None = None
    """What they depend on besides the SQL. Older records don't have it, nor what follows."""
    retention: str | None = None
    """How long rows of a table are kept; empty: forever."""
    location: str | None = field(default=None, name="place")
    """Where its table is; empty for a topic."""
    encoding: str | None = None
    """Digest of how records of a topic are written: their values, and their keys. Empty for a table."""
    types: dict[str, str] = {}
    """The types of the columns of a table over tables: only a rebuild changes them. Older records lack it."""
    partitions: tuple[str, ...] = ()
    """The columns that say in which folder a row is."""


class QuerySignature(Struct, frozen=True):
    """What a query's checkpoint depends on."""

    sources: tuple[NodeId, ...]
    """In the query's order, since Spark matches offsets by position."""
    operators: tuple[StatefulOperator, ...]
    branches: tuple[str, ...] = ()
    timezone: str = "UTC"
    stored: tuple[StoredOutput, ...] = ()
    """Rows that stay unchanged until new rows with their keys arrive."""
    topics: tuple[str, ...] = ()
    """The streams of the sources, empty for changes of a table. Older records have no topics."""
    settings: dict[str, str] | None = None
    """The settings that can change results: those of Spark, and isolation levels. Older records have none."""
    former: tuple[StatefulOperator, ...] = ()
    """States that only former models read: their rows don't matter, but they must stay where they are."""
    changes: tuple[NodeId, ...] = ()
    """The models whose records have the row before each change, as it was sent."""
    tables: dict[NodeId, dict[str, str]] = {}
    """Of the tables whose changes it reads, the types of all columns: a store can't go on with others.

    Older records lack it.
    """
    settings_of: dict[str, str] = {}
    """What sources other than topics are read by, by stream. Older records have none."""
    histories: dict[str, str] = {}
    """Where older records of topics are, by topic. Older records of queries have none."""
    copies: tuple[str, ...] = ()
    """Aggregates that states have once more, to know which groups matched before: place of the state, digest.

    Older records have none. A state without them is still right.
    """

    @property
    def stateful(self) -> bool:
        return bool(self.operators)

    @property
    def numbered(self) -> tuple[StatefulOperator, ...]:
        """All states, also of former models, in the order of Spark's numbers; empty if that is unknown."""
        states = (*self.operators, *self.former)
        if len(states) == 1:
            return states
        by_number = {operator.number: operator for operator in states}
        numbers = range(len(states))
        return tuple(by_number[number] for number in numbers) if by_number.keys() == {*numbers} else ()


class StateSize(Struct, frozen=True):
    """What is known about the state of one operator before it runs."""

    operator: str
    width: int
    """Bytes of a row."""
    rows: int | None
    """None if it is unknown."""
    entries: int = 1
    """Entries of the state store for each row."""
    content: str = ""
    """What it stores: see `content_id`."""
    unit: str = "row"
    """What a row of the store is for users: a row, or a page of positions."""
    model: NodeId = NO_NODE
    """Id of the model whose SQL has the operator, or of the first one that stores its rows."""


class MemoryEstimate(Struct, frozen=True):
    """An estimate of a query's state."""

    bytes: int | None
    """None if it is unknown."""
    why: str
    states: tuple[StateSize, ...] = ()


class TableMaintenance(Struct, frozen=True):
    """How the batches of a query get the changes of a table that is kept equal to its SQL.

    The query's sources only tell that something changed.
    """

    view: str
    """The view of the table's differences, which the query's SQL reads."""
    target: TableOutput
    maintenance: Maintenance
    inputs: tuple[StaticRead, ...]
    """By the order of `maintenance.relations`."""
    digest: str
    """Of all that decides which rows are stored, besides the rows of tables."""
    kept_out: str = ""
    """A condition on the new rows `n` that the table must not have because of a data test; empty if none."""


class Query(Struct, frozen=True):
    """One streaming query."""

    name: str
    kind: Kind
    models: tuple[NodeId, ...]
    sources: tuple[StreamRead, ...]
    reads: tuple[StaticRead, ...]
    steps: tuple[Step, ...]
    sql: str
    deliver: ToKafka | PerBatch
    output_mode: OutputMode
    signature: QuerySignature
    memory: MemoryEstimate
    functions: tuple[str, ...] = ()
    """The Python functions that it calls, without duplicates."""
    decoders: tuple[DecodingCall, ...] = ()
    """The calls of those that decode records."""
    encoders: tuple[str, ...] = ()
    """Those that encode records."""
    chained: bool = False
    """One stateful operator is above another: each has the watermark that the one below passes on."""
    nested_calls: tuple[str, ...] = ()
    """The functions that are called by their plain names, within an aggregate or a join condition."""
    realtime: tuple[str, ...] = ()
    """What prevents real-time mode; empty if it is possible."""
    maintaining: TableMaintenance | None = None
    dead_letter_source: NodeId = NO_NODE
    """The source whose undecodable records it alone sends to dead letters."""
    exactly_once: bool = False
    """Its records are sent in transactions: readers of committed records see each of them once."""
    repeatable: bool = False
    """It follows a table, and the same row gives the same record at any time."""
    copies: tuple[str, ...] = ()
    """The names of the columns that need `signature.copies`, in the same order."""
    delays: tuple[tuple[NodeId, str], ...] = ()
    """How late the rows of a relation can be: each relation with a watermark, and its delay."""

    @property
    def follows_table(self) -> bool:
        """Whether its rows are those of one table, as they change."""
        return self.maintaining is None and isinstance(self.sources[0], ChangesRead) and not self.sources[1:]

    @property
    def topic_reads(self) -> tuple[TopicRead, ...]:
        return tuple(source for source in self.sources if isinstance(source, TopicRead))

    @property
    def streams(self) -> tuple[str, ...]:
        """The names by which positions in its sources are stored; empty texts for changes of tables."""
        return tuple(stream for source in self.sources for stream in streams_of(source))

    @property
    def topics_read(self) -> tuple[str, ...]:
        """The topics of its sources."""
        return tuple(dict.fromkeys(topic for read in self.topic_reads for topic in read.topics))

    @property
    def relations(self) -> dict[str, NodeId]:
        """The relation of each stream that has positions."""
        return {stream: source.relation for source in self.sources for stream in streams_of(source) if stream}

    @property
    def source_reads(self) -> tuple[SourceRead, ...]:
        """The sources that are no topics."""
        return tuple(source for source in self.sources if isinstance(source, SourceRead))

    @property
    def table_reads(self) -> tuple[ChangesRead, ...]:
        return tuple(source for source in self.sources if isinstance(source, ChangesRead))

    @property
    def sends_changes(self) -> bool:
        """Whether its records are changes of rows, with the row before and after."""
        return any(output.sink.changes for output in self.sinks)

    @property
    def outputs(self) -> tuple[Target, ...]:
        match self.deliver:
            case ToKafka(outputs=outputs):
                return outputs
            case PerBatch(deliveries=deliveries):
                return tuple(delivery.target for delivery in deliveries)

    @property
    def model_outputs(self) -> tuple[ModelOutput, ...]:
        """Its outputs without dead letters."""
        return tuple(output for output in self.outputs if not isinstance(output, DeadLetters))

    @property
    def sinks(self) -> tuple[SinkOutput, ...]:
        return sinks_in(self.outputs)

    @property
    def dead_letters(self) -> tuple[DeadLetters, ...]:
        return tuple(output for output in self.outputs if isinstance(output, DeadLetters))

    @property
    def title(self) -> str:
        """The names of its outputs, shortened after three."""
        names = [t.topic if isinstance(t, DeadLetters) else t.model.last_name for t in self.outputs]
        return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"

    @property
    def stored(self) -> dict[NodeId, str]:
        """The topic of each stored model; empty for a table."""
        return {output.model: output.topic for output in self.model_outputs}

    @property
    def tables(self) -> tuple[TableOutput, ...]:
        return tables_in(self.outputs)

    @property
    def dead_letter_topics(self) -> tuple[str, ...]:
        """The topics of its dead letters, also of those for records that are too large."""
        topics = [output.topic for output in self.dead_letters]
        topics += [sink.too_large.dead_letters for sink in self.sinks if sink.too_large is not None]
        topics += [output.dead_letters for output in self.outputs if isinstance(output, WriterOutput)]
        return tuple(dict.fromkeys(topic for topic in topics if topic))

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics of its sinks."""
        return tuple(dict.fromkeys(sink.topic for sink in self.sinks))


def meters_of(query: Query) -> Iterator[tuple[str, Meter]]:
    """Yield the metrics that a query computes, each with its model."""
    for output in query.model_outputs:
        for meter in output.metrics:
            yield output.model.name, meter


def logs_of(query: Query) -> dict[NodeId, RowLog]:
    """Return how a query logs rows, by model."""
    return {output.model: output.log for output in query.model_outputs if output.log is not None}


class Separation(Struct, frozen=True):
    """Why a model does not share a query that it seems to fit."""

    model: NodeId
    why: str
    other: tuple[NodeId, ...] = ()
    """The models of the query that it doesn't share."""


class PhysicalSettings(Struct, frozen=True):
    grouping: Grouping = "all"
    shuffle_partitions: int = 200
    timezone: str = "UTC"
    functions: dict[str, str] = {}
    """The digest of each Python function's body."""
    libraries: dict[str, dict[str, str]] = {}
    """The libraries that each Python function can use, and Python itself, with their versions."""
    logging: frozenset[str] = frozenset()
    """The Python functions that log something."""
    seeds: dict[NodeId, str] = {}
    """The digest of each seed's rows."""
    spark: dict[str, str] = {}
    """The Spark settings that can change results."""
    isolation: dict[NodeId, str] = {}
    """The isolation level at which a source is read, by its id, unless it is the default."""
    guarantee: str = "at_least_once"
    """Of the sinks that configure none, and of dead letters."""
    table_locations: dict[str, str] = {}
    """Where each store keeps tables; the default store's location is also under an empty name."""
    distinct: dict[tuple[NodeId, str], int] = {}
    """The approximate number of values, by relation id and column."""
    rules: frozenset[str] = frozenset()
    """Names of the optimizer rules that the target enables."""
    switched_off: dict[NodeId, frozenset[str]] = {}
    """The rules that are switched off, by model."""
    rows_per_second: dict[NodeId, float] = {}
