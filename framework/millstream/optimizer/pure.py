"""Which parts of a plan give the same rows however often they are calculated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from millstream.expressions import Expression
from millstream.plan.nodes import (
    Aggregate,
    Binary,
    Expand,
    Filter,
    Node,
    Opaque,
    Project,
    Stateful,
)


def expressions_of(node: Node) -> Iterator[Expression]:
    """Yield all expressions that a node evaluates."""
    match node:
        case Filter():
            yield from node.conditions
        case Project():
            yield from (item.expression for item in node.items)
        case Expand():
            yield node.call
        case Aggregate():
            yield from (key.expression for key in node.keys)
            for measure in node.measures:
                yield measure.call
                if measure.condition is not None:
                    yield measure.condition
        case Binary():
            yield from node.on


def is_pure(node: Node) -> bool:
    """Tell whether a node itself, whatever it reads, does the same each time.

    Nobody knows that of opaque SQL, nor of a Python function that keeps state.
    """
    return not isinstance(node, Opaque | Stateful) and all(e.deterministic for e in expressions_of(node))


def impure_nodes(order: Iterable[Node]) -> set[int]:
    """Return the `id`s of nodes that, or below which something, give other rows each time."""
    found: set[int] = set()
    for node in order:
        if not is_pure(node) or any(id(each) in found for each in node.inputs):
            found.add(id(node))
    return found
