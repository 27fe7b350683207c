"""The nodes of a plan: a closed set of values, children first.

A node is shared when two nodes hold the same object; two nodes that do the same have the same `fingerprint`.
Columns of a node have unique names (in any case), and its expressions read the columns of its inputs by name.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, ClassVar, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import force_setattr, replace

from millstream.expressions import Expression, Piece
from millstream.formats import Encoding
from millstream.once import once
from millstream.types import BIGINT, BINARY, INT, STRING, TIMESTAMP, Array, Field, Row, Type

Emit = Literal["on_change", "on_close"]
JoinKind = Literal["inner", "left", "right", "full", "semi", "anti", "cross"]


class Column(Struct, frozen=True):
    name: str
    type: Type
    nullable: bool = True


class Item(Struct, frozen=True):
    """A column that is calculated."""

    name: str
    expression: Expression


class Measure(Struct, frozen=True):
    """A column that an aggregate calculates: `sum(x * 2) filter (where ok)`."""

    name: str
    call: Expression
    function: str
    condition: Expression | None = None


class Check(Struct, frozen=True):
    """A data test of single rows: those for which `wrong` is true are wrong."""

    name: str
    severity: Literal["warn", "error", "drop", "dead_letter"]
    wrong: Expression

    @property
    def keeps_out(self) -> bool:
        """Tell whether rows that are wrong are not stored."""
        return self.severity in {"drop", "dead_letter"}


class JoinColumn(Struct, frozen=True):
    """A column of a join: which side it is of, and its name there."""

    name: str
    side: Literal["left", "right"]
    source: str


METADATA = {
    column.name: column
    for column in (
        Column("_key", BINARY),
        Column("_topic", STRING, nullable=False),
        Column("_partition", INT, nullable=False),
        Column("_offset", BIGINT, nullable=False),
        Column("_timestamp", TIMESTAMP, nullable=False),
        Column("_headers", Array(Row((Field("key", STRING), Field("value", BINARY))))),
    )
}
"""What every record has beside its value."""

RAW = (
    Column("key", BINARY),
    Column("value", BINARY),
    Column("topic", STRING, nullable=False),
    Column("partition", INT, nullable=False),
    Column("offset", BIGINT, nullable=False),
    Column("timestamp", TIMESTAMP, nullable=False),
    Column("headers", Array(Row((Field("key", STRING), Field("value", BINARY))))),
)
"""The columns of a TopicScan."""


class Node(Struct, frozen=True, eq=False, kw_only=True, dict=True):
    """What all nodes have: their columns, and names for people."""

    columns: tuple[Column, ...] = ()
    label: str = ""
    """What the relation is called: the model or source, if this is all of it, else what it does for it."""
    models: tuple[str, ...] = ()
    """Ids of the models in whose SQL it stands."""

    quiet: ClassVar[frozenset[str]] = frozenset(("label", "models", "columns", "copy", "stored"))
    """What a fingerprint says nothing of: names for people, and what follows from the rest."""

    def __post_init__(self) -> None:
        force_setattr(self, "columns", self.derived_columns())

    @once
    def fingerprint(self) -> str:
        """Of what it does and of what it reads, not of what it is called."""
        waiting = list(self.inputs)
        while waiting:  # inputs first, however deep they are
            missing = [each for each in waiting[-1].inputs if "fingerprint" not in each.__dict__]
            if missing:
                waiting += missing
            else:
                assert waiting.pop().fingerprint
        said = [type(self).__name__]
        said += [_content(getattr(self, name)) for name in self.__struct_fields__ if name not in self.quiet]
        if type(self).derived_columns is Node.derived_columns:
            said.append(_content(self.columns))
        return blake2b("\x1f".join(said).encode(), digest_size=12).hexdigest()

    def derived_columns(self) -> tuple[Column, ...]:
        """Return the columns that follow from inputs and content; a leaf has those that it was given."""
        return self.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()

    def with_inputs(self, *inputs: Node) -> Node:
        """Return the same node over other inputs with the same columns."""
        assert not inputs
        return self

    @once
    def by_name(self) -> dict[str, Column]:
        """The columns by their names in lower case."""
        return {column.name.lower(): column for column in self.columns}

    def column(self, name: str) -> Column:
        return self.by_name[name.lower()]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


class Unary(Node, frozen=True, eq=False, kw_only=True):
    input: Node

    def derived_columns(self) -> tuple[Column, ...]:
        return self.input.columns

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    def with_inputs(self, *inputs: Node) -> Node:
        (only,) = inputs
        return self if only is self.input else replace(self, input=only)


class Binary(Node, frozen=True, eq=False, kw_only=True):
    left: Node
    right: Node
    kind: JoinKind
    on: tuple[Expression, ...]
    """Conjuncts over the names of `joined`."""
    joined: tuple[JoinColumn, ...]
    """The columns of both sides under names of their own; SEMI and ANTI give only those of the left."""

    def derived_columns(self) -> tuple[Column, ...]:
        outer = {"left": ("right",), "right": ("left",), "full": ("left", "right")}.get(self.kind, ())
        sides = {"left": self.left.by_name, "right": self.right.by_name}
        found: list[Column] = []
        for joined in self.joined:
            if joined.side == "right" and self.kind in {"semi", "anti"}:
                continue
            column = sides[joined.side][joined.source.lower()]
            found.append(Column(joined.name, column.type, column.nullable or joined.side in outer))
        return tuple(found)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @once
    def folded(self) -> tuple[tuple[str, JoinColumn], ...]:
        """The columns of both sides with their names in lower case."""
        return tuple((joined.name.lower(), joined) for joined in self.joined)

    @once
    def by_joined(self) -> dict[str, JoinColumn]:
        """The columns of both sides by their names in lower case."""
        return dict(self.folded)

    def with_inputs(self, *inputs: Node) -> Node:
        left, right = inputs
        return self if left is self.left and right is self.right else replace(self, left=left, right=right)


class TopicScan(Node, frozen=True, eq=False, kw_only=True):
    """The records of a topic as bytes: key, value, headers, topic, partition, offset, timestamp."""

    relation: str
    """Id of the source, or of the model whose sink it is."""
    topic: str


class Given(Node, frozen=True, eq=False, kw_only=True):
    """A relation of which only this is known: what a model is checked against before there is a plan."""

    relation: str
    mode: Literal["append", "upsert", "static"] = "append"
    keys: tuple[str, ...] = ()
    watermarks: tuple[tuple[str, str], ...] = ()
    below: tuple[Any, ...] = ()
    """The steps with state that its rows pass in the query that makes them (`streaming.Kind`)."""
    spaced: tuple[tuple[str, int, bool], ...] = ()
    """Times of which it is known how far apart they are: column, microseconds, whether it is a window."""


class SeedScan(Node, frozen=True, eq=False, kw_only=True):
    relation: str


class TableScan(Node, frozen=True, eq=False, kw_only=True):
    """The newest rows of a state table or reference topic; or its changes, as they come."""

    relation: str
    changes: bool = False
    keys: tuple[str, ...] = ()
    stored: bool = True
    """Whether it is a table; else these are rows of a view that a test gives."""


class Decode(Unary, frozen=True, eq=False, kw_only=True):
    """Records become columns: fields of the value, the key, and metadata such as `_offset`."""

    relation: str
    format: Encoding
    fields: tuple[Column, ...] = ()
    """What is decoded from the value, narrowed to what is read."""
    key: Column | None = None
    metadata: tuple[str, ...] = ()
    key_type: Type = STRING
    """What `_key` is read as."""
    on_bad_record: str = "fail"
    unique_by: tuple[str, ...] = ()
    """The topic holds the newest row per key; a null value deletes it."""

    def derived_columns(self) -> tuple[Column, ...]:
        key = (self.key,) if self.key else ()
        metadata = (
            Column(name, self.key_type) if name == "_key" else METADATA[name] for name in self.metadata
        )
        return (*key, *self.fields, *metadata)


class Filter(Unary, frozen=True, eq=False, kw_only=True):
    """Keep rows for which all conditions hold; over an upsert relation, delete the others."""

    conditions: tuple[Expression, ...]


class Project(Unary, frozen=True, eq=False, kw_only=True):
    items: tuple[Item, ...]
    keys: tuple[str, ...] = ()
    """Over an upsert relation: columns that tell rows apart as well as its keys do, used for them above."""

    def derived_columns(self) -> tuple[Column, ...]:
        return tuple([Column(i.name, i.expression.type, i.expression.nullable) for i in self.items])

    @once
    def made(self) -> dict[str, Expression]:
        """What each column is made of."""
        return {item.name: item.expression for item in self.items}

    @once
    def calculated(self) -> dict[str, Expression]:
        """What those columns are made of that are more than one of the input under its own name."""
        return {name: each for name, each in self.made.items() if each.column != name}

    @once
    def read(self) -> frozenset[str]:
        """The columns of the input that it reads, in lower case."""
        return frozenset[str]().union(*[each.folded for each in self.made.values()])

    @once
    def deterministic(self) -> bool:
        return all(item.expression.deterministic for item in self.items)


class Expand(Unary, frozen=True, eq=False, kw_only=True):
    """Rows made from each row: `explode(items)`; its columns come after those of the input."""

    call: Expression
    function: str
    made: tuple[Column, ...]
    python: bool = False
    outer: bool = False

    def derived_columns(self) -> tuple[Column, ...]:
        return (*self.input.columns, *self.made)


class Repartition(Unary, frozen=True, eq=False, kw_only=True):
    """Bring rows of one key together, for what keeps state by it; no keys: all rows in one place."""

    keys: tuple[str, ...]


class Aggregate(Unary, frozen=True, eq=False, kw_only=True):
    """One row per group: the keys, then the measures."""

    keys: tuple[Item, ...]
    """Columns of the input (renamed perhaps), and at most one `window(…)` or `session_window(…)`."""
    measures: tuple[Measure, ...]
    emit: Emit = "on_change"

    def derived_columns(self) -> tuple[Column, ...]:
        keys = tuple(Column(k.name, k.expression.type, k.expression.nullable) for k in self.keys)
        return (*keys, *(Column(m.name, m.call.type, m.call.nullable) for m in self.measures))

    @property
    def window(self) -> Item | None:
        """The key that is a window of time."""
        return next((key for key in self.keys if key.expression.column is None), None)


class Dedupe(Unary, frozen=True, eq=False, kw_only=True):
    """The first row of each key; `within` a time, after which it is forgotten."""

    keys: tuple[str, ...]
    within: str | None = None


class Watermark(Unary, frozen=True, eq=False, kw_only=True):
    """How late rows of an event time may come."""

    time: str
    delay: str
    copy: int = 0
    """Tells copies of the same rows apart in one query."""


class Stateful(Unary, frozen=True, eq=False, kw_only=True):
    """A Python function that keeps state by key."""

    function: str
    keys: tuple[str, ...]
    made: tuple[Column, ...]
    ttl: str | None = None
    """How long the state of a key that does not come again is kept; None: for ever."""

    def derived_columns(self) -> tuple[Column, ...]:
        return self.made


class Join(Binary, frozen=True, eq=False, kw_only=True):
    """Two streams, or two relations at rest."""


class Lookup(Binary, frozen=True, eq=False, kw_only=True):
    """A stream (left) with the newest version of a relation at rest (right)."""

    broadcast: bool = False


class Union(Node, frozen=True, eq=False, kw_only=True):
    """Rows of all inputs, columns by position; one relation twice counts twice."""

    sides: tuple[Node, ...]
    types: tuple[Type, ...] = ()
    """The common types, where the sides differ."""

    def derived_columns(self) -> tuple[Column, ...]:
        first, *others = (side.columns for side in self.sides)
        return tuple(
            Column(
                c.name,
                self.types[i] if self.types else c.type,
                c.nullable or any(o[i].nullable for o in others),
            )
            for i, c in enumerate(first)
        )

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.sides

    def with_inputs(self, *inputs: Node) -> Node:
        if all(a is b for a, b in zip(inputs, self.sides, strict=True)):
            return self
        return replace(self, sides=inputs)


class Opaque(Node, frozen=True, eq=False, kw_only=True):
    """SQL that is not understood: it runs as it is, and nothing moves across it."""

    reads: tuple[Node, ...]
    pieces: tuple[Piece, ...]
    """`Read` pieces name, in `relations`, which of the inputs stands there."""
    relations: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.reads

    def with_inputs(self, *inputs: Node) -> Node:
        if all(a is b for a, b in zip(inputs, self.reads, strict=True)):
            return self
        return replace(self, reads=inputs)


class Output(Unary, frozen=True, eq=False, kw_only=True):
    """A model that is stored, or a view that nobody else reads."""

    model: str
    kind: Literal["view", "sink", "table"]
    keys: tuple[str, ...] = ()
    """The columns of the record's key or of the table's."""
    options: dict[str, Any] = {}
    """Its configuration, as far as it is about storage."""
    extras: tuple[Item, ...] = ()
    """SQL of its options over the same columns: headers, `delete_when`."""
    checks: tuple[Check, ...] = ()
    """Asked of each row before it is stored."""


class Plan(Struct, frozen=True, dict=True):
    """All outputs of a project over shared nodes."""

    outputs: tuple[Output, ...]

    @once
    def order(self) -> tuple[Node, ...]:
        """All nodes, each once and after its inputs."""
        from millstream.plan.walk import in_order  # which itself knows plans

        return tuple(in_order(self.outputs))


def _content(value: Any) -> str:
    match value:
        case Expression():
            return value.content
        case Item(name=name, expression=expression):
            return f"Item({name},{expression.content})"
        case Check(name=name, severity=severity, wrong=wrong):
            return f"Check({name},{severity},{wrong.content})"
        case tuple():
            return f"({','.join(map(_content, value))})"
        case Node():
            return value.fingerprint
        case Measure():
            said = (_content(getattr(value, name)) for name in value.__struct_fields__)
            return f"Measure({','.join(said)})"
        case str() | bool() | None:
            return str(value)
        case _:
            return msgspec.json.encode(value).decode()


AnyNode = (
    TopicScan
    | Given
    | SeedScan
    | TableScan
    | Decode
    | Filter
    | Project
    | Expand
    | Repartition
    | Aggregate
    | Dedupe
    | Watermark
    | Stateful
    | Join
    | Lookup
    | Union
    | Opaque
    | Output
)
