"""Lets tables over tables of a run read one snapshot of their inputs (see `queries.moment`)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from types import TracebackType
from typing import Any

from msgspec import Struct
from pyspark.sql import SparkSession

from millstream.core.node_id import NodeId
from millstream.engine.queries.gate import BatchGate
from millstream.engine.queries.snapshots import TableSnapshots, Upkeep
from millstream.engine.queries.tables import Tables
from millstream.stores.spark import TableVersion


class _MaintainedTable(Struct, frozen=True, eq=False):
    gate: BatchGate
    upkeep: Upkeep


class SharedGates:
    """The gates of running queries, and what brings their tables over tables up to date."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._gates: dict[str, BatchGate] = {}
        self._maintained: dict[NodeId, _MaintainedTable] = {}

    def enter(self, query: str, gate: BatchGate) -> None:
        with self._lock:
            self._gates[query] = gate

    def keep(self, table: NodeId, gate: BatchGate, upkeep: Upkeep) -> None:
        with self._lock:
            self._maintained[table] = _MaintainedTable(gate, upkeep)

    def leave(self, gate: BatchGate) -> None:
        """Forget a query that has stopped, at least for now."""
        with self._lock:
            self._gates = {name: other for name, other in self._gates.items() if other is not gate}
            self._maintained = {
                table: maintained
                for table, maintained in self._maintained.items()
                if maintained.gate is not gate
            }

    def gates(self, moment: TableSnapshots) -> Iterator[BatchGate]:
        """Yield the gates to hold, in an order that is the same for all moments: readers first."""
        with self._lock:
            table_gates = [
                self._maintained[table].gate for table in reversed(moment.tables) if table in self._maintained
            ]
            writers = [self._gates[name] for name in moment.writers if name in self._gates]
        yield from (*table_gates, *writers)

    def bring(
        self, moment: TableSnapshots, tables: Tables, session: SparkSession
    ) -> dict[NodeId, TableVersion]:
        """Bring tables up to date while their gates are held; return the versions of all that is read."""
        versions = {base: tables.versioned(base).newest(session, base) for base in moment.bases}
        for table in moment.tables:
            with self._lock:
                maintained = self._maintained.get(table)
            if maintained is not None and not maintained.gate.is_closed:
                maintained.upkeep(versions)
            versions[table] = tables.versioned(table).newest(session, table)
        return versions


class AtOneMoment:
    """The turn of a query that reads one snapshot of its inputs: as a batch begins, only it changes that."""

    def __init__(self, together: SharedGates, turn: AbstractContextManager[Any] | None) -> None:
        self.moment: TableSnapshots | None = None
        self._together = together
        self._turn = turn or nullcontext()
        self._held = ExitStack()

    def __enter__(self) -> None:
        # A turn comes last: who waits for a gate must not keep those from working who hold it.
        with ExitStack() as held:
            if self.moment is not None:
                for gate in self._together.gates(self.moment):
                    held.enter_context(gate.between_batches())
            self._turn.__enter__()
            self._held = held.pop_all()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._held.close()
        finally:
            self._turn.__exit__(kind, error, trace)

    def versions(self, tables: Tables, session: SparkSession) -> dict[NodeId, TableVersion]:
        """Bring what is read up to date, let it change again, and return its versions at one moment."""
        if self.moment is None:
            return {}
        with self._held:
            return self._together.bring(self.moment, tables, session)
