"""The results of analyzing one model's SQL, as values without sqlglot's types."""

from typing import Literal

from msgspec import Struct

from millstream.core.errors import UnlocatedDiagnostic
from millstream.core.node_id import NodeId
from millstream.core.types import Type
from millstream.sql.query import SqlQuery

Kind = Literal["direct", "computed", "filter", "join", "group", "order"]
Source = tuple[NodeId, str, Kind]
"""Node id, column, and kind of influence."""


class SqlDiagnostic(UnlocatedDiagnostic, frozen=True):
    """An error at `sql[start:stop]` of the rendered SQL."""

    start: int = 0
    stop: int = 0
    needle: str = ""
    """The wrong name, as written."""
    noticed: int | None = None
    """Where the error shows if `start` is its likely cause."""
    before: int | None = None
    """Where the token before an unexpected one ends."""
    opened: tuple[tuple[int, int | None], ...] = ()
    """Where an open parenthesis or bracket is, and those within it, each with where it is closed."""


class ResultColumn(Struct, frozen=True):
    name: str
    type: Type
    nullable: bool
    sources: frozenset[Source]
    """Where its value comes from."""


class SqlWatermark(Struct, frozen=True):
    """`WATERMARK expression DELAY OF interval` after a relation of a FROM clause."""

    relation: str
    expression: str
    delay: str


class SqlCast(Struct, frozen=True):
    """A written cast, with the type of what it converts."""

    start: int
    stop: int
    source: Type
    target: Type


class Analysis(Struct, frozen=True):
    columns: tuple[ResultColumn, ...] = ()
    rows: frozenset[Source] = frozenset()
    """The columns that decide which rows exist: filter, join, group, order."""
    functions: tuple[str, ...] = ()
    """Python functions that are called."""
    opaque: tuple[str, ...] = ()
    """Why the SQL is opaque to the optimizer."""
    open: bool = False
    """Whether there may be columns besides `columns`."""
    watermarks: tuple[SqlWatermark, ...] = ()
    diagnostics: tuple[SqlDiagnostic, ...] = ()
    query: SqlQuery | None = None
    """The SQL clause by clause; None if there are errors."""
    casts: tuple[SqlCast, ...] = ()


class RelationColumn(Struct, frozen=True):
    name: str
    type: Type
    nullable: bool = True
    hidden: bool = False
    """Excluded from `*`, like the metadata columns of a topic."""


class InputRelation(Struct, frozen=True):
    """A model, seed or topic that SQL can read."""

    id: NodeId
    columns: tuple[RelationColumn, ...]
    open: bool = False
    """Some of its columns are unknown, so any name is assumed to exist."""
