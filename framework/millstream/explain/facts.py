"""The details of a node: key, mode, partitioning, watermark, state."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.explain.names import model_name
from millstream.plan.durations import format_duration
from millstream.plan.nodes import (
    Aggregate,
    Decode,
    Dedupe,
    Filter,
    Join,
    Lookup,
    Node,
    Opaque,
    Output,
    Repartition,
    Stateful,
    TemporalJoin,
    TopicScan,
    columns_text,
    conditions_text,
)
from millstream.plan.traits import Traits


def node_details(node: Node, traits: Traits) -> Iterator[tuple[str, str]]:
    """Yield the details of a node for a drawing, each with its name."""
    if len(node.models) > 1:
        yield "models", ", ".join(map(model_name, node.models))
    if not isinstance(node, TopicScan | Output):
        yield "columns", columns_text(node.columns)
    match node:
        case Filter():
            yield "filter", conditions_text(node.conditions)
        case Join() | Lookup() | TemporalJoin():
            yield "on", conditions_text(node.on)
        case Repartition():
            yield "key", ", ".join(node.keys) or "none: all rows in one partition"
        case Decode():
            yield "on bad record", node.on_bad_record.replace("_", " ")
        case Output():
            if node.keys:
                yield "key", ", ".join(node.keys)
            if node.topic:
                yield "topic", node.topic
            if node.materialization.changes:
                yield "records", "each change, with the rows before and after"
        case Opaque():
            yield "not understood", "; ".join(node.reasons)
    yield "mode", mode_text(traits)
    if traits.partitioned is not None:
        yield "partitioned by", ", ".join(traits.partitioned) or "nothing: all rows in one partition"
    if traits.watermarks:
        yield "watermark", ", ".join(f"{time} - {delay}" for time, delay in traits.watermarks)
    if state := state_text(node, traits):
        yield "state", state


def mode_text(traits: Traits) -> str:
    match traits.mode:
        case "append":
            return "append"
        case "upsert":
            return f"upsert by {', '.join(traits.keys) or 'nothing: one row'}"
        case "static":
            return "at rest"


def state_text(node: Node, traits: Traits) -> str:
    """Return what a node keeps as state, and how long; empty if it keeps nothing."""
    if traits.mode == "static":
        return ""
    match node:
        case Aggregate():
            per = ", ".join(key.name for key in node.keys)
            until = _until(traits) if node.window is not None else ", kept until it is deleted"
            return f"a row per {per}{until}" if per else "one row"
        case Dedupe(by_position=True):
            return "a bit for each position, kept forever"
        case Dedupe():
            keys = ", ".join(node.keys)
            if node.exact_by:
                return f"{keys} with the {node.exact_by} of rows that passed, each for {node.within}"
            until = f"forgotten after {node.within}" if node.within else "kept forever"
            return f"seen {keys}, {until}"
        case Join():
            return "rows of both sides" + (_until(traits) if traits.watermarks else ", kept forever")
        case TemporalJoin():
            retention = (
                "kept forever"
                if node.keep is None
                else f"each for {format_duration(node.keep)} after its end"
            )
            return f"versions, {retention}, and rows{_until(traits)}"
        case Stateful():
            by = f" by {node.time}" if node.time else ""
            until = f", for {node.ttl}{by}" if node.ttl else ""
            return f"what {node.function}() keeps per {', '.join(node.keys)}{until}"
    return ""


def _until(traits: Traits) -> str:
    times = ", ".join(time for time, _ in traits.watermarks)
    if not times:
        return ", kept forever: there is no watermark"
    return f", until the watermark of {times} has passed it"
