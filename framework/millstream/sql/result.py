"""The result of a query, for the enclosing query or its model."""

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from millstream.sql.query import Body
from millstream.sql.scope import NOTHING, Bound, names_within, renamed
from millstream.sql.values import Source


class Result(Struct, gc=False):
    """The columns of a query, and the lineage of its rows."""

    columns: list[Bound]
    rows: frozenset[Source] = NOTHING
    open: str = ""
    origins: list[exp.Expr] = []
    """For each column, its item in the SELECT list."""
    body: Body | None = None
    """The query clause by clause; None if it can't be split."""
    cte: str = ""
    """The key of the CTE, if it is one."""
    names: tuple[str, ...] = ()
    """The columns of `body`, if the alias of a CTE renames them."""
    reads: frozenset[str] = frozenset()
    """The models, seeds and topics that it reads, by node id."""


def with_names(result: Result, names: list[str]) -> Result:
    """Return a result with the column names of its alias, `as t(a, b)`."""
    if not names:
        return result
    return replace(result, columns=renamed(result.columns, names), names=names_within(result.columns))
