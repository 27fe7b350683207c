"""Estimates the memory of states before they run, next to what earlier builds and runs measured.

RocksDB keeps, for each store, blocks of its files up to the size of its cache; and for each entry, a part of
a filter and of an index, which `benchmarks/state_memory.py` measures: about 2 bytes. While a batch is
written, its new rows are in memory, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct

from millstream.core.byte_sizes import size_in_words
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.text import FileText, Location
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.folders import checkpoints_of
from millstream.project.heap import heap_of
from millstream.project.spark_settings import spark_settings
from millstream.project.values import LOCAL_PARTITIONS, Target, is_local, shuffle_partitions
from millstream.queries.state_store import Store, is_limited, memory_budget, store_of
from millstream.queries.values import Query, StateSize
from millstream.results.state_sizes import MeasuredState, measured_states, restore_seconds

_CACHE = "spark.sql.streaming.stateStore.rocksdb.blockCacheSizeMB"
_CACHE_MB = 8
"""Spark's default (RocksDBConf); its MB are 2 to the 20th."""
_ENTRY = 2
"""Bytes of an entry in filters (10 bits) and indexes."""


class StateStores(Struct, frozen=True):
    """How a target keeps states."""

    partitions: int = LOCAL_PARTITIONS
    cache: int = _CACHE_MB << 20
    """Bytes of blocks that each store keeps at most."""
    heap: int = 0
    """Bytes of the heap of the JVM on this machine; 0 if states are elsewhere."""
    measured: Mapping[str, MeasuredState] = {}
    """What earlier builds and runs measured, by what an operator stores."""


def stores_of(target: Target, root: Path, queries: int = 0, machine: int | None = None) -> StateStores:
    settings = spark_settings(target)
    cache_size = settings.get(_CACHE, "")
    return StateStores(
        shuffle_partitions(target),
        (int(cache_size) if cache_size.isdigit() else _CACHE_MB) << 20,
        heap_of(target, queries, machine) << 20 if is_local(target) else 0,
        measured_states(checkpoints_of(target, root)),
    )


class StateMemory(Struct, frozen=True):
    """The memory of one operator's state."""

    operator: str
    stores: int
    row_bytes: int
    rows: int | None
    rows_from: Literal["declared", "measured", "unknown"]
    memory: int | None
    """The estimate in bytes; None if the number of rows is unknown."""
    entries: int | None
    """The part of it that grows with the number of rows, however small the cache is."""
    limit: int | None
    """The limit that it shares with all states that have one, in bytes."""
    in_heap: bool = False
    measured: MeasuredState | None = None
    unit: str = "row"
    model: NodeId = NO_NODE
    """Id of the model that has it."""


def state_memory(query: Query, catalog: Catalog, stores: StateStores) -> tuple[StateMemory, ...]:
    """Return the memory of each state of a query."""
    store = store_of(query, catalog)
    limit = memory_budget(catalog) if is_limited(query, catalog) else None
    return tuple(_estimated(size, store, stores, limit) for size in query.memory.states)


def _estimated(size: StateSize, store: Store, stores: StateStores, limit: int | None) -> StateMemory:
    measured = stores.measured.get(size.content)
    rows = size.rows if size.rows is not None else measured.rows if measured else None
    memory = entries = None
    if rows is not None and store == "memory":
        memory = rows * size.width
    elif rows is not None:
        entries = _ENTRY * size.entries * rows
        memory = min(stores.partitions * stores.cache, rows * size.width) + entries
    return StateMemory(
        size.operator,
        stores.partitions,
        size.width,
        rows,
        "declared" if size.rows is not None else "measured" if measured else "unknown",
        memory if limit is None or memory is None else min(memory, limit),
        entries,
        limit,
        store == "memory",
        measured,
        size.unit,
        size.model,
    )


def in_words(state: StateMemory, cache: int) -> str:
    """Return the memory of a state in words: `up to about 18.8 MB in 2 stores, for 1,000 declared rows`."""
    count = f"{state.stores:,} store{'s' if state.stores > 1 else ''}"
    if state.memory is not None:
        where = "in the heap" if state.in_heap else f"in {count}"
        rows = f"{state.rows:,} {state.rows_from} {state.unit}s"
        text = f"up to about {size_in_words(state.memory)} {where}, for {rows}"
    elif state.in_heap:
        text = f"{state.row_bytes} bytes of the heap for each {state.unit}"
    else:
        text = f"up to {size_in_words(cache)} in each of {count}, and {_ENTRY} bytes for each {state.unit}"
    if state.limit is not None:
        text += f", limited to {size_in_words(state.limit)} with all limited states"
    if (measured := state.measured) is not None:
        sizes = f"{size_in_words(measured.memory)}, and {size_in_words(measured.files)} of files"
        text += f"; measured on {measured.time[:10]}: {measured.rows:,} {state.unit}s in {sizes}"
        if measured.files:
            seconds = restore_seconds(measured.files, measured.restored)
            text += f", which a restart loads in about {seconds:,.1f} s of one core"
    return text


def memory_warnings(
    states: Sequence[StateMemory], stores: StateStores, machine: int | None, files: Mapping[NodeId, FileText]
) -> Iterator[Diagnostic]:
    """Warn if states need more memory than `machine` has, or than their own limit, as far as it is known.

    All queries of a target on this machine run in one process. `files` has the file of each model by its id:
    a warning is at the model with the largest state.
    """

    def warning(message: str, remedy: str, concerned: Sequence[StateMemory]) -> Diagnostic:
        location, line = _config_location(files.get(max(concerned, key=_memory).model))
        return Diagnostic("MS675", message, location, remedy, line, severity="warning")

    limited = [state for state in states if state.limit is not None]
    least = sum(state.entries or 0 for state in limited)
    if limited and limited[0].limit is not None and least > limited[0].limit:
        limit = size_in_words(limited[0].limit)
        message = f"filters and indexes of states need about {size_in_words(least)}, their limit is {limit}"
        remedy = f"give more memory to one of them: config(state={{'memory': '{_rounded(least)}'}})"
        yield warning(message, remedy, limited)
    free = [state.memory or 0 for state in states if state.limit is None]
    need = sum(free) + (
        min(limited[0].limit or 0, sum(state.memory or 0 for state in limited)) if limited else 0
    )
    if machine is not None and stores.heap and need and stores.heap + need > machine:
        message = (
            f"states need about {size_in_words(need)} besides the heap of {size_in_words(stores.heap)}, and "
            f"this machine has {size_in_words(machine)}; most is for {max(states, key=_memory).operator}"
        )
        remedy = "limit their memory: config(state={'memory': '512 MB'}), or use a smaller heap"
        yield warning(message, remedy, states)


def _config_location(file: FileText | None) -> tuple[Location | None, str]:
    """Return where a model sets options: its `config`, or its first line."""
    if file is None:
        return None, ""
    start = max(file.content.find("config("), 0)
    location = file.location(start, start + len("config") if start else None)
    return location, file.line(location.line)


def _memory(state: StateMemory) -> int:
    return state.memory or 0


def _rounded(number: int) -> str:
    return f"{-(-number // 1_000_000)} MB"
