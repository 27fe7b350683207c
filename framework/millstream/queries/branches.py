"""Each output as a branch: the operators that only this output needs, above those that it could share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.outputs.kinds import Sink
from millstream.plan.chains import has_chain, is_chained
from millstream.plan.nodes import (
    Aggregate,
    Decode,
    Filter,
    Node,
    Output,
    Plan,
    Project,
    Repartition,
    SourceScan,
    Stateful,
    TableScan,
    TopicScan,
    Watermark,
)
from millstream.plan.traits import traits_of
from millstream.plan.walk import below
from millstream.queries.fan_out import fan_out_base


class OutputBranch(Struct, frozen=True, eq=False):
    """An output, with what decides which query it can be part of."""

    output: Output
    base: Node
    """The node whose rows it filters and projects; a fan-out can write everything above it."""
    scans: tuple[Node, ...]
    """The topics and table changes that it reads, in order, each relation once."""
    states: tuple[Node, ...]
    """The stateful nodes below it."""
    moves: tuple[Node, ...]
    """The repartitions directly below these nodes."""
    mode: Literal["append", "update"]
    watermarks: tuple[tuple[NodeId, str, str, str], ...]
    """Source, column, delay and rows of each; a query uses the minimum, so its branches must agree."""

    @property
    def model(self) -> NodeId:
        return self.output.model

    @property
    def chained(self) -> bool:
        """Whether one of its stateful nodes is above another."""
        return has_chain([*self.states])

    @property
    def runs_only_with_rows(self) -> bool:
        """Whether its query runs no batches without rows, which others need so that windows close.

        With state that expires by the clock, Spark would run such batches without end (SPARK-50180).
        """
        return any(isinstance(state, Stateful) and state.ttl and not state.time for state in self.states)

    @property
    def stored_as(self) -> str:
        """Return what holds its rows; a view, which only `show` and tests compute, counts as a topic."""
        return self.output.materialization.stored_as or Sink.stored_as


class _Below(Struct, frozen=True):
    scans: Mapping[str, Node] = {}
    states: tuple[Node, ...] = ()
    moves: tuple[Node, ...] = ()
    watermarks: tuple[tuple[NodeId, str, str, str], ...] = ()


def split_branches(plan: Plan, order: Iterable[Node]) -> list[OutputBranch]:
    below: dict[int, _Below] = {}
    for node in order:
        below[id(node)] = _summary(node, [below[id(child)] for child in node.inputs])
    output_branches: list[OutputBranch] = []
    for output in plan.outputs:
        summary = below[id(output)]
        update = any(isinstance(n, Aggregate) and n.emit == "on_change" for n in summary.states)
        update = update or traits_of(output).mode == "upsert"
        output_branches.append(
            OutputBranch(
                output,
                _base(output, stateless=not summary.states),
                tuple(summary.scans.values()),
                summary.states,
                () if has_chain([*summary.states]) else summary.moves,
                "update" if update else "append",
                summary.watermarks,
            )
        )
    return output_branches


def _summary(node: Node, inputs: list[_Below]) -> _Below:
    node_part = _node_summary(node)
    parts = [*inputs, node_part]
    if len(inputs) == 1 and node_part is _NOTHING:
        return inputs[0]
    scans: dict[str, Node] = {}
    for part in parts:
        scans = {**scans, **{key: scan for key, scan in part.scans.items() if key not in scans}}
    return _Below(
        scans,
        _once(state for part in parts for state in part.states),
        _once(move for part in parts for move in part.moves),
        tuple(dict.fromkeys(watermark for part in parts for watermark in part.watermarks)),
    )


_NOTHING = _Below()


def _node_summary(node: Node) -> _Below:
    match node:
        case TopicScan() | SourceScan():
            return _Below({str(node.relation): node})
        case TableScan(changes=True):
            return _Below({f"changes of {node.relation}": node})
        case Watermark():
            return _Below(watermarks=((_source(node), node.time, node.delay, _rows(node.input)),))
        case _ if node.stateful and traits_of(node).mode != "static":
            moves = (_move(child) for child in node.inputs)
            return _Below(states=(node,), moves=tuple(move for move in moves if move is not None))
    return _NOTHING


def _move(node: Node) -> Repartition | None:
    """Return the repartition below a stateful node; nodes between them may change values."""
    moved = below(node, Filter, Project, Watermark)
    return moved if isinstance(moved, Repartition) and not is_chained(moved) else None


def _rows(node: Node) -> str:
    """Return what decides which rows of its source a watermark follows; empty if it follows all."""
    fingerprints: list[str] = []
    waiting = [node]
    while waiting:
        below = waiting.pop()
        if not isinstance(below, Project | Repartition | Decode | TopicScan | SourceScan | TableScan):
            fingerprints.append(below.fingerprint)
            continue
        waiting += below.inputs
    return " ".join(sorted(fingerprints))


def _source(node: Node) -> NodeId:
    while node.inputs:
        node = node.inputs[0]
        if isinstance(node, Decode):
            return node.relation
    return node.relation


def _once(nodes: Iterable[Node]) -> tuple[Node, ...]:
    return tuple({id(node): node for node in nodes}.values())


def _base(output: Output, *, stateless: bool) -> Node:
    if stateless and output.materialization.sends_records:
        # Only over decoded records can a call of a Python function be a separate column.
        base = fan_out_base(output, watermarks=True, calls=True)
        if isinstance(base, Decode) and base.fields:
            return base
    return fan_out_base(output, watermarks=stateless)
