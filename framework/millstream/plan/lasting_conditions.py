"""Conditions that stay true of a group once they are, such as `count(*) > 2`.

A group that does not meet one never met it, so none of its rows was ever stored or sent.
Only aggregates of rows that are added count: `count` and `max` can only grow, `min` can only fall.
"""

from __future__ import annotations

from typing import Literal

from millstream.core.expressions import Expression
from millstream.core.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, Decimal
from millstream.plan.nodes import Aggregate, Filter, Measure, Node, Project, Repartition, Watermark
from millstream.plan.traits import traits_of
from millstream.sql.trees import (
    CallTree,
    CastTree,
    ColumnTree,
    ExpressionTree,
    FieldOf,
    IntervalTree,
    LiteralTree,
    OperatorTree,
    OtherTree,
    tree_of,
)

Direction = Literal["grows", "falls", "stays", "unknown"]

_GROW = {"count", "count_if", "max", "bool_or", "some", "any"}
_FALL = {"min", "bool_and", "every"}
_LISTS = {"collect_list", "collect_set", "array_agg"}
_WIDER = {TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE}
_OPPOSITE: dict[Direction, Direction] = {
    "grows": "falls", "falls": "grows", "stays": "stays", "unknown": "unknown",
}  # fmt: skip


def lasting_conditions(node: Filter) -> tuple[Expression, ...]:
    """Return the conditions of a filter that stay true of a group once they are."""
    return tuple(
        condition
        for condition in node.conditions
        if condition.deterministic and _lasts(node.input, tree_of(condition))
    )


def _lasts(input_node: Node, condition: ExpressionTree) -> bool:
    match condition:
        case OperatorTree(sign="and" | "or", operands=conditions):
            return all(_lasts(input_node, operand) for operand in conditions)
        case OperatorTree(sign="not", operands=(OperatorTree(sign="is null", operands=(value,)),)):
            return _stays_known(input_node, value)
        case OperatorTree(sign=">" | ">=", operands=(more, less)):
            return _is_ever_more(input_node, more, less)
        case OperatorTree(sign="<" | "<=", operands=(less, more)):
            return _is_ever_more(input_node, more, less)
        case OperatorTree(sign="=" | "<>" | "<=>", operands=values):
            return all(_direction(input_node, value) == "stays" for value in values)
        case _:
            return _direction(input_node, condition) == "grows"


def _is_ever_more(input_node: Node, more: ExpressionTree, less: ExpressionTree) -> bool:
    """Return whether a value that is more than another one stays so."""
    return _direction(input_node, more) in {"grows", "stays"} and _direction(input_node, less) in {
        "falls",
        "stays",
    }


def _direction(node: Node, tree: ExpressionTree) -> Direction:
    """Return how the value of an expression changes as rows come."""
    match tree:
        case LiteralTree() | IntervalTree():
            return "stays"
        case ColumnTree():
            return _of_column(node, tree.name)
        case FieldOf(base=base):
            return "stays" if _direction(node, base) == "stays" else "unknown"
        case CastTree(of=of, type=type_):
            direction = _direction(node, of)
            return (
                direction
                if direction == "stays" or type_ in _WIDER or isinstance(type_, Decimal)
                else "unknown"
            )
        case OperatorTree(sign="negative", operands=(one,)):
            return _OPPOSITE[_direction(node, one)]
        case OperatorTree(sign="+" | "-" as sign, operands=(one, other)):
            first, second = _direction(node, one), _direction(node, other)
            second = second if sign == "+" else _OPPOSITE[second]
            if "stays" in {first, second}:
                return first if second == "stays" else second
            return first if first == second else "unknown"
        case CallTree(name="size" | "cardinality" | "array_size", arguments=(ColumnTree() as column,)):
            measure = _measure(node, column.name)
            return "grows" if measure is not None and measure.function in _LISTS else "unknown"
        case CallTree() | OperatorTree() | OtherTree():
            return "unknown"


def _of_column(node: Node, name: str) -> Direction:
    match node:
        case Project():
            item = next(item for item in node.items if item.name == name)
            return _direction(node.input, tree_of(item.expression))
        case Filter() | Repartition() | Watermark():
            return _of_column(node.input, name)
        case Aggregate() if traits_of(node.input).mode == "append":
            measure = _measure(node, name)
            return "stays" if measure is None else _of_measure(measure)
    return "unknown"


def _of_measure(measure: Measure) -> Direction:
    if measure.function in _GROW:
        return "grows"
    if measure.function in _FALL:
        return "falls"
    if measure.function == "sum":
        match tree_of(measure.call):
            case CallTree(arguments=(argument,), distinct=False) if _is_positive(argument):
                return "grows"
    return "unknown"


def _is_positive(tree: ExpressionTree) -> bool:
    """Whether a value is never less than zero."""
    match tree:
        case LiteralTree(value=int()):
            return True
        case CallTree(name="abs" | "length" | "char_length" | "octet_length"):
            return True
        case CastTree(of=of, type=type_):
            return (type_ in _WIDER or isinstance(type_, Decimal)) and _is_positive(of)
        case OperatorTree(sign="+", operands=operands):
            return all(map(_is_positive, operands))
    return False


def _measure(node: Node, name: str) -> Measure | None:
    """Return the aggregate that a column is, without any calculation."""
    match node:
        case Project():
            column = next(item for item in node.items if item.name == name).expression.column
            return None if column is None else _measure(node.input, column)
        case Filter() | Repartition() | Watermark():
            return _measure(node.input, name)
        case Aggregate():
            return next((measure for measure in node.measures if measure.name == name), None)
    return None


def _stays_known(node: Node, tree: ExpressionTree) -> bool:
    """Whether a value that is not NULL never becomes NULL: Spark's aggregates skip NULLs."""
    if not isinstance(tree, ColumnTree):
        return False
    measure = _measure(node, tree.name)
    if measure is not None:
        return measure.function in {"max", "min", "sum", "avg", "count"}
    return _of_column(node, tree.name) == "stays"
