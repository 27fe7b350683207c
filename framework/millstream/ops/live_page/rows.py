"""Reads the newest rows of relations in a thread of its own, while somebody looks at the page."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec.structs import replace

from millstream.core.errors import MillstreamError
from millstream.ops.live_page.values import LiveRelation, ShownRows, page_text

_EVERY = 2.0
"""Seconds between two readings."""
_WATCHED = 10.0
"""Seconds after its last request for which a page counts as open."""
_ROWS = 8


class NewestRows:
    """The newest rows of each relation, as they were read last."""

    def __init__(self, relations: Sequence[LiveRelation]) -> None:
        self._relations = relations
        self._shown = [
            ShownRows(relation.id, relation.name, relation.kind, relation.about) for relation in relations
        ]
        self._last_request = -_WATCHED
        self._stopping = threading.Event()

    def shown(self) -> list[ShownRows]:
        """Return the rows, and keep reading them for a while."""
        self._last_request = time.monotonic()
        return self._shown

    @contextmanager
    def reading(self) -> Iterator[None]:
        thread = threading.Thread(target=self._read, name="live rows", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._stopping.set()
            thread.join()

    def _read(self) -> None:
        while not self._stopping.wait(_EVERY):
            if time.monotonic() - self._last_request < _WATCHED:
                self._shown = [_rows_of(relation) for relation in self._relations]


def _rows_of(relation: LiveRelation) -> ShownRows:
    shown = ShownRows(relation.id, relation.name, relation.kind, relation.about)
    try:
        answer = relation.read(_ROWS)
    except MillstreamError as error:
        return replace(shown, message=error.diagnostics[0].message)
    rows = [[page_text(value) for value in row] for row in answer.rows]
    return replace(shown, columns=answer.columns, rows=rows)
