"""The table with the rows of one batch, before they are merged, in the words of SQL."""

from __future__ import annotations

from millstream.queries.values import TableOutput
from millstream.stores.databases.schema import stored_name
from millstream.stores.databases.sql import WrittenSql, write_sql

ATTEMPT = "_millstream_attempt"
DELETED = "_deleted"


def newer(table: TableOutput, new: str) -> WrittenSql:
    """Return the condition for a row of `new` to replace that of `old`; NULL is the lowest value."""
    order_by = table.options.get("order_by")
    if not order_by:
        return WrittenSql("true")
    text = "(old.{column} is null or {new}.{column} >= old.{column})"
    return write_sql(text, column=stored_name(order_by), new=WrittenSql(new))


def for_each(text: str, names: list[str], separator: str) -> WrittenSql:
    """Write a text with each of some names in place of `{name}`."""
    return WrittenSql(separator.join(write_sql(text, name=name) for name in names))
