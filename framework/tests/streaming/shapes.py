"""Projects as values, from which both Millstream's files and the oracle's SQL are written.

Expressions are tuples: `("col", name)`, `("lit", value)`, and calls: `("upper", expression)`. Kinds of columns are
`s` text, `i` bigint, `t` time. The oracle has times as microseconds since 1970.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

Expr = tuple[Any, ...]
Items = tuple[tuple[str, Expr], ...]
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
SECOND = 1_000_000


@dataclass(frozen=True)
class Source:
    name: str
    columns: dict[str, str]
    key: str
    time: str = ""
    delay: int = 0
    """Seconds."""
    table: bool = False

    @property
    def id(self) -> str:
        return f"source.shop.{self.name}"


@dataclass(frozen=True)
class Seed:
    name: str
    columns: dict[str, str]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Select:
    of: str
    items: Items
    where: Expr | None = None


@dataclass(frozen=True)
class Window:
    time: Expr
    """`("col", name)`, `("window_time", name)`, or `("window", name)` for the window of what is read."""
    size: int
    """Seconds; of a session, its gap."""
    slide: int = 0
    session: bool = False


@dataclass(frozen=True)
class Group:
    of: str
    keys: Items
    measures: tuple[tuple[str, str, Expr | None], ...]
    """Name, function, argument."""
    window: Window | None = None
    bounds: tuple[str, ...] = ()
    """Names of the window's start and end, or of both as one column."""
    where: Expr | None = None
    having: int | None = None
    """The first measure is greater than this."""
    watermark: tuple[str, int] | None = None
    """`watermark <column> delay of interval <seconds>` on what is read."""

    @property
    def is_window_column(self) -> bool:
        """Tell whether the window is a column as it is."""
        return len(self.bounds) == 1


@dataclass(frozen=True)
class Distinct:
    of: str
    names: tuple[str, ...]
    where: Expr | None = None


@dataclass(frozen=True)
class Explode:
    of: str
    text: str
    name: str
    """Of the made column: the parts of the text between letters `a`."""
    names: tuple[str, ...]
    outer: bool = False


@dataclass(frozen=True)
class Union:
    sides: tuple[Select, ...]


@dataclass(frozen=True)
class Lookup:
    of: str
    at_rest: str
    on: str
    key: str
    kind: str
    """`join` or `left join`."""
    names: tuple[str, ...]
    added: tuple[tuple[str, str], ...]
    """Names here, and there."""


@dataclass(frozen=True)
class Join:
    left: str
    right: str
    kind: str
    """`join`, `left join` or `left semi join`."""
    on: tuple[str, str]
    times: tuple[str, str]
    before: int
    after: int
    """Seconds: `r.time between l.time - before and l.time + after`."""
    names: tuple[tuple[str, str, str], ...]
    """Side, column, name."""


Body = Select | Group | Distinct | Explode | Union | Lookup | Join


@dataclass(frozen=True)
class Model:
    name: str
    kind: str
    body: Body
    key: tuple[str, ...] = ()
    order_by: str = ""
    emit: str = ""
    dedupe: tuple[tuple[str, ...], int | None] | None = None
    """Keys, and seconds."""
    test: tuple[Expr, str] | None = None
    """What is true of a good row, and the severity."""

    @property
    def id(self) -> str:
        return f"model.{self.name}"


@dataclass(frozen=True)
class Project:
    sources: tuple[Source, ...]
    seeds: tuple[Seed, ...]
    models: tuple[Model, ...]
    bad: str = "dead_letter"
    by_name: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)

    def __post_init__(self) -> None:
        self.by_name.update(
            {relation.name: relation for relation in (*self.sources, *self.seeds, *self.models)}
        )


def reads(body: Body) -> tuple[str, ...]:
    """Return the names of what a model reads, as streams first."""
    match body:
        case Union(sides=sides):
            return tuple(side.of for side in sides)
        case Lookup():
            return body.of, body.at_rest
        case Join():
            return body.left, body.right
        case _:
            return (body.of,)


def instant(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
