"""How a table is kept equal to its SQL."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from msgspec import Struct, field

from millstream.core.node_id import NodeId

TOUCHED = "_millstream_touched"
"""The view of the touched keys."""

STORED_TOUCHED = "_millstream_stored_touched"
"""The view of the stored rows with touched keys."""
WEIGHT, UNSURE = "_millstream_weight", "_millstream_unsure"

View = Literal["now", "before", "either", "changed", "weighted"]
"""Of an input: its rows now; its rows before the changes; those now and the changed ones as they were; the
changed ones before and after; these with `WEIGHT`, -1 before and 1 after."""


def view_of(kind: View, index: int) -> str:
    """Return the view of an input, by its index in `Maintenance.relations`."""
    return f"_millstream_{kind}_{index}"


def touched_column(index: int) -> str:
    return f"_key_{index}"


class TouchedKeys(Struct, frozen=True, array_like=True):
    """The keys that changes of one relation touch, through one of the places where the SQL reads it."""

    relation: NodeId
    sql: str


class Maintenance(Struct, frozen=True):
    """The statements that maintain a table, over views of its inputs (`view_of`)."""

    relations: tuple[NodeId, ...]
    """The ids of its inputs."""
    all_rows: str = field(name="whole")
    """Computes all rows."""
    by: tuple[str, ...] = ()
    """The columns that tell which rows a change touches; empty if all rows are computed for each change."""
    touched: tuple[TouchedKeys, ...] = ()
    """Their columns are named by `touched_column`."""
    restricted: str = ""
    """Computes only the rows with touched keys, which are in the view `TOUCHED`."""
    weighted: str = ""
    """Computes them from changes and stored rows, if that is exact; `UNSURE` ones need `restricted`."""
    changing: bool = False
    """The SQL gives other rows as time passes, or by chance, even if no input has changed."""

    def reads_before(self, relation: NodeId) -> bool:
        """Whether all rows of an input as they were are read, which may be of an old version."""
        view = view_of("before", self.relations.index(relation))
        return any(view in statement.sql for statement in self.touched)

    def touching(self, changed: Collection[NodeId]) -> str:
        """Return SQL for the keys that changes of some inputs touch; empty if there are none."""
        parts = dict.fromkeys(statement.sql for statement in self.touched if statement.relation in changed)
        return "\nunion\n".join(f"({part})" for part in parts)
