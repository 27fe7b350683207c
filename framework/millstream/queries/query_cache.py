"""Caches stateful queries for comparisons, without their SQL: the same parts of a plan give the same query.

The key of a query is a digest of everything that it is built from: its part of the optimized plan, its models
as written, all models whose topics and tables these read, its group, and the settings.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b

import msgspec
from msgspec.structs import replace

from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack, to_sorted_msgpack
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Node, Output, Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.table import digest_nodes
from millstream.queries.building import BuiltQuery
from millstream.queries.lock import AssignedGroup
from millstream.queries.values import PhysicalSettings


class QueryCache:
    """Cached queries and texts by digest, and those that were used or added."""

    def __init__(self, loaded: Mapping[bytes, bytes] | None = None) -> None:
        self.loaded = loaded or {}
        self.used: dict[bytes, bytes] = {}
        self._optimized: dict[bytes, Plan] = {}
        """Plans of queries by digest: in most queries that an edit reaches, only the SQL upstream differs."""

    @property
    def has_new(self) -> bool:
        return not self.used.items() <= self.loaded.items()

    def built(self, key: bytes, make: Callable[[], BuiltQuery]) -> BuiltQuery:
        if (cached := self.loaded.get(key) or self.used.get(key)) is not None:
            with contextlib.suppress(msgspec.DecodeError, ValueError):
                query = from_msgpack(cached, BuiltQuery)
                self.used[key] = cached
                return query
        query = make()
        self.used[key] = to_msgpack(query)
        return query

    def optimized(self, plan: Plan, settings: PhysicalSettings, make: Callable[[], Plan]) -> Plan:
        """Return the plan that the rules make of a query's plan."""
        rules = to_sorted_msgpack((sorted(settings.rules), settings.switched_off))
        key = digest_nodes(plan.outputs) + rules
        if key not in self._optimized:
            self._optimized[key] = make()
        return self._optimized[key]

    def text(self, key: bytes, make: Callable[[], str]) -> str:
        cached = self.loaded.get(key) or self.used.get(key)
        text = make() if cached is None else cached.decode()
        self.used[key] = text.encode()
        return text


class QueryKeys:
    """Digests of the queries of one plan."""

    def __init__(self, settings: PhysicalSettings, written: Plan) -> None:
        # The deterministic encoder can only sort keys that are strings.
        distinct = sorted(settings.distinct.items())
        self._settings = to_sorted_msgpack((replace(settings, distinct={}, seeds={}), distinct))
        self._seeds = settings.seeds
        self._written = {output.model: output for output in written.outputs}
        self._shapes: dict[NodeId, tuple[bytes, tuple[NodeId, ...]]] = {}

    def of(self, assigned: AssignedGroup, outputs: Sequence[Output]) -> bytes:
        """Return the digest of a group's query."""
        hashed = blake2b(self._settings, digest_size=16)
        hashed.update(to_sorted_msgpack(assigned))
        hashed.update(digest_nodes(outputs))
        for model, digest in sorted(self._digests(output.model for output in outputs).items()):
            hashed.update(str(model).encode() + digest)
        return hashed.digest()

    def _digests(self, models: Iterable[NodeId]) -> dict[NodeId, bytes]:
        """Return digests of models, and of all models and seeds upstream, across topics and tables."""
        digests: dict[NodeId, bytes] = {}
        waiting = list(models)
        while waiting:
            model = waiting.pop()
            if model in self._written and model not in digests:
                if model not in self._shapes:
                    output = self._written[model]
                    self._shapes[model] = (digest_nodes((output,)), _relations(in_order((output,))))
                digests[model], read = self._shapes[model]
                waiting += read
            elif model in self._seeds:
                digests[model] = self._seeds[model].encode()
        return digests


def _relations(nodes: Iterable[Node]) -> tuple[NodeId, ...]:
    relations: dict[NodeId, None] = {}
    for node in nodes:
        if relation := node.relation:
            relations[relation] = None
        relations.update((name, None) for expression in node.expressions for name in expression.reads)
    return tuple(relations)
