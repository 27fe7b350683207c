"""A reader of another model's topic takes the rows before they are written; the topic is still written.

topic enriched → decode → final
enriched (before it is written) → final

It does not change which query closes a window, or by which watermark: see `_Queries.join`.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from millstream.core.expressions import Expression, Ref, joined
from millstream.core.types import TIMESTAMP
from millstream.formats.registry import format_of
from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.topics import without_watermarks
from millstream.plan.nodes import RECORD_TIME, Decode, Filter, Item, Node, Output, Plan, Project, TopicScan
from millstream.plan.optimizer.context import Change, Context, Result
from millstream.plan.streaming import STATES, Kind, kind_of
from millstream.plan.traits import traits_of
from millstream.plan.walk import rewrite

_NAME = "bypass_topics"
_TIMESTAMP, _TYPE = "_timestamp", "message.timestamp.type"


def bypass_topics(plan: Plan, context: Context) -> Result:
    written = {output.model: output for output in plan.outputs if output.topic}
    reads = [
        (node, written[node.input.relation])
        for node in context.order
        if isinstance(node, Decode) and isinstance(node.input, TopicScan) and node.input.relation in written
    ]
    if not reads:
        return plan, ()
    impure = _impure_nodes(context.order)
    queries = _Queries(context)
    instead = {
        id(node): (output, items)
        for node, output in reads
        # If not deterministic, another query could compute different rows than those that are written.
        if id(output.input) not in impure
        and (items := _items(node, output, context))
        and queries.join(node, output)
    }
    changes: list[Change] = []
    new: dict[str, Node] = {}

    def visit(node: Node, before: Node) -> Node:
        if isinstance(node, Output):
            new[node.model] = node.input
        if id(before) not in instead:
            return node
        output, items = instead[id(before)]
        # A model comes after all that it reads, so the rows of the topic are known here.
        rows = new.get(output.model)
        if rows is None:
            return node
        rows = _as_read(rows, output)
        readers = dict.fromkeys(m for reader in context.consumers[id(before)] for m in reader.models)
        name = output.model.removeprefix("model.")
        changes.append(Change(f"readers of topic {name} take its rows before they are written", (*readers,)))
        if tuple(item.name for item in items) == rows.names:
            return rows
        keys = traits_of(before).keys
        label = before.label or output.label
        return Project(input=rows, items=items, keys=keys, label=label, models=output.models)

    rewritten = rewrite(plan, visit)
    return (rewritten, tuple(changes)) if changes else (plan, ())


def _impure_nodes(order: Iterable[Node]) -> set[int]:
    """Return the `id`s of nodes that, or below which something, give other rows each time."""
    impure: set[int] = set()
    for node in order:
        if not node.deterministic or any(id(input_node) in impure for input_node in node.inputs):
            impure.add(id(node))
    return impure


class _Queries:
    """Tracks which stateful steps share a query as topics are bypassed, one after the other."""

    def __init__(self, context: Context) -> None:
        self.above: dict[int, frozenset[Kind]] = {}
        """The kinds of steps above each node, up to the outputs."""
        self.outputs: dict[int, frozenset[str]] = {}
        """The models that are stored above each node."""
        self.below = {output.model: {*traits_of(output).below} & {*STATES} for output in context.plan.outputs}
        for node in reversed(context.order):
            readers = context.consumers[id(node)]
            self.above[id(node)] = frozenset[Kind]().union(
                *(self.above[id(reader)] | _kinds(reader) for reader in readers)
            )
            stored = frozenset((node.model,)) if isinstance(node, Output) else frozenset[str]()
            self.outputs[id(node)] = stored.union(*(self.outputs[id(reader)] for reader in readers))

    def join(self, node: Decode, output: Output) -> bool:
        """Return whether readers of a topic can run in the query that writes it, and record it.

        A topic between two stateful steps is never bypassed: the upper step's event time follows the records
        of the topic, and each query that took the rows earlier would keep the lower state again.
        """
        below = self.below[output.model]
        if below and self.above[id(node)] & {*STATES, "watermark"}:
            return False
        for model in self.outputs[id(node)]:
            self.below[model] |= below
        return True


def _kinds(node: Node) -> frozenset[Kind]:
    if traits_of(node).mode == "static":
        return frozenset()
    kind = kind_of(node, bounded="bounded join" in traits_of(node).below)
    return frozenset((kind,)) if kind else frozenset()


def _as_read(rows: Node, output: Output) -> Node:
    """Return rows as their topic has them: those that pass its row checks, without event times.

    A watermark follows the records of the topic that is read, not those that were dropped before.
    """
    if not {*STATES} & {*traits_of(rows).below}:
        rows = without_watermarks(rows)
    conditions = tuple(_passed(check.wrong) for check in output.checks if check.keeps_out)
    return Filter(input=rows, conditions=conditions, models=output.models) if conditions else rows


def _passed(wrong: Expression) -> Expression:
    return replace(
        wrong, pieces=joined(("not coalesce(", *wrong.pieces, ", false)")), nullable=False, atomic=False
    )


def _items(node: Decode, output: Output, context: Context) -> tuple[Item, ...]:
    """Return the reader's columns over the rows that are written; empty if they could differ."""
    readers = context.consumers[id(node)]
    if node.key is not None or not context.allows(_NAME, node, output, *readers):
        return ()
    stored = output.materialization.sink
    if stored is None:
        return ()
    time = _time_as_read(node, output, stored)
    if time is None or stored.encoding != node.format or not _keeps_values(node):
        return ()
    read, written = traits_of(node), traits_of(output.input)
    if (read.mode, read.keys) != (written.mode, written.keys):
        return ()
    # A test that keeps a changed row out leaves the older one of its key: a filter would delete it.
    if written.mode == "upsert" and any(check.keeps_out for check in output.checks):
        return ()
    written_columns = {c.name.lower(): c for c in output.input.columns}
    items: list[Item] = []
    for column in node.columns:
        if column.name == _TIMESTAMP:
            items += time
            continue
        written_column = written_columns.get(column.name.lower())
        if (
            written_column is None
            or written_column.type != column.type
            or (written_column.nullable and not column.nullable)
        ):
            return ()
        items.append(Item(column.name, written_column.expression))
    return tuple(items)


def _time_as_read(node: Decode, output: Output, sink: Sink) -> tuple[Item, ...] | None:
    """Return the time of records as a reader needs it, in milliseconds; None if only the topic has it."""
    if not node.metadata:
        return ()
    broker = str((sink.topic_config or {}).get(_TYPE, "CreateTime")) != "CreateTime"
    if node.metadata != (_TIMESTAMP,) or broker or not output.timed:
        return None
    time = output.input.column(RECORD_TIME)
    if time.nullable:
        return None
    pieces = ("timestamp_millis(unix_millis(", Ref(time.name), "))")
    return (Item(_TIMESTAMP, Expression(pieces, TIMESTAMP, nullable=False, atomic=True)),)


def _keeps_values(node: Decode) -> bool:
    """Return whether reading returns what was written."""
    codec = format_of(node.format)
    if codec.single and (len(node.fields) != 1 or node.fields[0].nullable):
        return False  # as a whole value, NULL would delete the key
    return all(codec.round_trips(field.type) for field in node.fields)
