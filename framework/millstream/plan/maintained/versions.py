"""SQL over the rows before the changes, and over those after them.

What an aggregate gives is unknown until it is computed. Where rows are known by such a value, or compared
with it, both versions of it are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, quote_name
from millstream.core.node_id import NodeId
from millstream.core.types import has_equality
from millstream.plan.maintained.names import RelationNames, output_names, scanned_inputs, type_of
from millstream.plan.maintained.restricted_sql import Keys, RestrictedRead, is_plain, restrict_keys
from millstream.plan.maintained.statements import SqlText, join_sql, separate_sql
from millstream.plan.nodes.maintenance import TOUCHED
from millstream.sql.query import Body, Select, SelectItem

_GROUP = "_millstream_group"


class ChangedRows(Struct, frozen=True, eq=False):
    """Rows that are computed from changed rows of one relation, through one place where it is read."""

    relation: NodeId
    sql: SqlText


def with_groups(query: Select) -> tuple[Select, list[str]]:
    """Return an aggregate with its group keys as further columns, and their names."""
    keys = query.keys or ()
    named = [
        SelectItem(f"{_GROUP}_{index}", Expression((Ref(key.name),), key.expression.type, atomic=True))
        for index, key in enumerate(keys)
    ]
    return replace(query, items=(*query.items, *named)), [item.name for item in named]


def in_both(
    body: Body, columns: Sequence[str], names: RelationNames, by: Keys = (), touched: str | SqlText = TOUCHED
) -> SqlText:
    """Return columns of the rows that a query gives before and after the changes, for touched keys."""
    quoted_columns = ", ".join(map(quote_name, columns))
    readings = (RestrictedRead(names, "now", touched), RestrictedRead(names, "before", touched))
    select = f"select {quoted_columns} from (\n"  # noqa: S608 -- names are quoted
    sides = (join_sql(select, restrict_keys(body, by, reading), "\n)") for reading in readings)
    return separate_sql("\nunion\n", sides)


def differing_rows(body: Body, names: RelationNames) -> Iterator[ChangedRows]:
    """Yield, for each input, the rows that a query gives either before the changes or after them."""
    now, before = (restrict_keys(body, (), RestrictedRead(names, view)) for view in ("now", "before"))
    rows = separate_sql(
        "\nunion all\n",
        (
            join_sql("(select * from (\n", one, "\n) except all select * from (\n", other, "\n))")
            for one, other in ((now, before), (before, now))
        ),
    )
    for relation in scanned_inputs(body, names):
        if relation.kind != "seed":
            yield ChangedRows(relation, rows)


def can_differ(body: Body, names: RelationNames) -> bool:
    """Return whether differing rows can be computed."""
    return is_plain(body, names) and all(has_equality(type_of(body, name)) for name in output_names(body))
