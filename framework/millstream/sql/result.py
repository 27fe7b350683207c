"""The result of a query, for the enclosing query or its model."""

from msgspec import Struct
from msgspec.structs import replace
from sqlglot import exp

from millstream.core.node_id import NodeId
from millstream.sql.query import Body
from millstream.sql.scope import NOTHING, BoundColumn, Scope, names_within, rename_columns
from millstream.sql.values import Source


class BoundQuery(Struct, gc=False):
    """The columns of a query, and the lineage of its rows."""

    columns: list[BoundColumn]
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
    reads: frozenset[NodeId] = frozenset()
    """The models, seeds and topics that it reads, by node id."""
    scope: Scope | None = None
    """The relations of a SELECT, or of the first one of a set operation."""


def with_names(result: BoundQuery, names: list[str]) -> BoundQuery:
    """Return a result with the column names of its alias, `as t(a, b)`."""
    if not names:
        return result
    return replace(result, columns=rename_columns(result.columns, names), names=names_within(result.columns))
