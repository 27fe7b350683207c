"""Options of state that a model's SQL gives no meaning to: what is accepted is obeyed, all else refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from millstream.plan.from_sql.catalog import PlanProblem
from millstream.plan.nodes import Node, Stateful
from millstream.plan.nodes.order import in_order


def meaningless_state(model: str, state: Mapping[str, Any], root: Node, *, own: bool) -> list[PlanProblem]:
    """Find options that nothing obeys; those of a folder may fit only some of its models (`own` is false)."""
    found = list(_never(state))
    if own:
        keyed = any(isinstance(node, Stateful) for node in in_order((root,)))
        found += _here(state, keyed=keyed)
    return [PlanProblem(model, "MS522", message, remedy, option="state") for message, remedy in found]


def _never(state: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if state.get("retention"):
        yield (
            "'state: {retention}' is not how long windows are kept",
            "remove it: a watermark's delay says that, and 'retention' of a table bounds its rows",
        )
    if state.get("memory") and state.get("store") == "memory":
        yield "'state: {memory}' bounds the store rocksdb, not memory", "remove one of them"


def _here(state: Mapping[str, Any], *, keyed: bool) -> Iterator[tuple[str, str]]:
    if state.get("ttl") and not keyed:
        yield (
            "'state: {ttl}' is for Python functions with keyed state, and this model calls none",
            "remove it: 'within' of a dedupe, a watermark's delay or 'retention' of a table bound those",
        )
    if state.get("store") == "memory" and keyed:
        yield "Python functions keep their state in RocksDB only", "remove store='memory'"
