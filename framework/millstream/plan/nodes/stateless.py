"""Nodes without state."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream.core.cached_property import once
from millstream.core.expressions import Expression, Piece
from millstream.core.node_id import NodeId
from millstream.core.types import BOOLEAN, STRING, Type
from millstream.formats.registry import DEFAULT_FORMAT, KEY, Encoding
from millstream.outputs.registry import Materialization
from millstream.plan.nodes.base import Binary, Node, Unary
from millstream.plan.nodes.maintenance import Maintenance
from millstream.plan.nodes.parts import (
    CARRIED,
    METADATA,
    RECORD_HEADERS,
    RECORD_TIME,
    Column,
    Item,
    LoggedRows,
    Metering,
    ReadColumns,
    RecordValidity,
    RowCheck,
    columns_text,
    conditions_text,
    is_good,
)


class Decode(Unary, frozen=True, eq=False, kw_only=True):
    """Decodes records into columns: fields of the value, the key, and metadata such as `_offset`."""

    relation: NodeId
    format: Encoding
    fields: tuple[Column, ...] = ()
    """The columns that are decoded from the value, without unused ones."""
    key: Column | None = None
    metadata: tuple[str, ...] = ()
    key_type: Type = STRING
    """The type of `_key`."""
    key_format: Encoding = KEY
    on_bad_record: str = "fail"
    unique_by: tuple[str, ...] = ()
    """The key of a topic with the newest row per key; a null value deletes it."""
    good: tuple[RecordValidity, ...] = ()
    """Columns by which models drop bad records; without any, the node itself drops them."""
    checks_all_columns: bool = False
    """All columns count, also those that nobody reads."""

    participle = "decoded"

    @property
    def summary(self) -> str:
        key = self.key or ("_key" in self.metadata)
        formats = (
            f"{self.format}, keys {self.key_format}"
            if key and self.key_format.name != KEY.name
            else self.format
        )
        hidden = {good_column.name for good_column in self.good}
        shown = [column for column in self.columns if column.name not in hidden]
        return f"decode {formats}: {columns_text(shown)}"

    def derived_columns(self) -> tuple[Column, ...]:
        key = (self.key,) if self.key else ()
        metadata = (
            Column(name, self.key_type) if name == "_key" else METADATA[name] for name in self.metadata
        )
        good = (Column(good_column.name, BOOLEAN, nullable=False) for good_column in self.good)
        return (*key, *self.fields, *metadata, *good)


class Filter(Unary, frozen=True, eq=False, kw_only=True):
    """Keeps rows for which all conditions are true; over an upsert relation, deletes the others."""

    conditions: tuple[Expression, ...]

    participle = "filtered"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.conditions

    @property
    def summary(self) -> str:
        return f"filter {conditions_text(self.conditions)}"


class MatchedGroups(Filter, frozen=True, eq=False, kw_only=True):
    """Drops the groups that were never sent; it deletes nothing."""

    hides: tuple[str, ...]
    """The columns by which it does."""

    participle = "matched"

    def derived_columns(self) -> tuple[Column, ...]:
        return tuple(column for column in self.input.columns if column.name not in self.hides)

    def origin(self, name: str) -> tuple[Node, str] | None:
        return self.input, name


class Project(Unary, frozen=True, eq=False, kw_only=True):  # name: as in relational algebra
    items: tuple[Item, ...]
    keys: tuple[str, ...] = ()
    """For an upsert relation, columns that identify its rows and replace its keys from here on."""

    of_content = (*Node.of_content, "expressions", "by_name", "definitions", "calculated", "read")
    participle = "selected"
    one_to_one = True
    operator = "select"
    noun = "projection"

    @property
    def summary(self) -> str:
        return f"project {', '.join(str(item) for item in self.items if not is_good(item.expression))}"

    @once
    def expressions(self) -> tuple[Expression, ...]:
        return tuple([item.expression for item in self.items])

    def derived_columns(self) -> tuple[Column, ...]:
        return tuple(
            [Column(item.name, item.expression.type, item.expression.nullable) for item in self.items]
        )

    @once
    def definitions(self) -> dict[str, Expression]:
        """The expression of each column."""
        return {item.name: item.expression for item in self.items}

    @once
    def calculated(self) -> dict[str, Expression]:
        """The expressions of the columns that are not just an input column under its own name."""
        return {
            name: expression for name, expression in self.definitions.items() if expression.column != name
        }

    @once
    def read(self) -> frozenset[str]:
        """The columns of the input that it reads, in lower case."""
        return frozenset[str]().union(*[expression.folded for expression in self.definitions.values()])


class Expand(Unary, frozen=True, eq=False, kw_only=True):
    """Generates rows from each row: `explode(items)`; its columns follow those of the input."""

    call: Expression
    function: str
    generated: tuple[Column, ...]
    python: bool = False
    outer: bool = False

    participle = "expanded"
    noun = "expansion"

    @property
    def summary(self) -> str:
        outer = "outer " if self.outer else ""
        return f"expand {outer}{self.call} as {columns_text(self.generated)}"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.call,)

    @property
    def own_function(self) -> str:
        return self.function if self.python and not self.call.functions else ""

    def origin(self, name: str) -> tuple[Node, str] | None:
        return (
            None if name.lower() in {column.name.lower() for column in self.generated} else (self.input, name)
        )

    def derived_columns(self) -> tuple[Column, ...]:
        return (*self.input.columns, *self.generated)


class Repartition(Unary, frozen=True, eq=False, kw_only=True):
    """Brings the rows of a key together for a stateful step; without keys, all rows."""

    keys: tuple[str, ...]

    participle = "by_key"
    one_to_one = True

    @property
    def summary(self) -> str:
        return f"repartition by {', '.join(self.keys) or 'nothing: all rows in one partition'}"


class Watermark(Unary, frozen=True, eq=False, kw_only=True):
    """How late the rows of an event time can be."""

    time: str
    delay: str
    copy: int = 0
    """Distinguishes copies of the same rows in one query."""

    one_to_one = True

    @property
    def summary(self) -> str:
        return f"watermark {self.time} delay {self.delay}"


class Lookup(Binary, frozen=True, eq=False, kw_only=True):
    """A stream (left) with the newest version of a relation at rest (right)."""

    broadcast: bool = False

    @property
    def summary(self) -> str:
        broadcast = " (broadcast)" if self.broadcast else ""
        return f"{self.kind} lookup on {conditions_text(self.on) or 'nothing'}{broadcast}"


class Union(Node, frozen=True, eq=False, kw_only=True):
    """Rows of all inputs, columns by position; one relation twice counts twice."""

    sides: tuple[Node, ...]
    types: tuple[Type, ...] = ()
    """The common types, if those of the sides differ."""

    participle = "united"
    summary = "union"

    def derived_columns(self) -> tuple[Column, ...]:
        first, *others = (side.columns for side in self.sides)
        return tuple(
            Column(
                column.name,
                self.types[i] if self.types else column.type,
                column.nullable or any(o[i].nullable for o in others),
            )
            for i, column in enumerate(first)
        )

    @once
    def inputs(self) -> tuple[Node, ...]:
        return self.sides

    def with_inputs(self, *inputs: Node) -> Node:
        if all(a is b for a, b in zip(inputs, self.sides, strict=True)):
            return self
        return self.over(sides=inputs)


class Opaque(Node, frozen=True, eq=False, kw_only=True):
    """Opaque SQL: it runs unchanged, and nothing moves across it."""

    reads: tuple[Node, ...]
    pieces: tuple[Piece, ...]
    """`Read` pieces are replaced by the input with the same index in `relations`."""
    relations: tuple[NodeId, ...]
    reasons: tuple[str, ...]

    participle = "opaque"
    operator = "sql"

    @property
    def summary(self) -> str:
        return f"opaque: {'; '.join(self.reasons)}"

    @once
    def deterministic(self) -> bool:
        return False  # its calls are unknown

    @once
    def inputs(self) -> tuple[Node, ...]:
        return self.reads

    def with_inputs(self, *inputs: Node) -> Node:
        if all(a is b for a, b in zip(inputs, self.reads, strict=True)):
            return self
        return self.over(reads=inputs)


class Maintained(Node, frozen=True, eq=False, kw_only=True):
    """The changes of a table that is kept equal to its SQL over tables (`plan/maintained`)."""

    table: NodeId
    """The id of the model: only this table is compared with the rows that the SQL gives now."""
    reads: tuple[Node, ...]
    """Its inputs: their changes, and their rows at rest."""
    maintenance: Maintenance
    keys: tuple[str, ...]
    called: tuple[str, ...] = ()
    """The Python functions that it calls."""

    operator = "maintained"
    noun = "maintenance"
    participle = "maintained"

    @property
    def summary(self) -> str:
        by = ", ".join(self.maintenance.by)
        weights = ", with weights" if self.maintenance.weighted else ""
        return f"maintained by {by}{weights}" if by else "maintained in full"

    @once
    def inputs(self) -> tuple[Node, ...]:
        return self.reads

    def with_inputs(self, *inputs: Node) -> Node:
        if all(a is b for a, b in zip(inputs, self.reads, strict=True)):
            return self
        return self.over(reads=inputs)


class Output(Unary, frozen=True, eq=False, kw_only=True):
    """A stored model, or a view without readers."""

    model: NodeId
    materialization: Materialization
    options: dict[str, Any] = {}
    """Options that the plan passes on: `state`, `group`, `on_bad_record`."""
    extras: tuple[Item, ...] = ()
    """SQL of its options, over the same columns: headers, `delete_when`."""
    checks: tuple[RowCheck, ...] = ()
    """The row checks that are applied before a row is stored."""
    reads: tuple[ReadColumns, ...] = ()
    """What it reads of sources whose bad records make it fail."""
    good: tuple[str, ...] = ()
    """The hidden columns by which it, the views with state and the topics that it reads drop bad records."""
    metrics: tuple[Metering, ...] = ()
    """What the rows that are stored add to metrics."""
    log: LoggedRows | None = None
    """Which of the rows that are stored are logged."""

    def derived_columns(self) -> tuple[Column, ...]:
        return tuple(column for column in self.input.columns if column.name not in CARRIED)

    def origin(self, name: str) -> tuple[Node, str] | None:
        return self.input, name

    @property
    def timed(self) -> bool:
        """Whether the time of its records is not just that of sending them."""
        return RECORD_TIME in self.input.by_name

    @property
    def keeps_headers(self) -> bool:
        """Whether its records have the headers of the records that their rows come from."""
        return RECORD_HEADERS in self.input.by_name

    @property
    def operator(self) -> str:
        return self.materialization.word

    @property
    def sends_changes(self) -> bool:
        """Whether it sends changes of rows, with the row before and after."""
        return self.materialization.changes

    @property
    def group(self) -> str:
        """The name by which users group it with others; empty if they don't."""
        return str(self.options.get("group") or "")

    @property
    def state_store(self) -> str:
        """Where its state is kept; a query has one store."""
        return str((self.options.get("state") or {}).get("store") or "rocksdb")

    @property
    def producer(self) -> tuple[str, ...]:
        """Its options of the Kafka producer; a query has one producer."""
        sink = self.materialization.sink
        settings = sink.producer if sink is not None else {}
        return tuple(f"{name}={settings[name]}" for name in sorted(settings))

    @property
    def observed(self) -> bool:
        """Whether its query observes the rows that it stores, for metrics or a log."""
        return bool(self.metrics) or self.log is not None

    @property
    def topic(self) -> str:
        """The topic of a sink; otherwise empty."""
        return self.materialization.topic

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the record's key or of the table's."""
        return self.materialization.keys

    @property
    def summary(self) -> str:
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        return f"{self.operator} {self.model.shown_name}{keys}{self._formats}"

    @property
    def _formats(self) -> str:
        """How records are written, if that is not the default."""
        encodings = dict(self.materialization.encodings)
        value, key = encodings.get("value", DEFAULT_FORMAT), encodings.get("key")
        of_values = f" in {value}" if str(value) != DEFAULT_FORMAT else ""
        of_keys = f", keys in {key}" if key is not None else ""
        changes = ", the rows before and after each change" if self.materialization.changes else ""
        return of_values + of_keys + changes

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (
            *(item.expression for item in self.extras),
            *(check.wrong for check in self.checks),
            *(metric.text for metric in self.metrics),
            *((self.log.text,) if self.log else ()),
        )


def reads_of(nodes: Iterable[Node]) -> dict[NodeId, ReadColumns]:
    """Return what the outputs among some nodes read of sources whose bad records make them fail."""
    reads: dict[NodeId, ReadColumns] = {}
    for node in nodes:
        for columns in node.reads if isinstance(node, Output) else ():
            reads[columns.relation] = (
                reads[columns.relation] | columns if columns.relation in reads else columns
            )
    return reads
