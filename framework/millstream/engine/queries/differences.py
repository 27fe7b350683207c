"""The differences between the rows that a table should have and those that it has."""

from __future__ import annotations

from millstream.core.expressions import quote_name
from millstream.core.types import has_equality
from millstream.plan.nodes.maintenance import STORED_TOUCHED
from millstream.queries.values import TableOutput

NEW, STORED = "_millstream_new", "_millstream_stored"
"""The views of the rows that the SQL gives, and of those in the table."""
COPIES = "_millstream_copies"
"""The column that counts the rows with the same key."""
PRESENT = "_present"
"""The column that says whether the table has the key."""


def differences_sql(target: TableOutput, kept_out: str = "") -> str:
    """Return the rows to store, and all rows of keys that are not unique: `COPIES` counts these.

    With a condition `kept_out`, stored rows that a data test keeps out by now are deleted. The new rows are
    there, too, so that the test finds them.
    """
    names = [quote_name(column.name) for column in target.columns]
    keys = ", ".join(quote_name(key) for key in target.keys)
    on = " and ".join(f"n.{quote_name(key)} <=> s.{quote_name(key)}" for key in target.keys)
    compared = all(has_equality(column.type) for column in target.columns)
    same = " and ".join(f"n.{name} <=> s.{name}" for name in names) if compared else "false"
    items = ", ".join(f"if(n.{COPIES} is null, s.{name}, n.{name}) as {name}" for name in names)
    joined = (
        f"(select *, count(*) over (partition by {keys}) as {COPIES} from {NEW}) as n",  # noqa: S608 -- quoted names
        f"full join (select *, true as {PRESENT} from {STORED_TOUCHED}) as s on {on}",  # noqa: S608
    )
    wrong = f" or (s.{PRESENT} and n.{COPIES} is not null and ({kept_out}))" if kept_out else ""
    stored = ", ".join(f"s.{name}" for name in names)
    outdated = (
        f"union all select {stored}, true as _deleted, null as {COPIES}, s.{PRESENT} from",
        *joined,
        f"where s.{PRESENT} and n.{COPIES} is not null and ({kept_out})",
    )
    return "\n".join((
        f"select {items}, n.{COPIES} is null as _deleted, n.{COPIES}, s.{PRESENT} from",
        *joined,
        f"where n.{COPIES} is null or n.{COPIES} > 1 or s.{PRESENT} is null or not ({same}){wrong}",
        *(outdated if kept_out else ()),
    ))  # fmt: skip
