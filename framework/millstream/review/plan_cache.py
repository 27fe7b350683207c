"""Caches the plan of the older version and planned queries for the next review.

Each is found by a digest of everything that determines it. Files that can't be read or are of another
version are ignored. If the folder can't be written, the next review takes longer.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

import msgspec
from msgspec import Struct

from millstream.compile.cache_files import FORMAT, read_file, write_file
from millstream.compile.manifest import Compiled
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Output, Plan
from millstream.plan.optimizer.context import PlanChange
from millstream.plan.optimizer.driver import OptimizedPlan, RuleStep
from millstream.plan.table import decode_nodes, encode_nodes
from millstream.queries.query_cache import QueryCache
from millstream.queries.topology import Topology, read_catalog

_FORMAT = f"{FORMAT}-4"
_PLAN, _QUERIES = "plan.msgpack", "queries.msgpack"


class _Plans(Struct, frozen=True):
    key: str
    table: bytes
    """The outputs as written, the outputs as optimized, and the nodes of models."""
    written: int
    """The number of outputs as written."""
    models: tuple[NodeId, ...]
    steps: tuple[tuple[str, tuple[PlanChange, ...]], ...]
    """What each rule did, without the plans in between."""


class _Queries(Struct, frozen=True):
    format: str
    queries: dict[bytes, bytes]


def load_plan(folder: Path, compiled: Compiled) -> Topology | None:
    """Return the cached plan of a version; its steps have no plans before and after."""
    cached = read_file(folder / _PLAN, _Plans)
    if cached is None or cached.key != _key(compiled.catalog):
        return None
    try:
        nodes = decode_nodes(cached.table)
    except (msgspec.DecodeError, ValueError):
        return None
    outputs = [node for node in nodes if isinstance(node, Output)]
    written, plan = Plan(tuple(outputs[: cached.written])), Plan(tuple(outputs[cached.written :]))
    steps = tuple(RuleStep(rule, changes, Plan(()), Plan(())) for rule, changes in cached.steps)
    roots = dict(zip(cached.models, nodes[len(outputs) :], strict=True))
    return Topology(read_catalog(compiled), OptimizedPlan(written, plan, steps), roots=roots)


def save_plan(folder: Path, compiled: Compiled, topology: Topology) -> None:
    table = encode_nodes((*topology.written.outputs, *topology.plan.outputs, *topology.roots.values()))
    steps = tuple((step.rule, step.changes) for step in topology.optimized.steps)
    plans = _Plans(_key(compiled.catalog), table, len(topology.written.outputs), tuple(topology.roots), steps)
    write_file(folder / _PLAN, plans)


def load_queries(folder: Path | None) -> QueryCache:
    """Return the queries that the last review needed; none without a folder."""
    cached = read_file(folder / _QUERIES, _Queries) if folder is not None else None
    return QueryCache(cached.queries if cached and cached.format == _FORMAT else None)


def save_queries(folder: Path | None, queries: QueryCache) -> None:
    """Cache the queries that this review needed, because the next one is likely about similar edits."""
    if folder is not None and queries.has_new:
        write_file(folder / _QUERIES, _Queries(_FORMAT, queries.used))


def _key(catalog: bytes) -> str:
    """Return a digest of the catalog, which determines the plan and includes the target's settings."""
    return blake2b(_FORMAT.encode() + catalog, digest_size=16).hexdigest()
