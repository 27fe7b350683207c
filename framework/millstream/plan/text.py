"""A plan as text: one line a node, inputs below; a shared node is written once and named where it is read."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.expressions import Expression
from millstream.plan.nodes import (
    Aggregate,
    AnyNode,
    Column,
    Decode,
    Dedupe,
    Expand,
    Filter,
    Given,
    Item,
    Join,
    Lookup,
    Measure,
    Node,
    Opaque,
    Output,
    Plan,
    Project,
    Repartition,
    SeedScan,
    Stateful,
    TableScan,
    TopicScan,
    Union,
    Watermark,
)
from millstream.plan.walk import consumers, in_order


def plan_text(plan: Plan) -> str:
    """Return the whole plan, outputs in their order."""
    names = shared_names(plan)
    written: set[int] = set()
    lines: list[str] = []
    for output in plan.outputs:
        waiting: list[tuple[Node, int]] = [(output, 0)]
        while waiting:
            node, depth = waiting.pop()
            name = names.get(id(node))
            if id(node) in written:
                lines.append(f"{'  ' * depth}^ {name}")
                continue
            mark = f"{name} = " if name else ""
            lines.append(f"{'  ' * depth}{mark}{describe(node)}")
            if name:
                written.add(id(node))
            waiting += [(each, depth + 1) for each in reversed(node.inputs)]
    return "\n".join(lines) + "\n"


def shared_names(plan: Plan) -> dict[int, str]:
    """Return names for the nodes that several others read, after models and columns."""
    readers = consumers(plan)
    found: dict[int, str] = {}
    used: set[str] = set()
    for node in in_order(plan.outputs):
        if len(readers[id(node)]) > 1:
            base = name_of(node)
            name = base
            while name in used:
                name += "_"
            used.add(name)
            found[id(node)] = name
    return found


def name_of(node: Node) -> str:
    """Return what a node is called: by its own label, or after what it reads."""
    steps: list[str] = []
    while not node.label and node.inputs:
        steps.append(_KINDS.get(type(node), type(node).__name__.lower()))
        node = node.inputs[0]
    return "_".join([node.label or "rows", *reversed(steps)])


_KINDS: dict[type[Node], str] = {
    Repartition: "by_key",
    Filter: "filtered",
    Project: "selected",
    Decode: "decoded",
    Aggregate: "grouped",
    Expand: "expanded",
    Dedupe: "deduplicated",
}


def describe(node: Node) -> str:
    """Return one line that says what a node does."""
    known: AnyNode = node  # type: ignore[assignment]  # the union names all subclasses
    match known:
        case Output():
            keys = f" by {', '.join(known.keys)}" if known.keys else ""
            return f"{known.kind} {known.model.removeprefix('model.')}{keys}"
        case TopicScan():
            return f"topic {known.topic}"
        case SeedScan() | TableScan() | Given():
            kind = type(known).__name__.removesuffix("Scan").lower()
            changes = " changes" if isinstance(known, TableScan) and known.changes else ""
            return f"{kind} {known.relation}{changes}: {columns_text(known.columns)}"
        case Decode():
            return f"decode {known.format}: {columns_text(known.columns)}"
        case Filter():
            return f"filter {_all(known.conditions)}"
        case Project():
            return f"project {', '.join(map(item_text, known.items))}"
        case Expand():
            outer = "outer " if known.outer else ""
            return f"expand {outer}{known.call} as {columns_text(known.made)}"
        case Repartition():
            return f"repartition by {', '.join(known.keys) or 'nothing: all in one place'}"
        case Aggregate():
            keys, measures = (
                ", ".join(map(item_text, known.keys)),
                ", ".join(map(measure_text, known.measures)),
            )
            return (
                f"aggregate {measures or 'distinct'} by {keys or 'nothing'} ({known.emit.replace('_', ' ')})"
            )
        case Dedupe():
            within = f" within {known.within}" if known.within else ""
            return f"dedupe {', '.join(known.keys)}{within}"
        case Watermark():
            return f"watermark {known.time} delay {known.delay}"
        case Stateful():
            ttl = f" for {known.ttl}" if known.ttl else ""
            return f"stateful {known.function} by {', '.join(known.keys)}{ttl}"
        case Join():
            return f"{known.kind} join on {_all(known.on) or 'nothing'}"
        case Lookup():
            broadcast = " (broadcast)" if known.broadcast else ""
            return f"{known.kind} lookup on {_all(known.on) or 'nothing'}{broadcast}"
        case Union():
            return "union"
        case Opaque():
            return f"opaque: {'; '.join(known.reasons)}"


def columns_text(columns: Iterable[Column]) -> str:
    return ", ".join(column.name for column in columns)


def item_text(item: Item) -> str:
    return item.name if item.expression.column == item.name else f"{item.name} = {item.expression}"


def measure_text(measure: Measure) -> str:
    condition = f" filter (where {measure.condition})" if measure.condition else ""
    return f"{measure.name} = {measure.call}{condition}"


def _all(conditions: Iterable[Expression]) -> str:
    return " and ".join(str(c) if c.atomic or " or " not in str(c) else f"({c})" for c in conditions)
