"""A model that reads another model's topic reads what is written to it instead; the topic is still written.

topic enriched → decode → final
enriched (before it is written) → final
"""

from __future__ import annotations

from collections.abc import Mapping

from millstream.expressions import column
from millstream.optimizer.context import Change, Context, Result
from millstream.optimizer.pure import impure_nodes
from millstream.plan.nodes import Decode, Item, Node, Output, Plan, Project, TopicScan, Watermark
from millstream.plan.traits import Traits, traits_of
from millstream.plan.walk import rewrite
from millstream.types import BIGINT, BINARY, INTERVAL, NULL, STRING, UNKNOWN, VARIANT, Type

_NAME = "bypass_topics"
_FAITHFUL = frozenset(("json", "avro", "protobuf"))
"""Formats that give back what was written, with its types."""
_SINGLE: Mapping[str, Type] = {"string": STRING, "long": BIGINT, "binary": BINARY}
"""Formats of one column that do so for a value which is not NULL: that would delete the key."""
_LOST = (INTERVAL, VARIANT, NULL, UNKNOWN)


def bypass_topics(plan: Plan, context: Context) -> Result:
    written = {output.model: output for output in plan.outputs if output.kind == "sink"}
    reads = [
        (node, written[node.input.relation])
        for node in context.order
        if isinstance(node, Decode) and isinstance(node.input, TopicScan) and node.input.relation in written
    ]
    if not reads:
        return plan, ()
    impure = impure_nodes(context.order)
    timed = _below_watermarks(context)
    instead = {
        id(node): (output, items)
        for node, output in reads
        # Another query could calculate the rows once more, and others than those that are written.
        if id(output.input) not in impure and (items := _items(node, output, context, timed))
    }
    changes: list[Change] = []
    new: dict[str, Node] = {}

    def visit(node: Node, before: Node) -> Node:
        if isinstance(node, Output):
            new[node.model] = node.input
        if id(before) not in instead:
            return node
        output, items = instead[id(before)]
        # A model stands after all that it reads, so what the topic gets by now is known.
        rows = new.get(output.model)
        if rows is None:
            return node
        readers = dict.fromkeys(m for each in context.consumers[id(before)] for m in each.models)
        name = output.model.removeprefix("model.")
        changes.append(Change(f"what reads topic {name} takes its rows before they are written", (*readers,)))
        if all(item.name == own for item, own in zip(items, rows.names, strict=False)) and (
            len(items) == len(rows.names)
        ):
            return rows
        keys = traits_of(before).keys
        label = before.label or output.label
        return Project(input=rows, items=items, keys=keys, label=label, models=output.models)

    found = rewrite(plan, visit)
    return (found, tuple(changes)) if changes else (plan, ())


def _items(
    node: Decode, output: Output, context: Context, timed: Mapping[int, set[tuple[str, str]]]
) -> tuple[Item, ...]:
    """Return the reader's columns as what the topic gets has them; none, where they could differ."""
    readers = context.consumers[id(node)]
    if node.metadata or node.key is not None or not context.allows(_NAME, node, output, *readers):
        return ()
    if output.options.get("format", "json") != node.format or not _is_faithful(node):
        return ()
    own = {c.name.lower(): c for c in output.input.columns}
    items: list[Item] = []
    for wanted in node.columns:
        found = own.get(wanted.name.lower())
        if found is None or found.type != wanted.type or (found.nullable and not wanted.nullable):
            return ()
        items.append(Item(wanted.name, column(found.name, found.type, nullable=found.nullable)))
    read, made = traits_of(node), traits_of(output.input)
    if not _alike(read, made) or not _may_time(timed[id(node)], made):
        return ()
    return tuple(items)


def _is_faithful(node: Decode) -> bool:
    if any(field.type in _LOST for field in node.fields):
        return False
    match node.fields:
        case (only,) if node.format in _SINGLE:
            return only.type == _SINGLE[node.format] and not only.nullable
    return node.format in _FAITHFUL


def _alike(read: Traits, made: Traits) -> bool:
    return (read.mode, read.keys) == (made.mode, made.keys)


def _may_time(watermarks: set[tuple[str, str]], made: Traits) -> bool:
    """Tell whether the readers' watermarks agree with those that the rows have: Spark takes no second one."""
    return not made.watermarks or watermarks <= set(made.watermarks)


def _below_watermarks(context: Context) -> dict[int, set[tuple[str, str]]]:
    """Return the watermarks above each node, by its `id`."""
    found: dict[int, set[tuple[str, str]]] = {id(node): set() for node in context.order}
    if not any(isinstance(node, Watermark) for node in context.order):
        return found
    for node in reversed(context.order):
        above = found[id(node)]
        own = {(node.time, node.delay)} if isinstance(node, Watermark) else set()
        for each in node.inputs:
            found[id(each)] |= above | own
    return found
