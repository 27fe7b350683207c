"""Estimates the rows of a query's state from declared counts of values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from millstream.core.node_id import NO_NODE, NodeId
from millstream.core.types import Array, Decimal, Map, Row, Simple, Type
from millstream.plan.nodes import (
    Aggregate,
    Decode,
    Dedupe,
    Filter,
    Join,
    Node,
    Project,
    Repartition,
    SourceScan,
    Stateful,
    TemporalJoin,
    Watermark,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import traits_of
from millstream.queries.signature import operator_name, states_in
from millstream.queries.values import MemoryEstimate, StatefulOperator, StateSize, content_id
from millstream.sql.durations import MICROSECONDS, duration_micros
from millstream.sql.trees import window_lengths

_FIXED = {"boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "float": 4, "date": 4}
_ROW = 64
"""Bytes of a row besides its columns: header, entry in the state store, copies of its version."""
_PAGE = 1024
"""Bytes of a page of positions, of which each is a bit (Positions.java)."""


def estimate_memory(
    roots: Sequence[Node],
    operators: Sequence[StatefulOperator],
    distinct: Mapping[tuple[NodeId, str], int],
    rates: Mapping[NodeId, float],
) -> MemoryEstimate:
    """Return the estimate of all states below some outputs; `operators` describe the same states in order."""
    states = states_in(in_order(roots))
    if not states:
        return MemoryEstimate(0, "keeps no state")
    total = 0
    details: list[str] = []
    sizes: list[StateSize] = []
    unknown = False
    for node, operator in zip(states, operators, strict=True):
        rows, why = _rows(node, distinct, rates)
        paged = isinstance(node, Dedupe) and node.by_position
        width = _ROW + (_PAGE if paged else sum(_width(column.type) for column in node.state_columns))
        name, content = operator_name(node), content_id(operator)
        # A join has an entry for each row, and one that counts the rows of its key.
        entries = 2 if isinstance(node, Join) else 1
        unit, model = "page" if paged else "row", next(iter((*node.models, *operator.models)), NO_NODE)
        sizes.append(StateSize(name, width, rows, entries, content, unit, model))
        if rows is None:
            unknown = True
            details.append(f"{name}: {why}" if paged else f"{name}: {why}, {width} bytes each")
        else:
            total += rows * width
            details.append(f"{name}: {rows} {why} of {width} bytes")
    return MemoryEstimate(None if unknown else total, "; ".join(details), tuple(sizes))


def _rows(
    node: Node, distinct: Mapping[tuple[NodeId, str], int], rates: Mapping[NodeId, float]
) -> tuple[int | None, str]:
    match node:
        case Aggregate():
            keys = [c for key in node.keys if (c := key.expression.column) is not None]
            count, missing = _count(node.input, keys, distinct)
            windows = _windows(node)
            if missing:
                each_window = f" in each of {windows} windows" if windows else ""
                return None, f"one row for each {missing}{each_window}, of unknown cardinality"
            if windows is None:
                return count, "rows"
            return count * windows, f"rows ({count} in each of {windows} windows)"
        case Dedupe(by_position=True):
            return None, f"a bit for each record of each sender, in pages of {8 * _PAGE:,} records"
        case Dedupe():
            seconds = _seconds(node.within) if node.within else None
            rate = sum(
                rates.get(read.relation, 0.0)
                for read in in_order([node])
                if isinstance(read, Decode | SourceScan)
            )
            if seconds is not None and rate:
                return math.ceil(seconds * rate), "keys"
            count, missing = _count(node.input, node.keys, distinct)
            return (None, f"one key for each {missing}") if missing else (count, "keys")
        case Stateful():
            count, missing = _count(node.input, node.keys, distinct)
            return (
                (None, f"the state of {node.function}() for each {missing}") if missing else (count, "keys")
            )
        case TemporalJoin():
            return None, "the versions that are kept, and the rows that wait for them"
    return None, "the rows of both sides until no match can arrive"


def _count(node: Node, keys: Sequence[str], distinct: Mapping[tuple[NodeId, str], int]) -> tuple[int, str]:
    """Return how many combinations of keys there may be, and the first key without a known count."""
    count = 1
    for key in keys:
        cardinality = distinct_values(node, key, distinct)
        if cardinality is None:
            return 0, key
        count *= cardinality
    return count, ""


def distinct_values(node: Node, name: str, distinct: Mapping[tuple[NodeId, str], int]) -> int | None:
    """Look for a declared or measured count on the way down to a column's source."""
    while True:
        for model in node.models:
            if node.label and (model, name) in distinct:
                return distinct[model, name]
        match node:
            case Decode():
                return distinct.get((node.relation, name))
            case Project():
                column = next((item.expression.column for item in node.items if item.name == name), None)
                if column is None:
                    return None
                node, name = node.input, column
            case Filter() | Repartition() | Watermark() | Dedupe():
                node = node.input
            case _:
                return None


def _windows(node: Aggregate) -> int | None:
    """Return how many windows are open at a time; None if they never close."""
    if node.window is None:
        return None
    lengths = [_seconds(text) for text in window_lengths(node.window.expression)]
    if not lengths or lengths[0] is None:
        return None
    slide = lengths[1] if len(lengths) > 1 and lengths[1] else lengths[0]
    times = dict(traits_of(node.input).watermarks)
    delay = max((_seconds(text) or 0.0 for text in times.values()), default=None)
    return None if delay is None else math.ceil((lengths[0] + delay) / slide) + 1


def _seconds(text: str) -> float | None:
    micros = duration_micros(text)
    return micros / MICROSECONDS["second"] if isinstance(micros, int) else None


def _width(type_: Type) -> int:
    match type_:
        case Simple(name=name):
            return _FIXED.get(name, 24 if name in {"string", "binary", "variant"} else 8)
        case Decimal(precision=precision):
            return 8 if precision <= 18 else 16
        case Array(element=element):
            return 16 + 8 * _width(element)
        case Map(key=key, value=value):
            return 16 + 8 * (_width(key) + _width(value))
        case Row(fields=fields):
            return 8 + sum(_width(field.type) for field in fields)
