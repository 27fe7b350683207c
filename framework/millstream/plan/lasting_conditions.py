"""Conditions that stay true of a group once they are, such as `count(*) > 2`.

A group that does not meet one never met it, so none of its rows was ever stored or sent.
Only aggregates of rows that are added count: `count` and `max` can only grow, `min` can only fall.
"""

from __future__ import annotations

from typing import Literal

from millstream.core.expressions import Expression
from millstream.core.types import BIGINT, DOUBLE, FLOAT, INT, SMALLINT, TINYINT, Decimal
from millstream.plan.keys.reading import (
    CallTree,
    CastTree,
    ColumnTree,
    ExpressionTree,
    FieldOf,
    LiteralTree,
    TreeReader,
    UnreadableError,
    read_expression,
    words_of,
)
from millstream.plan.nodes import Aggregate, Filter, Measure, Node, Project, Repartition, Watermark
from millstream.plan.traits import traits_of

Direction = Literal["grows", "falls", "stays", "unknown"]

_GROW = {"count", "count_if", "max", "bool_or", "some", "any"}
_FALL = {"min", "bool_and", "every"}
_TYPED = {"date", "timestamp", "timestamp_ntz"}
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
        if condition.deterministic and _lasts(node.input, condition)
    )


def _lasts(below: Node, condition: Expression) -> bool:
    try:
        words = words_of(condition)
        reader = _Conditions(words, below)
        lasts = reader.either()
    except UnreadableError:
        return False
    return reader.peek() is None and lasts


class _Conditions(TreeReader):
    """Reads a condition over a node, and finds whether it lasts."""

    def __init__(self, words: list, below: Node) -> None:  # type: ignore[type-arg]
        super().__init__(words)
        self.below = below

    def either(self) -> bool:
        lasts = self.all()
        while self.take("or"):
            lasts = self.all() and lasts
        return lasts

    def all(self) -> bool:
        lasts = self.one()
        while self.take("and"):
            lasts = self.one() and lasts
        return lasts

    def one(self) -> bool:
        start = self.position
        if self.take("("):
            try:
                lasts = self.either()
                self.expect(")")
            except UnreadableError:
                self.position = start
            else:
                if self.peek() is None or str(self.peek()).lower() in {"and", "or", ")"}:
                    return lasts
                self.position = start
        left = self.sum()
        if self.take("is"):
            self.expect("not")
            self.expect("null")
            return _stays_known(self.below, left)
        sign = self._sign()
        if not sign:
            return _direction(self.below, left) == "grows"
        one, other = _direction(self.below, left), _direction(self.below, self.sum())
        if sign in {">", ">="}:
            return one in {"grows", "stays"} and other in {"falls", "stays"}
        if sign in {"<", "<="}:
            return one in {"falls", "stays"} and other in {"grows", "stays"}
        return one == other == "stays"

    def primary(self) -> ExpressionTree:
        """Also read fractions and typed literals: `2.5`, `date '2026-01-31'`."""
        following = self.words[self.position : self.position + 3]
        if all(isinstance(word, str) for word in following):
            texts = [str(word) for word in following]
            if len(texts) == 3 and texts[0].isdigit() and texts[1] == "." and texts[2][0].isdigit():
                self.position += 3
                return LiteralTree(".".join(texts))
            if len(texts) > 1 and texts[0].lower() in _TYPED and texts[1].startswith("'"):
                self.position += 2
                return LiteralTree(texts[1])
        return super().primary()

    def _sign(self) -> str:
        sign = ""
        while self.peek() in {"<", ">", "=", "!"}:
            sign += str(self.next())
        return sign


def _direction(node: Node, tree: ExpressionTree) -> Direction:
    """Return how the value of an expression changes as rows come."""
    match tree:
        case LiteralTree():
            return "stays"
        case ColumnTree(name=name):
            return _of_column(node, name)
        case FieldOf(base=base):
            return "stays" if _direction(node, base) == "stays" else "unknown"
        case CastTree(of=of, type=type_):
            direction = _direction(node, of)
            return (
                direction
                if direction == "stays" or type_ in _WIDER or isinstance(type_, Decimal)
                else "unknown"
            )
        case CallTree(name="negative", arguments=(one,)):
            return _OPPOSITE[_direction(node, one)]
        case CallTree(name="+" | "-" as sign, arguments=(one, other)):
            first, second = _direction(node, one), _direction(node, other)
            second = second if sign == "+" else _OPPOSITE[second]
            if "stays" in {first, second}:
                return first if second == "stays" else second
            return first if first == second else "unknown"
        case CallTree(name="size" | "cardinality" | "array_size", arguments=(ColumnTree(name=name),)):
            measure = _measure(node, name)
            return "grows" if measure is not None and measure.function in _LISTS else "unknown"
        case CallTree():
            return "unknown"


def _of_column(node: Node, name: str) -> Direction:
    match node:
        case Project():
            item = next(item for item in node.items if item.name == name)
            try:
                return _direction(node.input, read_expression(item.expression))
            except UnreadableError:
                return "unknown"
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
        try:
            tree = read_expression(measure.call)
        except UnreadableError:
            return "unknown"
        if isinstance(tree, CallTree) and len(tree.arguments) == 1 and _is_positive(tree.arguments[0]):
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
        case CallTree(name="+", arguments=arguments):
            return all(map(_is_positive, arguments))
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
