"""A plan as a drawing: nodes with names and details, edges, and the query that runs each node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from millstream.core.node_id import NO_NODE, NodeId
from millstream.explain.facts import mode_text, node_details, state_text
from millstream.explain.names import model_name, node_names
from millstream.plan.nodes import METADATA, RECORD_HEADERS, RECORD_TIME, Node, Output, Plan, TopicScan
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import Traits, all_traits


class DrawnNode(Struct, frozen=True):
    id: str
    """Unique in the drawing, built from models and columns."""
    kind: str
    """topic, seed, table, decode, filter, select, expand, repartition, aggregate, dedupe, watermark,
    stateful, join, lookup, union, sql; and of outputs: sink, table, view."""
    line: str
    """What it does."""
    models: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    details: tuple[tuple[str, str], ...] = ()
    """Name and text of each detail."""
    mode: str = "append"
    keys: tuple[str, ...] = ()
    partitioned: tuple[str, ...] | None = None
    watermarks: tuple[tuple[str, str], ...] = ()
    state: str = ""
    topic: str = ""
    """The topic that it reads or writes."""
    relation: NodeId = NO_NODE
    """The id of the source, seed or model that it reads or writes."""
    output: bool = False


class PlanEdge(Struct, frozen=True):
    """The flow of rows from one node to another; edges to a node are in the order of its inputs."""

    source: str
    target: str


class QueryNodes(Struct, frozen=True):
    """The nodes of one query."""

    name: str
    nodes: tuple[str, ...]


class Drawing(Struct, frozen=True):
    nodes: tuple[DrawnNode, ...]
    """Each after its inputs."""
    edges: tuple[PlanEdge, ...]
    outputs: tuple[str, ...]
    groups: tuple[QueryNodes, ...] = ()


def draw_plan(plan: Plan, queries: Sequence[tuple[str, frozenset[NodeId]]] = ()) -> Drawing:
    """Return a plan's drawing; `queries` are names with the models that they compute.

    Nodes that several queries need run in each of them, and are drawn in each.
    """
    traits, names = all_traits(plan), node_names(plan)
    parts = [
        (name, [output for output in plan.outputs if output.model in models]) for name, models in queries
    ]
    grouped = {id(output) for _, outputs in parts for output in outputs}
    parts = [(name, outputs) for name, outputs in parts if outputs]
    if rest := [output for output in plan.outputs if id(output) not in grouped]:
        parts.append(("", rest))
    orders = [in_order(outputs) for _, outputs in parts]
    within = Counter(id(node) for order in orders for node in order)
    nodes: list[DrawnNode] = []
    edges: list[PlanEdge] = []
    groups: list[QueryNodes] = []
    node_ids: dict[int, str] = {}
    for (query, _), order in zip(parts, orders, strict=True):
        query_ids = {
            id(node): names[id(node)] + (f".in_{query}" if within[id(node)] > 1 and query else "")
            for node in order
        }
        nodes += [_drawn(node, query_ids[id(node)], traits[id(node)]) for node in order]
        edges += [
            PlanEdge(query_ids[id(child)], query_ids[id(node)]) for node in order for child in node.inputs
        ]
        node_ids |= query_ids
        if query:
            groups.append(QueryNodes(query, tuple(query_ids[id(node)] for node in order)))
    return Drawing(
        tuple(nodes), tuple(edges), tuple(node_ids[id(output)] for output in plan.outputs), tuple(groups)
    )


def _drawn(node: Node, name: str, traits: Traits) -> DrawnNode:
    return DrawnNode(
        id=name,
        kind=node.operator,
        line=line_of(node, traits),
        models=tuple(map(model_name, node.models)),
        columns=tuple(map(with_plain_names, node.names)),
        details=tuple((name, with_plain_names(text)) for name, text in node_details(node, traits)),
        mode=traits.mode,
        keys=traits.keys,
        partitioned=traits.partitioned,
        watermarks=traits.watermarks,
        state=state_text(node, traits),
        topic=_topic_text(node),
        relation=node.model if isinstance(node, Output) else node.relation,
        output=isinstance(node, Output),
    )


def _topic_text(node: Node) -> str:
    match node:
        case TopicScan():
            return ", ".join(node.topics)
        case Output():
            return node.topic
        case _:
            return ""


def line_of(node: Node, traits: Traits) -> str:
    """Return what a node does in a line; for an output, with its topic and mode."""
    text = node.summary
    if isinstance(node, Output):
        text += f" to topic {node.topic}" if node.topic not in {"", model_name(node.model)} else ""
        return f"{text} ({mode_text(traits)})"
    return abbreviate_metadata(text)


def with_plain_names(text: str) -> str:
    """Show the columns that a sink sends next to its value under names that say what they are."""
    return text.replace(RECORD_TIME, "record_time").replace(RECORD_HEADERS, "record_headers")


def abbreviate_metadata(text: str) -> str:
    """Abbreviate the list of all metadata columns of a record to `metadata`."""
    text = with_plain_names(text)
    return text.replace(f", {_METADATA}", " and metadata").replace(_METADATA, "metadata")


_METADATA = ", ".join(METADATA)
