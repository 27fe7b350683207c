"""What functions preserve of the values of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from millstream.core.types import BINARY, DATE, INTEGERS, STRING, Decimal, Type
from millstream.plan.keys.texts import HEX, TextSet
from millstream.plan.keys.values import ValueFacts, lost_value


def all_of(name: str, values: list[ValueFacts]) -> ValueFacts:
    """Return the combination of several values, including NULLs."""
    wrong = [value for value in values if value.why]
    same = len({value.type for value in values}) == 1
    if wrong or (name == "array" and not same):
        return lost_value(name, *wrong)
    return ValueFacts(columns=frozenset().union(*(value.columns for value in values)), nullable=False)


def replace_null(name: str, value: ValueFacts, default: ValueFacts) -> ValueFacts:
    """Return a value whose NULL is replaced by a text that no other value has."""
    if not value.nullable:
        return value
    text = default.literal
    if value.texts is None or not isinstance(text, str) or set(text) <= value.texts.all:
        return lost_value(name, value)
    texts = TextSet(value.texts.first | set(text[:1]), value.texts.rest | set(text[1:]))
    return replace(value, nullable=False, texts=texts)


def shift_value(name: str, *values: ValueFacts) -> ValueFacts:
    """Return an integer or a date plus or minus a constant."""
    moved = [value for value in values if value.literal is None]
    dates = name.startswith("date_")
    fits = len(values) == 2 and len(moved) == 1 and all(
        value.type in INTEGERS for value in values if value is not moved[0]
    )  # fmt: skip
    if not fits or moved[0].why or (moved[0] is not values[0] and (dates or moved[0].type == DATE)):
        return lost_value(name, *values)
    (value,) = moved
    if value.type in INTEGERS and not dates:
        wider = max(values, key=lambda operand: INTEGERS.index(operand.type))
        return replace(value, type=wider.type)
    return value if value.type == DATE else lost_value(name, value)


def _hashed(name: str, values: list[ValueFacts]) -> ValueFacts:
    first = values[0]
    fits = first.type in {STRING, BINARY} and all(value.literal in _SHA2 for value in values[1:])
    return (
        replace(first, type=STRING, texts=HEX, gap=1) if fits and not first.why else lost_value(name, *values)
    )


_SHA2 = (0, 224, 256, 384, 512)


def _encoded(name: str, types: tuple[Type, ...], values: list[ValueFacts]) -> ValueFacts:
    (first,) = values
    # An empty text becomes an empty text, so its characters are unknown.
    return replace(first, type=STRING, texts=None, gap=1) if first.type in types else lost_value(name, first)


def _negative(values: list[ValueFacts]) -> ValueFacts:
    (first,) = values
    fits = first.type in INTEGERS or isinstance(first.type, Decimal)
    return (
        first if fits and first.literal is None else ValueFacts(why=first.why or "the minus is not supported")
    )


UNARY: dict[str, Callable[[list[ValueFacts]], ValueFacts]] = {
    "hex": partial(_encoded, "hex", (STRING, BINARY, *INTEGERS)),
    "base64": partial(_encoded, "base64", (STRING, BINARY)),
    "negative": _negative,
    **{name: partial(_hashed, name) for name in ("md5", "sha", "sha1", "sha2")},
}
