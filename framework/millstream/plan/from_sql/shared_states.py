"""Lets what stores no times share states with sinks that send them, so that there is still one state.

table ← aggregate count(*) by user ← events; sink ← aggregate count(*), max(_timestamp) by user ← events'
table ← aggregate count(*) by user ← events'; sink ← aggregate count(*), max(_timestamp) by user ← events'

The rules for equal nodes do the rest, and without them, what nobody reads is not computed.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from msgspec.structs import replace

from millstream.plan.from_sql.record_parts import TIME, carry_part
from millstream.plan.from_sql.scope import identity_items
from millstream.plan.nodes import Aggregate, Node, Output, Project
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import traits_of


def with_shared_states(outputs: Sequence[Output], carrying: Sequence[Node]) -> list[Output]:
    """Return the outputs, with the steps of those without times as sinks with times have them.

    `carrying` are the rows of these sinks as they would be without times.
    """
    steps = {_key(node) for root in carrying for node in _states((root,))}
    if not steps:
        return list(outputs)
    return [output if output.timed else _alike(output, steps) for output in outputs]


def _alike(output: Output, steps: set[object]) -> Output:
    root = output.input
    alike = frozenset(id(node) for node in _states((root,)) if _key(node) in steps)
    if not alike:
        return output
    # An output that two plans have keeps its nodes.
    cache = root.__dict__.setdefault("alike", {})
    if alike not in cache:
        cache[alike] = _rewritten(root, alike)
    return replace(output, input=cache[alike])


def _rewritten(root: Node, alike: Container[int]) -> Node:
    rewritten: dict[int, Node] = {}
    for node in in_order((root,)):
        timed = None
        if id(node) in alike:
            timed = carry_part(node.input if isinstance(node, Aggregate) else node, TIME)
        if timed is None:
            rewritten[id(node)] = node.with_inputs(*(rewritten[id(lower)] for lower in node.inputs))
        elif isinstance(node, Aggregate):
            rewritten[id(node)] = node.with_inputs(timed.node)
        else:
            items = tuple(identity_items(node))
            rewritten[id(node)] = Project(input=timed.node, items=items, label=node.label, models=node.models)
    return rewritten[id(root)]


def _states(roots: Sequence[Node]) -> Iterator[Node]:
    """Yield the steps whose states have the time of records, or rows with it."""
    for node in in_order(roots):
        windows = isinstance(node, Aggregate) and node.window is not None
        if node.stateful and not windows and traits_of(node).mode != "static":
            yield node


def _key(node: Node) -> object:
    """Return what two states have in common that become one; aggregates may have other measures."""
    if not isinstance(node, Aggregate):
        return node.fingerprint
    return node.input.fingerprint, node.emit, tuple((key.name, key.expression.content) for key in node.keys)
