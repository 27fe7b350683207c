"""The parts of nodes: columns, items, measures, checks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, column_expression, join_pieces
from millstream.core.node_id import NodeId
from millstream.core.types import BIGINT, BINARY, BOOLEAN, INT, STRING, TIMESTAMP, Array, Field, Row, Type

Emit = Literal["on_change", "on_close"]
JoinKind = Literal["inner", "left", "right", "full", "semi", "anti", "cross"]


class Column(Struct, frozen=True):
    name: str
    type: Type
    nullable: bool = True

    @property
    def expression(self) -> Expression:
        """The expression that reads it."""
        return column_expression(self.name, self.type, nullable=self.nullable)

    @property
    def item(self) -> Item:
        """The item that passes it on."""
        return Item(self.name, self.expression)


class Item(Struct, frozen=True):
    """A column and the expression that computes it."""

    name: str
    expression: Expression

    def __str__(self) -> str:
        return self.name if self.expression.column == self.name else f"{self.name} = {self.expression}"


class Measure(Struct, frozen=True):
    """A column that an aggregate computes: `sum(x * 2) filter (where ok)`."""

    name: str
    call: Expression
    function: str
    condition: Expression | None = None

    @property
    def expressions(self) -> tuple[Expression, ...]:
        return (self.call,) if self.condition is None else (self.call, self.condition)

    def __str__(self) -> str:
        condition = f" filter (where {self.condition})" if self.condition else ""
        return f"{self.name} = {self.call}{condition}"


class Matched(Measure, frozen=True):
    """Whether a group meets a condition, or met it before the batch: its state has copies of what is read."""

    copies: tuple[str, ...] = ()
    """The measures and keys of the same aggregate."""


class RowCheck(Struct, frozen=True):
    """A row check: rows fail if `wrong` is true."""

    name: str
    severity: Literal["warn", "error", "drop", "dead_letter"]
    wrong: Expression

    @property
    def keeps_out(self) -> bool:
        """Whether failing rows are not stored."""
        return self.severity in {"drop", "dead_letter"}

    @property
    def passed(self) -> Expression:
        """The condition for rows that pass."""
        pieces = join_pieces(("not coalesce(", *self.wrong.pieces, ", false)"))
        return replace(self.wrong, pieces=pieces, nullable=False, atomic=False)


class Meter(Struct, frozen=True):
    """A metric of a model's rows, which its query computes for each batch."""

    name: str
    type: Literal["counter", "gauge", "histogram", "timer", "meter"]
    fold: Literal["sum", "min", "max", "avg"]
    """What a gauge is of its numbers; all others are sums."""
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    most: int = 100
    """The most combinations of labels that are kept apart."""
    description: str = ""


class Metering(Struct, frozen=True):
    """A metric and what a row adds to it."""

    meter: Meter
    text: Expression
    """A number and its labels, each after a NUL; NULL if the row does not count."""


class RowLog(Struct, frozen=True):
    """How a run logs rows of a model."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    sample: float = 1.0
    """The share of rows that is logged."""
    per_minute: int = 60
    """The most lines per minute."""


class LoggedRows(Struct, frozen=True):
    """Which rows of a model are logged, and what of them."""

    log: RowLog
    text: Expression
    """The logged columns of a row as JSON; NULL if it is not logged."""


class RecordValidity(Struct, frozen=True):
    """A hidden column of decoded records: whether all columns that a model reads could be decoded."""

    name: str
    columns: tuple[str, ...]
    """In lower case, sorted."""

    @property
    def expression(self) -> Expression:
        return column_expression(self.name, BOOLEAN, nullable=False)


def good_of(columns: Iterable[str]) -> RecordValidity:
    """Return the column for some columns; its name only depends on them, so that equal ones are shared."""
    names = tuple(sorted({name.lower() for name in columns}))
    return RecordValidity(f"{_GOOD}{blake2b(','.join(names).encode(), digest_size=4).hexdigest()}", names)


def is_good(condition: Expression) -> bool:
    """Whether a condition only keeps records that are good for a model."""
    return is_hidden(condition.column or "")


def is_hidden(name: str) -> bool:
    """Whether a column says if a record is good for a model; users don't see it."""
    return name.startswith(_GOOD)


_GOOD = "_good_"
GOOD_TEXT = "record is good"


def with_good(text: str) -> str:
    """Return a text for users, without names of hidden columns."""
    return re.sub(rf"\b{_GOOD}[0-9a-f]{{8}}\b", GOOD_TEXT, text) if _GOOD in text else text


class ReadColumns(Struct, frozen=True):
    """The columns of a source that a model reads, at any depth: if one of them is bad, the record is."""

    relation: NodeId
    columns: tuple[Column, ...]
    """Those of values."""
    key: bool = False

    def __or__(self, other: ReadColumns) -> ReadColumns:
        names = {column.name for column in self.columns}
        new = (column for column in other.columns if column.name not in names)
        return ReadColumns(self.relation, (*self.columns, *new), self.key or other.key)


class JoinColumn(Struct, frozen=True):
    """A column of a join: its side, and its name there."""

    name: str
    side: Literal["left", "right"]
    source: str


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

RECORD_TIME, RECORD_HEADERS = "_millstream_time", "_millstream_headers"
"""Columns of a sink's rows that are no part of its value: the time of its records, and headers."""
RELAYED_TIME = "_millstream_record_time"
"""The column of a topic between two queries with the time of the record that a row comes from."""
CARRIED = frozenset((RECORD_TIME, RECORD_HEADERS))

METADATA = {f"_{raw.name}": replace(raw, name=f"_{raw.name}") for raw in RAW if raw.name != "value"}
"""The metadata columns of every record."""


# -- as text


def columns_text(columns: Iterable[Column]) -> str:
    return ", ".join(column.name for column in columns)


def conditions_text(conditions: Sequence[Expression]) -> str:
    """Return conditions as text. That a record is good for a model is only said where nothing else is."""
    shown = [
        condition
        for condition in conditions
        if not (condition.columns and all(map(is_hidden, condition.columns)))
    ]
    if conditions and not shown:
        return GOOD_TEXT
    texts = [(with_good(str(condition)), condition.atomic) for condition in shown]
    return " and ".join(text if atomic or " or " not in text else f"({text})" for text, atomic in texts)
