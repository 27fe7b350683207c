"""A reader of another model's topic takes the rows before they are written; the topic is still written.

topic enriched → decode → final
enriched (before it is written) → final

It does not change which query closes a window, or by which watermark, and no query keeps a state again (see
`_Queries`) or calls a Python function again that costs more than to read its result (see `repeats_calls`).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

from msgspec import Struct

from millstream.core.expressions import Expression, Ref
from millstream.core.node_id import NodeId
from millstream.core.types import TIMESTAMP
from millstream.formats.registry import format_of
from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.topics import without_watermarks
from millstream.plan.nodes import (
    RECORD_TIME,
    Decode,
    Filter,
    Item,
    Node,
    Output,
    Plan,
    Project,
    TableScan,
    TopicScan,
    Watermark,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.optimizer.repeated_calls import repeats_calls
from millstream.plan.streaming import STATES, Kind, kind_of
from millstream.plan.traits import traits_of
from millstream.plan.walk import rewrite_plan

_NAME = "bypass_topics"
_TIMESTAMP, _TYPE = "_timestamp", "message.timestamp.type"


def bypass_topics(plan: Plan, context: RuleContext) -> Result:
    written = {output.model: output for output in plan.outputs if output.topic}
    reads = [
        (node, written[node.input.relation])
        for node in context.order
        if isinstance(node, Decode) and isinstance(node.input, TopicScan) and node.input.relation in written
    ]
    if not reads:
        return plan, ()
    impure = _impure_nodes(context.order)
    possible = [
        _Read(node, output, items)
        for node, output in reads
        # If not deterministic, another query could compute different rows than those that are written.
        if id(output.input) not in impure
        and context.allows(_NAME, node, output, *context.consumers[id(node)])
        and (items := _items(node, output))
    ]
    joined = {id(read.node): read for read in _Queries(context).joined(possible)}
    repeated = repeats_calls(context, _NAME, {id_: read.writer for id_, read in joined.items()})
    instead = {id_: read for id_, read in joined.items() if id_ not in repeated}
    changes: list[PlanChange] = []
    new: dict[NodeId, Node] = {}

    def visit(node: Node, before: Node) -> Node:
        if isinstance(node, Output):
            new[node.model] = node.input
        if id(before) not in instead:
            return node
        output = instead[id(before)].writer
        # A model comes after all that it reads, so the rows of the topic are known here.
        rows = new.get(output.model)
        if rows is None:
            return node
        readers = dict.fromkeys(model for reader in context.consumers[id(before)] for model in reader.models)
        name = output.model.shown_name
        changes.append(
            PlanChange(f"readers of topic {name} take its rows before they are written", (*readers,))
        )
        return _as_read(rows, instead[id(before)])

    rewritten = rewrite_plan(plan, visit)
    return (rewritten, tuple(changes)) if changes else (plan, ())


def _impure_nodes(order: Iterable[Node]) -> set[int]:
    """Return the `id`s of nodes that, or below which something, give other rows each time."""
    impure: set[int] = set()
    for node in order:
        if not node.deterministic or any(id(input_node) in impure for input_node in node.inputs):
            impure.add(id(node))
    return impure


class _Read(Struct, frozen=True, eq=False):
    """A read of a topic that another model writes."""

    node: Decode
    writer: Output
    items: tuple[Item, ...]
    """Its columns over the rows that are written."""


class _Queries:
    """Which queries the readers of topics share with the models that write them.

    A topic between two stateful steps is never bypassed: the upper step's event time follows the records of
    the topic. Where a topic has state below it, its readers take the rows earlier only in the query that
    writes it, if all of their rows come from that state: any other query would keep the state again.
    """

    def __init__(self, context: RuleContext) -> None:
        self._queries = context.hints.queries
        self._outputs = context.plan.outputs
        self._above: dict[int, frozenset[Kind]] = {}
        """The kinds of steps above each node, up to the outputs."""
        self._models: dict[int, frozenset[NodeId]] = {}
        """The models that are stored above each node."""
        for node in reversed(context.order):
            readers = context.consumers[id(node)]
            self._above[id(node)] = frozenset[Kind]().union(
                *(self._above[id(reader)] | _kinds(reader) for reader in readers)
            )
            stored = frozenset((node.model,)) if isinstance(node, Output) else frozenset[NodeId]()
            self._models[id(node)] = stored.union(*(self._models[id(reader)] for reader in readers))

    def joined(self, reads: Sequence[_Read]) -> Sequence[_Read]:
        """Return the reads whose readers can run in the query that writes the topic."""
        while True:
            joined = self._without_copies(self._not_between_states(reads))
            if len(joined) == len(reads):
                return joined
            reads = joined  # a model that reads one of its topics back may not take the rows of another one

    def _not_between_states(self, reads: Iterable[_Read]) -> list[_Read]:
        below = {output.model: _states(output) for output in self._outputs}
        joined: list[_Read] = []
        for read in reads:
            states = below[read.writer.model]
            if states and self._above[id(read.node)] & {*STATES, "watermark"}:
                continue
            joined.append(read)
            for model in self._models[id(read.node)]:
                below[model] |= states
        return joined

    def _without_copies(self, reads: Sequence[_Read]) -> Sequence[_Read]:
        """Return the reads by which no query keeps the state of another one."""
        if self._queries == "one":
            return reads
        by_node = {id(read.node): read for read in reads}
        readers = frozenset[str]().union(*(self._models[id(read.node)] for read in reads))
        origins = {output.model: output for output in self._outputs if _states(output)}
        """By model: the one from whose state its rows come."""
        copied: set[int] = set()
        for output in self._outputs:
            if output.model not in readers or not output.materialization.stored_as:
                continue
            taken: dict[int, Output] = {}
            others = False
            for node in filter(_is_streamed, in_order((output,))):
                read = by_node.get(id(node))
                if read is not None and (origin := origins.get(read.writer.model)) is not None:
                    taken[id(node)] = origin
                else:
                    others = True
            writers = {origin.model: origin for origin in taken.values()}
            if len(writers) == 1 and not others and self._share_query(output, *writers.values()):
                (origins[output.model],) = writers.values()
            else:
                copied.update(taken)
        return [read for read in reads if id(read.node) not in copied]

    def _share_query(self, one: Output, other: Output) -> bool:
        if self._queries != "shared" or one.sends_changes or other.sends_changes:
            return False
        if one.materialization.alone or other.materialization.alone:
            return False
        return (one.group, one.producer, one.state_store) == (other.group, other.producer, other.state_store)


def _is_streamed(node: Node) -> bool:
    """Return whether a node has the rows of a topic, or the changes of a table."""
    return (isinstance(node, Decode) and isinstance(node.input, TopicScan)) or (
        isinstance(node, TableScan) and node.changes
    )


def _states(node: Node) -> set[Kind]:
    return {*traits_of(node).below} & {*STATES}


def _kinds(node: Node) -> frozenset[Kind]:
    if traits_of(node).mode == "static":
        return frozenset()
    kind = kind_of(node, bounded="bounded join" in traits_of(node).below)
    return frozenset((kind,)) if kind else frozenset()


def with_topics_bypassed(root: Node, writers: Mapping[NodeId, Output], read: Container[NodeId]) -> Node:
    """Return a model's rows over those of the models whose topics it does not read, where these have state.

    `read` are the topics that it reads, by the ids of the models that write them.
    """
    written: dict[NodeId, Node] = {}

    def followed(root: Node) -> Node:
        new: dict[int, Node] = {}
        for node in in_order((root,)):
            inputs = [new[id(input_node)] for input_node in node.inputs]
            if isinstance(node, Watermark) and _states(inputs[0]):
                new[id(node)] = inputs[0]  # no state above uses it: see `_not_between_states`
                continue
            new[id(node)] = node.with_inputs(*inputs)
            writer = writers.get(node.relation) if isinstance(node, Decode) else None
            if isinstance(node, Decode) and writer is not None and node.relation not in read:
                if writer.model not in written:
                    written[writer.model] = followed(writer.input)
                rows = written[writer.model]
                if _states(rows) and (items := _items(node, writer)):
                    new[id(node)] = _as_read(rows, _Read(node, writer, items))
        return new[id(root)]

    return followed(root)


def _as_read(rows: Node, read: _Read) -> Node:
    """Return rows as their topic has them: those that pass its row checks, without event times.

    A watermark follows the records of the topic that is read, not those that were dropped before.
    """
    output = read.writer
    if not _states(rows):
        rows = without_watermarks(rows)
    conditions = tuple(check.passed for check in output.checks if check.keeps_out)
    rows = Filter(input=rows, conditions=conditions, models=output.models) if conditions else rows
    if tuple(item.name for item in read.items) == rows.names:
        return rows
    label = read.node.label or output.label
    return Project(
        input=rows, items=read.items, keys=traits_of(read.node).keys, label=label, models=output.models
    )


def _items(node: Decode, output: Output) -> tuple[Item, ...]:
    """Return the reader's columns over the rows that are written; empty if they could differ."""
    if node.key is not None:
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
