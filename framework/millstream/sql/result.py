"""What a query gives: to the query around it, or to its model."""

from msgspec import Struct
from sqlglot import exp

from millstream.sql.query import Body
from millstream.sql.scope import NOTHING, Bound
from millstream.sql.values import Source


class Result(Struct, gc=False):
    """The columns of a query, and what decides its rows."""

    columns: list[Bound]
    rows: frozenset[Source] = NOTHING
    open: str = ""
    origins: list[exp.Expr] = []
    """The item of the SELECT list that each column is of."""
    body: Body | None = None
    """What it says; None where it can't be taken apart."""
    cte: str = ""
    """The key of the CTE that it is."""
    names: tuple[str, ...] = ()
    """The columns of `body`, where the alias of a CTE names them anew."""
    reads: frozenset[str] = frozenset()
    """The models, seeds and topics whose rows its rows are made from, by node id."""


def renamed(result: Result, names: list[str]) -> Result:
    """Give a query the column names of its alias, `as t(a, b)`."""
    if not names:
        return result
    columns = [
        Bound(
            names[index] if index < len(names) else column.name, column.type, column.nullable, column.sources
        )
        for index, column in enumerate(result.columns)
    ]
    own = tuple(column.name for column in result.columns)
    return Result(
        columns, result.rows, result.open, result.origins, result.body, result.cte, own, result.reads
    )
