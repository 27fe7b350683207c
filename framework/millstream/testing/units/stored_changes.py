"""What rows change in a table that stores them, one batch after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from millstream.plan.nodes import Output
from millstream.testing.units.values import DELETED

Row = dict[str, Any]


def stored_changes(rows: Iterable[tuple[int, Row]], output: Output) -> Iterator[tuple[int, Row]]:
    """Yield the rows that a table stores, and the keys that it deletes, each with its step.

    By `order_by`, an older row replaces no newer one. A key that is not there is not deleted.
    """
    table = output.materialization
    ordered = (table.order_by or "").lower()
    order = next((column.name for column in output.columns if column.name.lower() == ordered), None)
    if not output.keys or not table.at_rest or table.versions:
        yield from rows
        return
    stored: dict[str, Row] = {}
    for step, row in rows:
        key = repr([row.get(name) for name in output.keys])
        before = stored.get(key)
        if before is not None and order and not _is_newer(row.get(order), before.get(order)):
            continue
        if row.get(DELETED):
            if stored.pop(key, None) is not None:
                yield step, row
        else:
            stored[key] = row
            yield step, row


def _is_newer(new: Any, old: Any) -> bool:
    return old is None or (new is not None and new >= old)
