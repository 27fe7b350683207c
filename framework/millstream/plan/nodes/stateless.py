"""Nodes that keep nothing between rows."""

from __future__ import annotations

from typing import Any, Literal

from msgspec.structs import replace

from millstream.expressions import Expression, Piece
from millstream.formats import Encoding
from millstream.once import once
from millstream.plan.nodes.base import Binary, Node, Unary
from millstream.plan.nodes.parts import METADATA, Check, Column, Item, columns_text, conditions_text
from millstream.types import STRING, Type


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

    participle = "decoded"

    @property
    def summary(self) -> str:
        return f"decode {self.format}: {columns_text(self.columns)}"

    def derived_columns(self) -> tuple[Column, ...]:
        key = (self.key,) if self.key else ()
        metadata = (
            Column(name, self.key_type) if name == "_key" else METADATA[name] for name in self.metadata
        )
        return (*key, *self.fields, *metadata)


class Filter(Unary, frozen=True, eq=False, kw_only=True):
    """Keep rows for which all conditions hold; over an upsert relation, delete the others."""

    conditions: tuple[Expression, ...]

    participle = "filtered"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return self.conditions

    @property
    def summary(self) -> str:
        return f"filter {conditions_text(self.conditions)}"


class Project(Unary, frozen=True, eq=False, kw_only=True):
    items: tuple[Item, ...]
    keys: tuple[str, ...] = ()
    """Over an upsert relation: columns that tell rows apart as well as its keys do, used for them above."""

    participle = "selected"
    one_to_one = True

    @property
    def operator(self) -> str:
        return "select"

    @property
    def noun(self) -> str:
        return "projection"

    @property
    def summary(self) -> str:
        return f"project {', '.join(map(str, self.items))}"

    @once
    def expressions(self) -> tuple[Expression, ...]:
        return tuple([item.expression for item in self.items])

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


class Expand(Unary, frozen=True, eq=False, kw_only=True):
    """Rows made from each row: `explode(items)`; its columns come after those of the input."""

    call: Expression
    function: str
    made: tuple[Column, ...]
    python: bool = False
    outer: bool = False

    participle = "expanded"

    @property
    def noun(self) -> str:
        return "expansion"

    @property
    def summary(self) -> str:
        outer = "outer " if self.outer else ""
        return f"expand {outer}{self.call} as {columns_text(self.made)}"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.call,)

    @property
    def own_function(self) -> str:
        return self.function if self.python and not self.call.functions else ""

    def origin(self, name: str) -> tuple[Node, str] | None:
        return None if name.lower() in {made.name.lower() for made in self.made} else (self.input, name)

    def derived_columns(self) -> tuple[Column, ...]:
        return (*self.input.columns, *self.made)


class Repartition(Unary, frozen=True, eq=False, kw_only=True):
    """Bring rows of one key together, for what keeps state by it; no keys: all rows in one place."""

    keys: tuple[str, ...]

    participle = "by_key"
    one_to_one = True

    @property
    def summary(self) -> str:
        return f"repartition by {', '.join(self.keys) or 'nothing: all in one place'}"


class Watermark(Unary, frozen=True, eq=False, kw_only=True):
    """How late rows of an event time may come."""

    time: str
    delay: str
    copy: int = 0
    """Tells copies of the same rows apart in one query."""

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
    """The common types, where the sides differ."""

    participle = "united"

    @property
    def summary(self) -> str:
        return "union"

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

    participle = "opaque"

    @property
    def operator(self) -> str:
        return "sql"

    @property
    def summary(self) -> str:
        return f"opaque: {'; '.join(self.reasons)}"

    @once
    def deterministic(self) -> bool:
        return False  # who knows what it calls

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

    @property
    def operator(self) -> str:
        return self.kind

    @property
    def summary(self) -> str:
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        return f"{self.kind} {self.model.removeprefix('model.')}{keys}"

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (*(item.expression for item in self.extras), *(check.wrong for check in self.checks))
