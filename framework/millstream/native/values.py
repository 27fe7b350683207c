"""Values of translated functions: which kinds of Python objects they can be, and the Java expression."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct


class StructKind(Struct, frozen=True):
    """A struct. No code changes it, so that each value can have other kinds of fields."""

    name: str
    """Of its class; empty for a dict."""
    fields: tuple[tuple[str, Kinds], ...]
    """In the order of their names, which is the one of the array of Java that holds them."""

    def __contains__(self, field: str) -> bool:
        return any(name == field for name, _ in self.fields)


def struct_kind(name: str, fields: Mapping[str, Kinds]) -> StructKind:
    return StructKind(name, tuple(sorted(fields.items())))


class ListKind(Struct, frozen=True):
    """A list. No code changes it."""

    elements: Kinds


class TimeKind(Struct, frozen=True):
    """A date, or a time in UTC."""

    name: str


Kind: TypeAlias = str | StructKind | ListKind | TimeKind
"""The name of a scalar's class, a struct, a list, a date or a time."""
Kinds: TypeAlias = frozenset[Kind]
"""A value is one of these at run time."""


def _kind(name: str) -> Kinds:
    return frozenset((name,))


NONE, BOOL, INT, FLOAT, STR = map(_kind, ("NoneType", "bool", "int", "float", "str"))
NUMBERS = BOOL | INT | FLOAT
DATE: Kinds = frozenset((TimeKind("date"),))
DATETIME: Kinds = frozenset((TimeKind("datetime"),))

LONGEST_TEXT = 10_000
"""Characters of a text in generated code: a constant of Java has 64 KB at most."""


class ObstacleError(Exception):
    """A construct that is not translated."""

    def __init__(self, node: ast.AST, what: str) -> None:
        super().__init__(what)
        self.what = what
        self.line = getattr(node, "lineno", 0)


class Obstacle(Struct, frozen=True):
    """What prevents the translation of a function."""

    what: str
    line: int

    def __str__(self) -> str:
        return f"{self.what} in line {self.line}" if self.line else self.what


class JavaValue(Struct, frozen=True):
    """The result of an expression: the name of a variable or a literal, which can be written repeatedly."""

    code: str
    kinds: Kinds

    def only(self, kinds: Kinds) -> bool:
        return self.kinds <= kinds

    @property
    def is_scalar(self) -> bool:
        return all(isinstance(kind, str) for kind in self.kinds)

    @property
    def is_list(self) -> bool:
        """Whether it is a list, or None."""
        lists = [kind for kind in self.kinds if isinstance(kind, ListKind)]
        return bool(lists) and self.kinds - NONE == frozenset(lists)

    @property
    def is_time(self) -> bool:
        """Whether it is a date or a time, or None."""
        return self.kinds - NONE in {DATE, DATETIME}


class Constant(Struct, frozen=True):
    """A constant list, tuple, set or dict of scalars."""

    value: Any


NULL = JavaValue("null", NONE)


def java_type(kinds: Kinds, *, wide: bool) -> str:
    """Return the type of a variable for values of some kinds; `wide` integers can have any size."""
    if kinds == INT:
        return "Object" if wide else "long"
    if kinds == FLOAT:
        return "double"
    if kinds == BOOL:
        return "boolean"
    return "String" if kinds == STR else "Object"


_BOXES = {"long": "Long", "double": "Double", "boolean": "Boolean"}


def convert_java(code: str, java: str, target: str) -> str:
    """Return the expression of one type of Java as one of another, for the same value of Python."""
    if java == target or code == "null":
        return code
    if java == "Object":
        box = _BOXES.get(target)
        return f"(({box}) {code}).{target}Value()" if box else f"(({target}) {code})"
    assert target == "Object"
    box = _BOXES.get(java)
    return f"{box}.valueOf({code})" if box else code


def kind_of(value: object) -> Kinds:
    return _kind(type(value).__name__)


def list_of(elements: Kinds) -> Kinds:
    return frozenset((ListKind(elements),))


def elements_of(value: JavaValue) -> Kinds:
    """Return the kinds of a list's elements; of None, if it never has any."""
    return union_kinds(kind.elements for kind in value.kinds if isinstance(kind, ListKind)) or NONE


def union_kinds(kinds: Iterable[Kinds]) -> Kinds:
    return frozenset[Kind]().union(*kinds)


@cache
def text_literal(text: str) -> str:
    """Return a text as a literal of Java in ASCII."""
    units = text.encode("utf-16-be")
    pairs = (units[index] << 8 | units[index + 1] for index in range(0, len(units), 2))
    return '"' + "".join(map(_unit, pairs)) + '"'


def _unit(unit: int) -> str:
    plain = 0x20 <= unit < 0x7F and chr(unit) not in '"\\'
    # Java reads \u000a before it looks for the end of a literal, but octal escapes after it.
    return chr(unit) if plain else f"\\{unit:03o}" if unit < 0x80 else f"\\u{unit:04x}"


def to_java(value: object) -> str:
    """Return a scalar as a Java expression of its own type."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value}L" if value != -(2**63) else "Long.MIN_VALUE"
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else _special(value)
    assert isinstance(value, str)
    return text_literal(value)


def _special(value: float) -> str:
    if math.isnan(value):
        return "Double.NaN"
    return "Double.POSITIVE_INFINITY" if value > 0 else "Double.NEGATIVE_INFINITY"


def boxed_literal(value: object) -> str:
    kinds = kind_of(value)
    return convert_java(to_java(value), java_type(kinds, wide=False), "Object")


def is_translatable(value: object) -> bool:
    """Whether a scalar can stand in generated code."""
    if isinstance(value, bool | float) or value is None:
        return True
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        return False
    return not any(0xD800 <= ord(character) < 0xE000 for character in value)
