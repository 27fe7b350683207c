"""What the analysis of one model's SQL finds, in values that know nothing of sqlglot."""

from typing import Literal

from msgspec import Struct

from millstream.sql.query import Query
from millstream.types import Type

Kind = Literal["direct", "computed", "filter", "join", "group", "order"]
Source = tuple[str, str, Kind]
"""Node id, column, and how it has influence."""


class Problem(Struct, frozen=True):
    """A mistake at `sql[start:stop]` of the rendered SQL."""

    code: str
    message: str
    start: int
    stop: int
    help: str = ""
    needle: str = ""
    """The name that is wrong, as written."""


class ResultColumn(Struct, frozen=True):
    name: str
    type: Type
    nullable: bool
    sources: frozenset[Source]
    """Where its value comes from."""


class Watermark(Struct, frozen=True):
    """`WATERMARK expression DELAY OF interval` after a relation of a FROM clause."""

    relation: str
    expression: str
    delay: str


class Analysis(Struct, frozen=True):
    columns: tuple[ResultColumn, ...] = ()
    rows: frozenset[Source] = frozenset()
    """What decides which rows there are: filter, join, group, order."""
    functions: tuple[str, ...] = ()
    """Python functions that are called."""
    opaque: tuple[str, ...] = ()
    """Why the SQL is not understood as far as the optimizer needs it."""
    open: bool = False
    """There may be columns beside `columns`."""
    watermarks: tuple[Watermark, ...] = ()
    problems: tuple[Problem, ...] = ()
    query: Query | None = None
    """What it says, clause by clause; None where something is wrong."""


class RelationColumn(Struct, frozen=True):
    name: str
    type: Type
    nullable: bool = True
    hidden: bool = False
    """Not part of `*`: the metadata columns of a topic."""


class InputRelation(Struct, frozen=True):
    """A model, seed or topic that SQL can read."""

    id: str
    columns: tuple[RelationColumn, ...]
    open: bool = False
    """Its columns are not all known: any name is taken as given."""
