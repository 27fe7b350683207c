"""Names the operators of a plan after models and columns, so that new models don't change existing names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.plan.nodes import (
    CARRIED,
    Aggregate,
    AnyNode,
    Dedupe,
    Expand,
    Filter,
    Join,
    Lookup,
    Node,
    Output,
    Plan,
    Project,
    Repartition,
    SeedScan,
    Stateful,
    TableScan,
    TemporalJoin,
    TopicScan,
    Watermark,
)
from millstream.plan.nodes.order import in_order

_MOST_COLUMNS = 3


def node_names(plan: Plan) -> dict[int, str]:
    """Return a unique name for each node, by its `id`."""
    order = in_order(plan.outputs)
    owners = _owners(order)
    readers = _readers(order)
    names: dict[int, str] = {}
    taken: set[str] = set()
    waiting = [(node, _candidates(node, owners, readers)) for node in order]
    # A view that sinks read with the time of its records keeps its name where it is read without.
    without_time = Counter(candidates[0] for node, candidates in waiting if CARRIED.isdisjoint(node.by_name))
    for level in range(4):
        # All nodes that would have the same name get a longer one, so that their order does not matter.
        counts = Counter(candidates[level] for _, candidates in waiting)
        left = []
        for node, candidates in waiting:
            name = candidates[level]
            only = level == 0 and without_time[name] == 1 and CARRIED.isdisjoint(node.by_name)
            if (counts[name] > 1 and not only) or name in taken:
                left.append((node, candidates))
            else:
                names[id(node)] = name
        taken.update(names.values())
        waiting = left
    for node, candidates in waiting:
        name = candidates[-1]
        while name in taken:
            name += "_"
        taken.add(name)
        names[id(node)] = name
    return names


def model_name(model: NodeId) -> str:
    """Return a model's name from its id."""
    return model.shown_name


def _candidates(node: Node, owners: dict[int, str], readers: dict[int, str]) -> tuple[str, str, str, str]:
    base = _base(node, owners)
    columns = "_".join((base, *_columns(node)))
    reader = f".for_{readers[id(node)]}" if readers[id(node)] else ""
    if node.models:
        return base, columns, columns + reader, columns + reader
    return base, base + reader, columns + reader, columns + reader


def _owners(order: Iterable[Node]) -> dict[int, str]:
    """Return the model or source that each node is part of."""
    owners: dict[int, str] = {}
    for node in order:
        if node.models:
            owners[id(node)] = model_name(node.models[0])
        elif node.inputs:
            owners[id(node)] = owners[id(node.inputs[0])]
        else:
            owners[id(node)] = node.label.removesuffix("_records") or node.relation.last_name or "rows"
    return owners


def _readers(order: list[Node]) -> dict[int, str]:
    """Return for each node the first model that reads it from another one or from a source."""
    readers: dict[int, str] = {id(node): "" for node in order}
    for node in reversed(order):
        reader = model_name(node.models[0]) if node.models else readers[id(node)]
        for child in node.inputs:
            if reader not in map(model_name, child.models):
                readers[id(child)] = readers[id(child)] or reader
    return readers


def _base(node: Node, owners: dict[int, str]) -> str:
    owner = owners[id(node)]
    if isinstance(node, Output):
        return f"{model_name(node.model)}.{node.materialization.word}"
    if isinstance(node, TableScan):
        return f"{owner}.changes" if node.changes else f"{owner}.rows"
    if isinstance(node, SeedScan):
        return owner
    if node.label and not isinstance(node, TopicScan):
        if node.label in map(model_name, node.models):
            return node.label
        if node.models:
            return f"{owner}.{node.label}"
        return f"{node.label}.read_back" if _reads_model(node) else node.label
    return f"{owner}.{describe_operator(node)}"


def _reads_model(node: Node) -> bool:
    while node.inputs:
        node = node.inputs[0]
    return isinstance(node, TopicScan) and node.relation.kind == "model"


def describe_operator(node: Node) -> str:
    """Return what a node does in a word, with its key if it has one."""
    any_node: AnyNode = node  # type: ignore[assignment]  # the union names all subclasses
    match any_node:
        case Repartition():
            return "_".join(("by", *any_node.keys)) if any_node.keys else "together"
        case Dedupe(by_position=False):
            return "_".join(("first_by", *any_node.keys))
        case Watermark():
            return f"watermark_{any_node.time}"
        case Lookup() | Join() | TemporalJoin():
            return f"{any_node.operator}_{_side(any_node.right)}"
        case Expand() | Stateful():
            return any_node.function
        case _:
            return any_node.operator


def _side(node: Node) -> str:
    while not node.label and node.inputs:
        node = node.inputs[0]
    return node.label or "rows"


def _columns(node: Node) -> tuple[str, ...]:
    """Return a few columns that distinguish a node from others of its kind."""
    match node:
        case Filter():
            return _read(node.conditions)
        case Project():
            return tuple(item.name for item in node.items if item.expression.column is None)[:_MOST_COLUMNS]
        case Aggregate():
            return tuple(key.name for key in node.keys)[:_MOST_COLUMNS]
        case Expand():
            return tuple(column.name for column in node.generated)[:_MOST_COLUMNS]
        case Join() | Lookup() | TemporalJoin():
            return _read(node.on)
    return ()


def _read(expressions: Iterable[Expression]) -> tuple[str, ...]:
    names = (ref.column for expression in expressions for ref in expression.refs)
    return tuple(dict.fromkeys(names))[:_MOST_COLUMNS]
