"""What one model's SQL says, as values that a plan is made of: clause by clause, nothing rewritten.

Names are resolved (`Ref.relation` is an alias of the same SELECT), stars expanded, conjunctions split, and
aggregates are told apart from what is done with their results. Where an expression reads something else
than a column of a FROM clause, `Ref.relation` is empty: a group key or a measure by its name in `keys` and
`measures`, or, in a SELECT that does not group, an earlier item of the same SELECT.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from millstream.expressions import Expression, Piece
from millstream.types import Type

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti", "cross"]


class Item(Struct, frozen=True, array_like=True):
    """A named expression: of a SELECT list, or a group key."""

    name: str
    expression: Expression


class Measure(Struct, frozen=True, array_like=True):
    """One call of an aggregate: `sum(x * 2) filter (where ok)`."""

    name: str
    """The column that it becomes: the item's alias when the call is all of the item."""
    call: Expression
    """The call without FILTER; its columns are those of the rows that are grouped."""
    function: str
    """Its name in lower case."""
    condition: Expression | None = None
    """What FILTER says."""


class Scan(Struct, frozen=True, tag="scan", array_like=True):
    """A model, seed or topic, by its node id."""

    relation: str


class Cte(Struct, frozen=True, tag="cte", array_like=True):
    """A CTE, by its key in `Query.ctes`."""

    name: str


class Derived(Struct, frozen=True, tag="derived", array_like=True):
    """A query in parentheses."""

    query: Body


class Generated(Struct, frozen=True, tag="generated", array_like=True):
    """Rows made from a row: `lateral view explode(items) t as item`, `lateral parse(event) as t`."""

    call: Expression
    """Reads columns of the relations before it."""
    columns: tuple[tuple[str, Type, bool], ...]
    """Name, type, nullable of what it makes."""
    function: str
    """The generator's name; `python` tells whether the project defines it."""
    python: bool = False
    outer: bool = False


Input = Scan | Cte | Derived | Generated


class From(Struct, frozen=True, array_like=True):
    """One relation of a FROM clause, and how it is joined with those before it."""

    alias: str
    input: Input
    columns: tuple[str, ...]
    """Its columns by the names that refs use: those of the input, or of `as t(a, b)`."""
    join: JoinKind | None = None
    """None for the first relation and for what a LATERAL makes."""
    on: tuple[Expression, ...] = ()
    """Conjuncts; those of USING and NATURAL are written out."""
    watermark: tuple[Expression, str] | None = None
    """`WATERMARK expression DELAY OF interval`: the event time, and the interval's text."""
    start: int = 0
    stop: int = 0


class Select(Struct, frozen=True, tag="select", array_like=True):
    items: tuple[Item, ...]
    relations: tuple[From, ...]
    where: tuple[Expression, ...] = ()
    keys: tuple[Item, ...] | None = None
    """None: it does not group. Empty: one group of all rows."""
    measures: tuple[Measure, ...] = ()
    having: tuple[Expression, ...] = ()
    distinct: bool = False
    hints: tuple[str, ...] = ()
    """What stands in `/*+ … */`: a wish, that changes no rows."""
    start: int = 0
    stop: int = 0


class Union(Struct, frozen=True, tag="union", array_like=True):
    """UNION of queries, columns by position (BY NAME is put in order); names are those of the first."""

    sides: tuple[Body, ...]
    distinct: bool = False
    types: tuple[Type, ...] = ()
    """What the columns of all sides become."""
    start: int = 0
    stop: int = 0


class Whole(Struct, frozen=True, tag="whole", array_like=True):
    """SQL that is not understood, run as it is; `Read` pieces stand where it names relations."""

    pieces: tuple[Piece, ...]
    reasons: tuple[str, ...]
    start: int = 0
    stop: int = 0


Body = Select | Union | Whole


FormKind = Literal[
    "window function",
    "sort",
    "limit",
    "set operation",
    "grouping sets",
    "sample",
    "pivot",
    "recursion",
    "subquery",
    "session of all rows",
    "row number",
    "grouping",
    "distinct",
    "join",
    "outer join",
]


class Form(Struct, frozen=True, array_like=True):
    """A construct that looks at more than one row, whose meaning over a stream is for the plan to say."""

    kind: FormKind
    reads: tuple[str, ...]
    """The relations whose rows it is about, by node id."""
    others: tuple[str, ...] = ()
    """Of a join: the relations of its other side."""
    start: int = 0
    stop: int = 0


class Query(Struct, frozen=True, array_like=True):
    body: Body
    ctes: dict[str, Body] = {}
    """By a name that is unique in the model, in an order in which each reads only those before it."""
    forms: tuple[Form, ...] = ()
    """In all of the SQL, whether it is understood or not."""
