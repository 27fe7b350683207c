"""What a fan-out can contain: filters and projections above rows that all its models read."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.core.expressions import Expression, Ref
from millstream.plan.nodes import Decode, Filter, Node, Output, Project, Watermark
from millstream.plan.traits import traits_of
from millstream.plan.walk import below
from millstream.queries.python_calls import callable_in_fan_out
from millstream.sql.trees import window_calls


def fan_out_base(output: Output, *, watermarks: bool = False, calls: bool = False) -> Node:
    """Return the node below an output over whose rows a fan-out is written; everything above it fits.

    `watermarks` skips watermarks: without state, it doesn't matter how late a row is. `calls` allows calls of
    Python functions, which become columns.
    """
    chain: list[Node] = []
    node = output.input
    while isinstance(node, Filter | Project) or (watermarks and isinstance(node, Watermark)):
        chain.append(node)
        node = node.input
    return _base(chain, node, calls=calls)


def fits_fan_out(output: Output, base: Node) -> bool:
    """Whether a fan-out can contain everything between an output and the node `base`."""
    chain: list[Node] = []
    node = output.input
    while node is not base:
        if not isinstance(node, Filter | Project):
            return False
        chain.append(node)
        node = node.input
    if _guarded(chain):
        return False
    return _base(chain, base, calls=isinstance(below(base, Filter), Decode)) is base


def _guarded(chain: list[Node]) -> bool:
    """Whether an expression that can fail is calculated for rows of which some only mark a delete.

    The delete marker must then be a column, which a fan-out doesn't have.
    """
    upsert = False
    for node in reversed(chain):
        if isinstance(node, Filter):
            upsert = upsert or traits_of(node).mode == "upsert"
        elif isinstance(node, Project) and upsert and any(item.expression.raises for item in node.items):
            return True
    return False


def _base(chain: list[Node], base: Node, *, calls: bool) -> Node:
    calculated: Mapping[str, bool] = {}
    lengths: Mapping[str, int] = {}
    for node in reversed(chain):
        if not all(
            _writable(expression, calculated, calls=calls) and _length(expression, lengths) <= _LONGEST
            for expression in node.expressions
        ):
            base, calculated, lengths = node, {}, {}
        elif isinstance(node, Project):
            calculated = {
                item.name: bool(item.expression.functions)
                or any(calculated.get(name, False) for name in item.expression.columns)
                for item in node.items
                if item.expression.column != item.name or item.name in calculated
            }
            lengths = {item.name: _length(item.expression, lengths) for item in node.items}
    return base


_LONGEST = 2_000
"""Pieces of an expression: one that uses a column twice, again and again, doubles with each step."""


def _length(expression: Expression, lengths: Mapping[str, int]) -> int:
    """Return the number of pieces of an expression with columns inlined."""
    return sum(lengths.get(piece.column, 1) if isinstance(piece, Ref) else 1 for piece in expression.pieces)


def _writable(expression: Expression, calculated: Mapping[str, bool], *, calls: bool) -> bool:
    """Whether an expression can be written with columns inlined; `calculated`: whether they call Python."""
    if not expression.deterministic or expression.reads or window_calls(expression):
        return False
    if not (callable_in_fan_out(expression) if calls else not expression.functions):
        return False
    return not any(
        (ref.fixed and ref.column in calculated) or (ref.in_lambda and calculated.get(ref.column, False))
        for ref in expression.refs
    )
