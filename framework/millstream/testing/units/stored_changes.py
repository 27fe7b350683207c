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


def remaining_rows(rows: Iterable[tuple[int, Row]], output: Output) -> list[Row]:
    """Return the rows that no request deletes, before or after them, and the requests."""
    stored = [row for _, row in rows]
    table = output.materialization.table
    if table is None or not table.delete_by:
        return stored
    folded = {name.lower() for name in table.delete_by}
    by = [column.name for column in output.columns if column.name.lower() in folded]
    (order,) = (
        column.name for column in output.columns if column.name.lower() == (table.order_by or "").lower()
    )
    requests = [row for row in stored if row.get(DELETED)]

    def is_deleted(row: Row) -> bool:
        return any(
            all(row[name] is not None and row[name] == request[name] for name in by)
            and (row[order] is None or (request[order] is not None and row[order] <= request[order]))
            for request in requests
        )

    return [row for row in stored if row.get(DELETED) or not is_deleted(row)]


def _is_newer(new: Any, old: Any) -> bool:
    return old is None or (new is not None and new >= old)
