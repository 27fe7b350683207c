"""What runs, as values that explain, docs, review and the runner read alike."""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from millstream.formats import DEFAULT_FORMAT, Encoding
from millstream.physical.emit.steps import Step
from millstream.plan.nodes import Column
from millstream.types import STRING, Type

Kind = Literal["stateless", "stateful", "single"]
OutputMode = Literal["append", "update"]
Grouping = Literal["all", "stateless", "off"]


class SourceRead(Struct, frozen=True):
    """A topic, or the changes of a table, that a query reads as they come, under the name of a view."""

    view: str
    relation: str
    topic: str = ""
    """Empty: the changes of the table `relation`, with `_deleted` for rows that are gone."""
    columns: tuple[Column, ...] = ()
    """Exactly the fields that are decoded, or the table's columns that are read."""
    key: Column | None = None
    key_type: Type = STRING
    metadata: tuple[str, ...] = ()
    on_bad_record: str = "fail"
    headers: bool = False
    """Records are read with their headers."""


class StaticRead(Struct, frozen=True):
    """A seed, table or reference topic at rest, in its newest version in every batch."""

    view: str
    relation: str
    columns: tuple[Column, ...] = ()
    """Those that are read; empty where SQL says it: subqueries and opaque SQL."""


class SinkOutput(Struct, frozen=True, tag="sink"):
    model: str
    topic: str
    keys: tuple[str, ...] = ()
    format: Encoding = DEFAULT_FORMAT
    options: dict[str, Any] = {}
    tests: tuple[str, ...] = ()
    """Ids of data tests that are asked of each row, and don't stop it."""


class TableOutput(Struct, frozen=True, tag="table"):
    model: str
    keys: tuple[str, ...] = ()
    columns: tuple[Column, ...] = ()
    options: dict[str, Any] = {}
    tests: tuple[str, ...] = ()


class ViewOutput(Struct, frozen=True, tag="view"):
    """A view that no other model reads: nothing stores it, only `show` and tests ask for its rows."""

    model: str
    columns: tuple[Column, ...] = ()


class DeadLetters(Struct, frozen=True, tag="dead_letters"):
    """Records of a source that can't be decoded, as they were; rows of a model that a data test keeps out."""

    source: str
    """Id of the source or model."""
    topic: str


Target = SinkOutput | TableOutput | ViewOutput | DeadLetters


class ToKafka(Struct, frozen=True, tag="kafka"):
    """The query's rows are records: `topic, key, value, headers`, and `timestamp` where a sink sets it."""

    outputs: tuple[Target, ...]
    placed: bool = False
    """A header of each says which record it was made from, so that a repeated one is recognised."""
    skips: tuple[str, ...] = ()
    """Models that leave out rows on which a function fails.

    A record without topic tells of each, for who counts them; its key is the model.
    """

    @property
    def tests(self) -> tuple[str, ...]:
        """Return the data tests that tell of each row that they find wrong, in the same way."""
        return tuple(test for each in self.outputs if isinstance(each, SinkOutput) for test in each.tests)

    @property
    def timed(self) -> bool:
        """Tell whether records have a time of their own."""
        return any(isinstance(each, SinkOutput) and each.options.get("timestamp") for each in self.outputs)

    @property
    def by_number(self) -> bool:
        """Tell whether the number of its batch, not its place in a topic, tells a repeated record.

        Records with a time of their own are written batch by batch, too.
        """
        return self.timed or not self.placed


class Delivery(Struct, frozen=True):
    """One output of a batch and its rows over the batch's view.

    Those of a sink are records; those of a table have its columns, and `_deleted` where rows can be deleted.
    """

    target: Target
    sql: str
    deletes: bool = False
    asked: str = ""
    """Counts the rows that data tests find wrong: a row with a column for each test."""
    stops: tuple[str, ...] = ()
    """The tests by which none may be wrong."""


class PerBatch(Struct, frozen=True, tag="batch"):
    """Each micro-batch is kept once under the name of a view, and each output reads it (foreachBatch)."""

    view: str
    deliveries: tuple[Delivery, ...]


class Operator(Struct, frozen=True):
    """What one stateful operator keeps and how it gets there; equal operators can read each other's state."""

    name: str
    kind: str
    facts: tuple[tuple[str, str], ...]
    """What must stay the same, in order: name and content."""
    below: str = ""
    """Digest of what happens to rows before; a change of it goes forward only."""


class Stored(Struct, frozen=True):
    """What the newest rows of a table, or of a topic with a row a key, are made of."""

    model: str
    keys: tuple[str, ...]
    rows: str
    """Digest of all that is done to them, from the sources on."""


class Signature(Struct, frozen=True):
    """What a query's checkpoint depends on."""

    sources: tuple[str, ...]
    """In the order of the query, since Spark matches offsets by position."""
    operators: tuple[Operator, ...]
    branches: tuple[str, ...] = ()
    timezone: str = "UTC"
    stored: tuple[Stored, ...] = ()
    """Rows that stay as they are until others of their keys come."""
    topics: tuple[str, ...] = ()
    """Of the sources, in their order; empty for changes of a table. None at all in older records."""

    @property
    def stateful(self) -> bool:
        return bool(self.operators)


class Memory(Struct, frozen=True):
    """About how much state a query keeps."""

    bytes: int | None
    """None: nobody can tell."""
    why: str


class Query(Struct, frozen=True):
    """One streaming query."""

    name: str
    kind: Kind
    models: tuple[str, ...]
    sources: tuple[SourceRead, ...]
    reads: tuple[StaticRead, ...]
    steps: tuple[Step, ...]
    sql: str
    deliver: ToKafka | PerBatch
    output_mode: OutputMode
    signature: Signature
    memory: Memory
    functions: tuple[str, ...] = ()
    """The Python functions that it calls, each once."""
    chained: bool = False
    """States stand above each other: each has the watermark that the one below passes on."""
    within: tuple[str, ...] = ()
    """Those of them that are called within an aggregate or the condition of a join, by their plain names."""
    realtime: tuple[str, ...] = ()
    """What prevents real-time mode; empty: it is possible."""
    letters: str = ""
    """The source whose undecodable records it sends to dead letters; no other query of the plan does."""

    @property
    def outputs(self) -> tuple[Target, ...]:
        match self.deliver:
            case ToKafka(outputs=outputs):
                return outputs
            case PerBatch(deliveries=deliveries):
                return tuple(each.target for each in deliveries)

    @property
    def title(self) -> str:
        """What it makes, in a few words."""
        names = [t.topic if isinstance(t, DeadLetters) else t.model.rpartition(".")[2] for t in self.outputs]
        return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"

    @property
    def stored(self) -> dict[str, str]:
        """Where it stores which model: the topic, empty for a table."""
        listed = (each for each in self.outputs if not isinstance(each, DeadLetters))
        return {each.model: each.topic if isinstance(each, SinkOutput) else "" for each in listed}

    @property
    def tables(self) -> tuple[TableOutput, ...]:
        return tuple(each for each in self.outputs if isinstance(each, TableOutput))

    @property
    def topics(self) -> tuple[str, ...]:
        """Those of its sinks."""
        return tuple(dict.fromkeys(each.topic for each in self.outputs if isinstance(each, SinkOutput)))


class Separation(Struct, frozen=True):
    """Why a model does not share a query that it could be thought to share."""

    model: str
    why: str
    other: tuple[str, ...] = ()
    """Models of the query that it is apart from."""


class PhysicalSettings(Struct, frozen=True):
    grouping: Grouping = "all"
    shuffle_partitions: int = 200
    timezone: str = "UTC"
    functions: dict[str, str] = {}
    """By Python function: the digest of its body."""
    distinct: dict[tuple[str, str], int] = {}
    """By id of a relation and column: about how many values it has."""
    rules: frozenset[str] = frozenset()
    """Names of the rules that the target wants."""
    switched_off: dict[str, frozenset[str]] = {}
    """By model: those that leave it alone."""
    rows_per_second: dict[str, float] = {}
