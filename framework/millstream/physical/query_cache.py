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

from millstream.decoding import from_msgpack
from millstream.physical.building import BuiltQuery
from millstream.physical.lock import Assigned
from millstream.physical.values import PhysicalSettings
from millstream.plan.nodes import Node, Output, Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.table import shape

_ORDERED = msgspec.msgpack.Encoder(order="deterministic")


class QueryCache:
    """Cached queries and texts by digest, and those that were used or added."""

    def __init__(self, known: Mapping[bytes, bytes] | None = None) -> None:
        self.known = known or {}
        self.used: dict[bytes, bytes] = {}
        self._optimized: dict[bytes, Plan] = {}
        """Plans of queries by digest: in most queries that an edit reaches, only the SQL upstream differs."""

    @property
    def has_new(self) -> bool:
        return not self.used.items() <= self.known.items()

    def built(self, key: bytes, make: Callable[[], BuiltQuery]) -> BuiltQuery:
        if (cached := self.known.get(key) or self.used.get(key)) is not None:
            with contextlib.suppress(msgspec.DecodeError, ValueError):
                found = from_msgpack(cached, BuiltQuery)
                self.used[key] = cached
                return found
        found = make()
        self.used[key] = msgspec.msgpack.encode(found)
        return found

    def optimized(self, plan: Plan, settings: PhysicalSettings, make: Callable[[], Plan]) -> Plan:
        """Return the plan that the rules make of a query's plan."""
        rules = _ORDERED.encode((sorted(settings.rules), settings.switched_off))
        key = shape(plan.outputs) + rules
        if key not in self._optimized:
            self._optimized[key] = make()
        return self._optimized[key]

    def text(self, key: bytes, make: Callable[[], str]) -> str:
        cached = self.known.get(key) or self.used.get(key)
        found = make() if cached is None else cached.decode()
        self.used[key] = found.encode()
        return found


class Keys:
    """Digests of the queries of one plan."""

    def __init__(self, settings: PhysicalSettings, written: Plan) -> None:
        # The deterministic encoder can only sort keys that are strings.
        distinct = sorted(settings.distinct.items())
        self._settings = _ORDERED.encode((replace(settings, distinct={}, seeds={}), distinct))
        self._seeds = settings.seeds
        self._written = {output.model: output for output in written.outputs}
        self._own: dict[str, tuple[bytes, tuple[str, ...]]] = {}

    def of(self, assigned: Assigned, outputs: Sequence[Output]) -> bytes:
        """Return the digest of a group's query."""
        hashed = blake2b(self._settings, digest_size=16)
        hashed.update(_ORDERED.encode(assigned))
        hashed.update(shape(outputs))
        for model, digest in sorted(self._digests(output.model for output in outputs).items()):
            hashed.update(model.encode() + digest)
        return hashed.digest()

    def _digests(self, models: Iterable[str]) -> dict[str, bytes]:
        """Return digests of models, and of all models and seeds upstream, across topics and tables."""
        found: dict[str, bytes] = {}
        waiting = list(models)
        while waiting:
            model = waiting.pop()
            if model in self._written and model not in found:
                if model not in self._own:
                    output = self._written[model]
                    self._own[model] = (shape((output,)), _relations(in_order((output,))))
                found[model], read = self._own[model]
                waiting += read
            elif model in self._seeds:
                found[model] = self._seeds[model].encode()
        return found


def _relations(nodes: Iterable[Node]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for node in nodes:
        if relation := node.relation:
            found[relation] = None
        found.update((name, None) for each in node.expressions for name in each.reads)
    return tuple(found)
