"""Reports options of state that have no effect on a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millstream.plan.from_sql.catalog import PlanProblem
from millstream.plan.nodes import Node, Stateful
from millstream.plan.nodes.order import in_order


def meaningless_state(model: str, state: Mapping[str, Any], root: Node, *, own: bool) -> list[PlanProblem]:
    """Find options without effect; folder defaults (`own` is false) may fit only some models."""
    found = list(_never(state))
    if own:
        keyed = any(isinstance(node, Stateful) for node in in_order((root,)))
        found += _here(state, keyed=keyed)
    return [PlanProblem(model, "MS522", message, remedy, option="state") for message, remedy in found]


def _never(state: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if state.get("retention"):
        yield (
            "'state: {retention}' has no effect on windows",
            "remove it: a watermark's delay bounds windows, and 'retention' of a table bounds its rows",
        )
    if state.get("memory") and state.get("store") == "memory":
        yield "'state: {memory}' only limits the store rocksdb", "remove one of them"


def _here(state: Mapping[str, Any], *, keyed: bool) -> Iterator[tuple[str, str]]:
    if state.get("ttl") and not keyed:
        yield (
            "'state: {ttl}' is for Python functions with keyed state, and this model calls none",
            "remove it: a dedupe's 'within', a watermark's delay or a table's 'retention' bounds other state",
        )
    if state.get("store") == "memory" and keyed:
        yield "Python functions only keep state in RocksDB", "remove store='memory'"
