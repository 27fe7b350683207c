"""One model's SQL as values, clause by clause and unchanged, from which the plan is built.

Names are resolved (`Ref.relation` is an alias of the same SELECT), stars are expanded, conjunctions are
split, and aggregates are separated from expressions over their results. `Ref.relation` is empty if the column
does not come from the FROM clause: it is a group key or measure by its name in `keys` or `measures`, or, in a
SELECT without groups, an earlier item of the same SELECT.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from millstream.core.expressions import Expression, Piece, Ref
from millstream.core.node_id import NodeId
from millstream.core.types import Type

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti", "cross"]


class SelectItem(Struct, frozen=True, array_like=True):
    """A named expression: of a SELECT list, or a group key."""

    name: str
    expression: Expression


class AggregateCall(Struct, frozen=True, array_like=True):
    """One call of an aggregate: `sum(x * 2) filter (where ok)`."""

    name: str
    """Its column: the item's alias, if the item is just this call."""
    call: Expression
    """The call without FILTER, over the columns of the ungrouped rows."""
    function: str
    """Its name in lower case."""
    condition: Expression | None = None
    """The condition of FILTER."""


class Scan(Struct, frozen=True, tag="scan", array_like=True):
    """A model, seed or topic, by its node id."""

    relation: NodeId


class Cte(Struct, frozen=True, tag="cte", array_like=True):
    """A CTE, by its key in `Query.ctes`."""

    name: str


class DerivedTable(Struct, frozen=True, tag="derived", array_like=True):
    """A query in parentheses."""

    query: Body


class GeneratedRows(Struct, frozen=True, tag="generated", array_like=True):
    """Rows generated from a row: `lateral view explode(items) t as item`, `lateral parse(event) as t`."""

    call: Expression
    """Reads columns of earlier relations."""
    columns: tuple[tuple[str, Type, bool], ...]
    """Name, type and nullability of the generated columns."""
    function: str
    """The generator's name; `python` is true if the project defines it."""
    python: bool = False
    outer: bool = False


Input = Scan | Cte | DerivedTable | GeneratedRows


class From(Struct, frozen=True, array_like=True):
    """One relation of a FROM clause, and how it is joined with earlier ones."""

    alias: str
    input: Input
    columns: tuple[str, ...]
    """The names of its columns in refs: those of the input, or of `as t(a, b)`."""
    join: JoinKind | None = None
    """None for the first relation and for LATERAL."""
    on: tuple[Expression, ...] = ()
    """Conjuncts, including those of USING and NATURAL."""
    watermark: tuple[Expression, str] | None = None
    """`WATERMARK expression DELAY OF interval`: the event time, and the interval's text."""
    start: int = 0
    stop: int = 0
    as_of: tuple[int, int] | None = None
    """Where the column of FOR SYSTEM_TIME AS OF is, which `on` compares with the times of versions."""


class Window(Struct, frozen=True, array_like=True):
    """One call with OVER."""

    partition: tuple[Expression, ...]
    """Its PARTITION BY, over the columns of the rows, or of the groups."""
    start: int
    stop: int
    """The name of the function."""
    order: tuple[Ref, ...] | None = None
    """The columns of its PARTITION BY and ORDER BY, if the order of equal rows matters."""


class Subquery(Struct, frozen=True, array_like=True):
    """A query within an expression; its refs to the enclosing SELECT begin with `OUTER`."""

    body: Body | None
    """None if it can't be split."""
    left: tuple[Expression, ...]
    """The columns before IN; empty for EXISTS and for a value."""
    start: int
    stop: int


OUTER = "^"
"""Precedes the alias in `Ref.relation` if the column belongs to the enclosing SELECT."""


class Select(Struct, frozen=True, tag="select", array_like=True):
    items: tuple[SelectItem, ...]
    relations: tuple[From, ...]
    where: tuple[Expression, ...] = ()
    keys: tuple[SelectItem, ...] | None = None
    """None without groups; empty for one group of all rows."""
    measures: tuple[AggregateCall, ...] = ()
    having: tuple[Expression, ...] = ()
    distinct: bool = False
    hints: tuple[str, ...] = ()
    """The text of `/*+ … */`, which changes no rows."""
    start: int = 0
    stop: int = 0
    sets: tuple[tuple[str, ...], ...] = ()
    """The names of the keys in each grouping set of ROLLUP, CUBE and GROUPING SETS."""
    windows: tuple[Window, ...] = ()
    """The window functions in its list and in QUALIFY, which is not part of this value."""
    subqueries: tuple[Subquery, ...] = ()


SetOperator = Literal["union", "intersect", "except"]


class SqlUnion(Struct, frozen=True, tag="union", array_like=True):
    """UNION of queries by position (BY NAME is reordered), with the names of the first.

    In `Query.at_rest`, also INTERSECT and EXCEPT.
    """

    sides: tuple[Body, ...]
    distinct: bool = False
    types: tuple[Type, ...] = ()
    """The common types of the sides' columns."""
    start: int = 0
    stop: int = 0
    operator: SetOperator = "union"


class OpaqueBody(Struct, frozen=True, tag="whole", array_like=True):
    """Opaque SQL, which runs unchanged; `Read` pieces replace the names of relations."""

    pieces: tuple[Piece, ...]
    reasons: tuple[str, ...]
    start: int = 0
    stop: int = 0


Body = Select | SqlUnion | OpaqueBody


def names_of(body: Body) -> tuple[str, ...]:
    """Return the names of a query's columns; none of opaque SQL."""
    while isinstance(body, SqlUnion):
        body = body.sides[0]
    return tuple(item.name for item in body.items) if isinstance(body, Select) else ()


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
    "union",
]


class Form(Struct, frozen=True, array_like=True):
    """A construct that needs more than one row; the plan decides what it means over a stream."""

    kind: FormKind
    reads: tuple[NodeId, ...]
    """The relations whose rows it needs, by node id."""
    others: tuple[NodeId, ...] = ()
    """For a join or a union, the relations of its other side."""
    start: int = 0
    stop: int = 0


class PythonCall(Struct, frozen=True, array_like=True):
    """A call of a Python function in SQL that is not analyzed clause by clause."""

    name: str
    rows: bool
    """It returns rows."""
    start: int
    stop: int


class SqlQuery(Struct, frozen=True, array_like=True):
    body: Body
    ctes: dict[str, Body] = {}
    """By a unique name, ordered so that each only reads earlier ones."""
    forms: tuple[Form, ...] = ()
    """Those of the whole SQL, including opaque parts."""
    text: tuple[Piece, ...] = ()
    """The whole SQL, for tables: all of their rows can be computed from tables at any time."""
    called: tuple[str, ...] = ()
    """With `text`: the Python functions that it calls."""
    at_rest: SqlQuery | None = None
    """With `text`: clause by clause, also with what is opaque over a stream, if it can be split."""
    changing: tuple[str, ...] = ()
    """With `text`: what gives other values each time, besides Spark's functions, and why."""
    python_calls: tuple[PythonCall, ...] = ()
    """With `text`, or if the body is opaque."""
