"""The columns that the value of an expression determines, and that a key can therefore replace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from millstream.core.expressions import Expression
from millstream.core.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Type,
)
from millstream.plan.keys import times
from millstream.plan.keys.casts import cast_value, truncate_time
from millstream.plan.keys.functions import UNARY, all_of, replace_null, shift_value
from millstream.plan.keys.texts import TextSet, are_separable, texts_of
from millstream.plan.keys.values import Columns, ValueFacts, coarse_time, lost_value
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

_CONVERSIONS: dict[str, Type] = {
    "string": STRING, "bigint": BIGINT, "int": INT, "double": DOUBLE, "decimal": Decimal(),
    "binary": BINARY, "date": DATE, "boolean": BOOLEAN,
}  # fmt: skip


def expression_value(
    expression: Expression, columns: Columns, *, fixed_offset: bool, never_null: bool = False
) -> ValueFacts:
    """Return the value of an expression over columns.

    `fixed_offset`: the session's clocks are never set back. `never_null`: rows with NULL are not stored.
    """
    if not expression.deterministic:
        return ValueFacts(why=f"{_short(expression.text)} is not deterministic")
    try:
        facts, tree = _Facts(columns, fixed_offset), tree_of(expression)
        if never_null and _concatenated(tree) is not None:
            return facts.joined(tree, never_null=True)
        return facts.value(tree)
    except _UnsupportedError:
        return ValueFacts(why=f"{_short(expression.text)} can be equal for different values")


class _UnsupportedError(Exception):
    """SQL that keys usually don't have."""


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _literal(value: str | int) -> ValueFacts:
    if isinstance(value, str):
        return ValueFacts(STRING, nullable=False, literal=value)
    return ValueFacts(INT if value < 1 << 31 else BIGINT, nullable=False, literal=value)


class _Facts:
    def __init__(self, columns: Columns, fixed_offset: bool) -> None:
        self.columns = columns
        self._cast = partial(cast_value, fixed_offset=fixed_offset)
        self._cut = partial(truncate_time, fixed_offset=fixed_offset)

    def value(self, tree: ExpressionTree) -> ValueFacts:
        match tree:
            case ColumnTree():
                return self._column(tree.name)
            case LiteralTree(value=str() | int() as value):
                return _literal(value)
            case FieldOf():
                base = self.value(tree.base)
                if base.window and tree.name.lower() in {"start", "end"}:
                    return replace(base, type=TIMESTAMP, nullable=False, window=False)
                return ValueFacts(why=base.why or f"a field '{tree.name}' is only a part of its value")
            case CastTree():
                return self._cast(self.value(tree.of), tree.type)
            case CallTree() | OperatorTree() if _concatenated(tree) is not None:
                return self.joined(tree)
            case CallTree(name=name, arguments=parts, distinct=False) | OperatorTree(name, parts):
                return self._called(name, [self.value(part) for part in parts], parts)
            case LiteralTree() | IntervalTree() | CallTree() | OtherTree():
                raise _UnsupportedError

    def _column(self, name: str) -> ValueFacts:
        column = self.columns(name)
        if column is None:
            raise _UnsupportedError
        nullable = column.nullable and not column.window
        return ValueFacts(column.type, frozenset((name.lower(),)), nullable, None, column.gap, column.window)

    # -- functions

    def _called(self, name: str, values: list[ValueFacts], arguments: Sequence[ExpressionTree]) -> ValueFacts:
        match name:
            case "concat_ws":
                return self._joined_by(values)
            case "struct" | "array":
                return all_of(name, values)
            case "named_struct":
                return all_of(name, values[1::2])
            case "to_json" if len(values) == 1:
                return self._json(arguments[0])
            case _ if name in _CONVERSIONS and len(values) == 1:
                return self._cast(values[0], _CONVERSIONS[name])
            case "coalesce" | "ifnull" | "nvl" if len(values) == 2:
                return replace_null(name, *values)
            case "+" | "-" | "date_add" | "date_sub":
                return shift_value(name, *values)
            case _:
                handler = partial(self._of_time, name) if name in _OF_TIME else UNARY.get(name)
                return handler(values) if handler and values else lost_value(name, *values)

    def _of_time(self, name: str, values: list[ValueFacts]) -> ValueFacts:
        """Return a time after a function; a unit or pattern is a literal."""
        if name == "date_trunc":
            values.reverse()
        first, *others = values
        shown = f"{name}()"
        if first.type == DATE and name == "unix_date":
            return replace(first, type=INT)
        if first.type != TIMESTAMP or any(not isinstance(other.literal, str) for other in others):
            return lost_value(name, *values)
        text = str(others[0].literal) if others else ""
        match name, len(others):
            case (("unix_micros" | "unix_millis" | "unix_seconds"), 0):
                unit = {"unix_micros": 1, "unix_millis": 1000, "unix_seconds": times.SECOND}[name]
                converted = replace(first, type=BIGINT, gap=1)
                return converted if first.gap >= unit else coarse_time(first, shown)
            case "to_date", 0:
                return self._cut(first, replace(first, type=DATE, gap=1), times.DAY, shown)
            case "date_trunc", 1:
                return self._cut(first, replace(first, gap=1), times.unit_of(text), f"{name}('{text}')")
            case "date_format", 1:
                unit, characters = times.pattern_precision(text)
                formatted = replace(first, type=STRING, texts=TextSet(characters, characters), gap=1)
                return self._cut(first, formatted, unit, f"'{text}'")
        return lost_value(name, *values)

    def _json(self, argument: ExpressionTree) -> ValueFacts:
        """Return `to_json`: NULL fields are omitted, which is unambiguous; times have milliseconds."""
        if not isinstance(argument, CallTree) or argument.name not in {"struct", "named_struct"}:
            return lost_value("to_json")
        fields = argument.arguments if argument.name == "struct" else argument.arguments[1::2]
        values = [self.value(field) for field in fields]
        for value in values:
            if value.type == TIMESTAMP or value.window:
                fine = value.gap >= 1000
            else:
                fine = value.type in {STRING, BINARY} or (
                    texts_of(value.type) is not None and value.type != TIMESTAMP_NTZ
                )
            if not fine or value.why:
                return lost_value("to_json", value)
        return replace(all_of("to_json", values), type=STRING, nullable=False)

    # -- texts

    def joined(self, tree: ExpressionTree, *, never_null: bool = False) -> ValueFacts:
        return self._joined("concat", [self.value(part) for part in _parts(tree)], never_null=never_null)

    def _joined(self, shown: str, values: list[ValueFacts], *, never_null: bool = False) -> ValueFacts:
        parts = [value if value.literal is not None else self._cast(value, STRING) for value in values]
        if wrong := [part for part in parts if part.why]:
            return lost_value(shown, *wrong)
        variable = [part for part in parts if part.literal is None]
        if (
            not never_null
            and len(variable) > 1
            and (missing := next((p for p in variable if p.nullable), None))
        ):
            return ValueFacts(why=f"{shown}() is NULL if {_named(missing)} is NULL")
        texts: list[str | TextSet | None] = []
        for part in parts:
            text = part.texts if part.literal is None else str(part.literal)
            if isinstance(text, str) and texts and isinstance(before := texts[-1], str):
                texts[-1] = before + text
            elif text != "":
                texts.append(text)
        if not are_separable(texts):
            return ValueFacts(why=f"{shown}() gives the same text for ('a', 'bc') and ('ab', 'c')")
        return ValueFacts(
            STRING,
            frozenset().union(*(part.columns for part in variable)),
            any(part.nullable for part in parts),
            _united(texts),
        )

    def _joined_by(self, values: list[ValueFacts]) -> ValueFacts:
        if not values or not isinstance(values[0].literal, str):
            return lost_value("concat_ws", *values)
        separator, *parts = values
        if missing := next((part for part in parts if part.nullable), None):
            return ValueFacts(why=missing.why or f"concat_ws() omits {_named(missing)} if it is NULL")
        between = [piece for part in parts for piece in (separator, part)][1:]
        return self._joined("concat_ws", between)


def _parts(tree: ExpressionTree) -> Iterator[ExpressionTree]:
    """Yield the arguments of nested concatenations."""
    arguments = _concatenated(tree)
    if arguments is None:
        yield tree
    else:
        for argument in arguments:
            yield from _parts(argument)


def _concatenated(tree: ExpressionTree) -> tuple[ExpressionTree, ...] | None:
    """Return the texts that a tree concatenates, or None."""
    match tree:
        case CallTree(name="concat", arguments=texts) | OperatorTree(sign="||", operands=texts):
            return texts
    return None


def _named(value: ValueFacts) -> str:
    return ", ".join(sorted(value.columns))


def _united(texts: list[str | TextSet | None]) -> TextSet | None:
    if any(text is None for text in texts):
        return None
    characters = frozenset[str]().union(
        *(t.all if isinstance(t, TextSet) else frozenset(t or "") for t in texts)
    )
    return TextSet(characters, characters)


_OF_TIME = frozenset(
    ("unix_micros", "unix_millis", "unix_seconds", "unix_date", "to_date", "date_trunc", "date_format")
)
