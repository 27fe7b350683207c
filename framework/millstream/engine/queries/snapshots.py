"""Tables that have to be read at one snapshot, because they follow the same rows by several paths.

If `a` and `b` follow `x`, a table over both must not show a change of `x` that only one of them has seen.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations

from msgspec import Struct
from pyspark.sql import SparkSession

from millstream.core.node_id import NodeId
from millstream.queries.values import Query
from millstream.stores.spark import TableVersion

AtVersions = Callable[[SparkSession], Mapping[NodeId, TableVersion]]
"""Brings tables up to date, and returns their versions at one moment."""
Upkeep = Callable[[Mapping[NodeId, TableVersion]], None]
"""Brings a table over tables up to date with its inputs, of which some are given at a version."""


class TableSnapshots(Struct, frozen=True):
    tables: tuple[NodeId, ...]
    """The tables over tables to bring up to date, each after what it reads, in the same order everywhere."""
    bases: tuple[NodeId, ...]
    """The other tables that are read."""
    writers: tuple[str, ...]
    """The names of queries of which a batch changes several of these."""


def moment_of(query: Query, queries: Iterable[Query], separate: Collection[NodeId]) -> TableSnapshots | None:
    """Return what a table over tables has to see at one moment; None if it reads nothing twice.

    Tables `separate` show their inputs as they were at another moment.
    """
    return _Graph(queries, separate).moment(query)


class _Graph:
    def __init__(self, queries: Iterable[Query], separate: Collection[NodeId]) -> None:
        self._inputs: dict[NodeId, tuple[NodeId, ...]] = {}
        """Of tables over tables."""
        self._writers: dict[NodeId, str] = {}
        """The names of queries that write several tables, by each of these."""
        for query in queries:
            tables = [table.model for table in query.tables]
            if query.maintaining is not None and query.maintaining.target.model not in separate:
                self._inputs[query.maintaining.target.model] = _inputs(query)
            elif len(tables) > 1:
                self._writers |= dict.fromkeys(tables, query.name)
        self._depths: dict[NodeId, int] = {}

    def moment(self, query: Query) -> TableSnapshots | None:
        reached = [self._reached(table) for table in _inputs(query)]
        ways = [{self._writers.get(table) or str(table) for table in tables} for tables in reached]
        if not any(one & other for one, other in combinations(ways, 2)):
            return None
        everything = set[NodeId]().union(*reached)
        tables = everything & self._inputs.keys()
        bases = sorted(everything - tables)
        writers = [self._writers[base] for base in bases if base in self._writers]
        several = sorted({writer for writer in writers if writers.count(writer) > 1})
        in_order = sorted(tables, key=lambda table: (self._depth(table), table))
        return TableSnapshots(tuple(in_order), tuple(bases), tuple(several))

    def _reached(self, relation: NodeId) -> set[NodeId]:
        return {relation}.union(*map(self._reached, self._inputs.get(relation, ())))

    def _depth(self, relation: NodeId) -> int:
        if relation not in self._depths:
            inputs = self._inputs.get(relation, ())
            self._depths[relation] = 1 + max(map(self._depth, inputs), default=0)
        return self._depths[relation]


def _inputs(query: Query) -> tuple[NodeId, ...]:
    assert query.maintaining is not None
    relations = query.maintaining.maintenance.relations
    return tuple(relation for relation in relations if relation.kind != "seed")
