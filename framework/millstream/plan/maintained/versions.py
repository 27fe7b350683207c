"""SQL over the rows before the changes, and over those after them.

What an aggregate gives is unknown until it is computed. Where rows are known by such a value, or compared
with it, both versions of it are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, quoted
from millstream.core.types import has_equality
from millstream.plan.maintained.names import Names, outputs, scanned, type_of
from millstream.plan.maintained.restricted import Keys, Reading, is_plain, restricted
from millstream.plan.maintained.statements import Sql, separated, sql
from millstream.plan.nodes.maintenance import TOUCHED
from millstream.sql.query import Body, Item, Select

_GROUP = "_millstream_group"


class Changed(Struct, frozen=True, eq=False):
    """Rows that are computed from changed rows of one relation, through one place where it is read."""

    relation: str
    sql: Sql


def with_groups(query: Select) -> tuple[Select, list[str]]:
    """Return an aggregate with its group keys as further columns, and their names."""
    keys = query.keys or ()
    named = [
        Item(f"{_GROUP}_{index}", Expression((Ref(key.name),), key.expression.type, atomic=True))
        for index, key in enumerate(keys)
    ]
    return replace(query, items=(*query.items, *named)), [item.name for item in named]


def in_both(
    body: Body, columns: Sequence[str], names: Names, by: Keys = (), touched: str | Sql = TOUCHED
) -> Sql:
    """Return columns of the rows that a query gives before and after the changes, for touched keys."""
    quoted_columns = ", ".join(map(quoted, columns))
    readings = (Reading(names, "now", touched), Reading(names, "before", touched))
    select = f"select {quoted_columns} from (\n"  # noqa: S608 -- names are quoted
    sides = (sql(select, restricted(body, by, reading), "\n)") for reading in readings)
    return separated("\nunion\n", sides)


def differing(body: Body, names: Names) -> Iterator[Changed]:
    """Yield, for each input, the rows that a query gives either before the changes or after them."""
    now, before = (restricted(body, (), Reading(names, view)) for view in ("now", "before"))
    rows = separated(
        "\nunion all\n",
        (
            sql("(select * from (\n", one, "\n) except all select * from (\n", other, "\n))")
            for one, other in ((now, before), (before, now))
        ),
    )
    for relation in scanned(body, names):
        if not relation.startswith("seed."):
            yield Changed(relation, rows)


def can_differ(body: Body, names: Names) -> bool:
    """Return whether `differing` rows can be computed."""
    return is_plain(body, names) and all(has_equality(type_of(body, name)) for name in outputs(body))
