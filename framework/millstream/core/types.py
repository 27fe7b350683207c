"""Spark SQL's data types as values, parsed from and written as DDL."""

import re
from collections.abc import Iterator
from typing import TypeAlias

from msgspec import Struct


class Simple(Struct, frozen=True, tag="simple"):
    name: str

    def __str__(self) -> str:
        return self.name


class Decimal(Struct, frozen=True, tag="decimal"):
    precision: int = 10
    scale: int = 0

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


class Array(Struct, frozen=True, tag="array"):
    element: "Type"

    def __str__(self) -> str:
        return f"array<{self.element}>"


class Map(Struct, frozen=True, tag="map"):
    key: "Type"
    value: "Type"

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


class Field(Struct, frozen=True, omit_defaults=True):
    name: str
    type: "Type"
    nullable: bool = True
    """For a column of a topic: whether its value can be NULL. Inside a type, all can be."""

    def __str__(self) -> str:
        # Spark only reads these without quotes: 1e5 would be a number.
        plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.name)
        name = self.name if plain else f"`{self.name.replace('`', '``')}`"
        return f"{name}:{self.type}"


class Row(Struct, frozen=True, tag="struct"):
    fields: tuple[Field, ...]

    def __str__(self) -> str:
        return f"struct<{','.join(map(str, self.fields))}>"

    def field(self, name: str) -> Field | None:
        folded = name.lower()
        return next((field for field in self.fields if field.name.lower() == folded), None)


Type: TypeAlias = Simple | Decimal | Array | Map | Row

BOOLEAN, STRING, BINARY = Simple("boolean"), Simple("string"), Simple("binary")
TINYINT, SMALLINT, INT, BIGINT = Simple("tinyint"), Simple("smallint"), Simple("int"), Simple("bigint")
FLOAT, DOUBLE = Simple("float"), Simple("double")
DATE, TIMESTAMP, TIMESTAMP_NTZ = Simple("date"), Simple("timestamp"), Simple("timestamp_ntz")
INTERVAL, VARIANT, NULL = Simple("interval"), Simple("variant"), Simple("void")
UNKNOWN = Simple("unknown")
"""The type of an opaque expression; it is compatible with every other type."""

INTEGERS = (TINYINT, SMALLINT, INT, BIGINT)

_NAMES: dict[str, Type] = {
    **{str(t): t for t in (BOOLEAN, STRING, BINARY, *INTEGERS, FLOAT, DOUBLE, DATE, TIMESTAMP)},
    **{str(t): t for t in (TIMESTAMP_NTZ, INTERVAL, VARIANT, NULL)},
    "byte": TINYINT,
    "short": SMALLINT,
    "integer": INT,
    "long": BIGINT,
    "real": FLOAT,
    "timestamp_ltz": TIMESTAMP,
    "decimal": Decimal(),
    "dec": Decimal(),
    "numeric": Decimal(),
}
NAMES = (*_NAMES, "array", "map", "struct", "varchar", "char")


class TypeSyntaxError(ValueError):
    """A type that can't be parsed, with the offset of the error in its text."""

    def __init__(self, message: str, offset: int, name: str = "") -> None:
        super().__init__(message)
        self.offset = offset
        self.name = name


_TOKEN = re.compile(r"`(?:[^`]|``)*`|\w+|[<>(),:]")
_SPACE = re.compile(r"\s*")
_DEEPEST = 100


class _Reader:
    """A recursive-descent parser of one DDL type; `position` is that of the next token, never of a space."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.skip(0)

    def skip(self, position: int) -> None:
        match = _SPACE.match(self.text, position)
        self.position = match.end() if match else position

    def peek(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        return match.group() if match else self.text[self.position : self.position + 1]

    def next(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        if not match:
            rest = self.peek()
            what = f"unexpected {rest!r}" if rest else "the type ends too early"
            raise TypeSyntaxError(what, self.position)
        self.skip(match.end())
        return match.group()

    def expect(self, *tokens: str) -> str:
        before = self.position
        token = self.next()
        if token not in tokens:
            raise TypeSyntaxError(f"expected {' or '.join(map(repr, tokens))}, not {token!r}", before)
        return token

    def number(self) -> int:
        before = self.position
        token = self.next()
        if not re.fullmatch(r"[0-9]{1,9}", token):
            raise TypeSyntaxError(f"expected a number, not {token!r}", before)
        return int(token)

    def type(self) -> Type:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise TypeSyntaxError(f"types are nested more than {_DEEPEST} levels deep", self.position)
        type_ = self.one()
        self.depth -= 1
        return type_

    def one(self) -> Type:
        start = self.position
        name = self.next().lower()
        match name:
            case "array":
                self.expect("<")
                element = self.type()
                self.expect(">")
                return Array(element)
            case "map":
                self.expect("<")
                key = self.type()
                self.expect(",")
                value = self.type()
                self.expect(">")
                return Map(key, value)
            case "struct":
                return self.struct()
            case "decimal" | "dec" | "numeric" if self.peek() == "(":
                return self.decimal(start)
            case "varchar" | "char" if self.peek() == "(":
                self.next()
                self.number()
                self.expect(")")
                return STRING
            case _ if name in _NAMES:
                return _NAMES[name]
            case _:
                raise TypeSyntaxError(f"unknown type {name!r}", start, name)

    def decimal(self, start: int) -> Type:
        self.next()
        precision, scale = self.number(), 0
        if self.expect(",", ")") == ",":
            scale = self.number()
            self.expect(")")
        if precision > 38 or scale > precision:
            raise TypeSyntaxError(
                "a decimal has at most 38 digits, and its scale is at most its precision", start
            )
        return Decimal(precision, scale)

    def struct(self) -> Type:
        self.expect("<")
        fields: list[Field] = []
        if self.peek() == ">":
            self.next()
            return Row(())
        while True:
            before, name = self.position, self.next()
            if name in {*"<>(),:", "``"}:
                raise TypeSyntaxError(f"expected the name of a field, not {name!r}", before)
            name = name[1:-1].replace("``", "`") if name.startswith("`") else name
            if self.peek() == ":":
                self.next()
            fields.append(Field(name, self.type()))
            if self.expect(",", ">") == ">":
                return Row(tuple(fields))


def types_within(type_: Type) -> Iterator[Type]:
    """Yield a type and all types of its elements, keys, values and fields."""
    yield type_
    match type_:
        case Array(element=element):
            yield from types_within(element)
        case Map(key=key, value=value):
            yield from types_within(key)
            yield from types_within(value)
        case Row(fields=fields):
            for field in fields:
                yield from types_within(field.type)


MOST_TYPES = 20_000
"""A few lines can describe types of any size, such as a struct that has the one before twice."""


MOST_LEVELS = 100
"""Types within types: what reads them calls itself for each level, and so does Spark."""


def too_large(type_: Type) -> str:
    """Return why a type is too large; empty if it is not."""
    pending, count = [(type_, 1)], 0
    while pending:
        inner, level = pending.pop()
        count += 1
        if level > MOST_LEVELS:
            return f"the type has more than {MOST_LEVELS} levels of types within types"
        if count > MOST_TYPES:
            return f"the type has more than {MOST_TYPES:,} fields within fields"
        match inner:
            case Array(element=element):
                pending.append((element, level + 1))
            case Map(key=key, value=value):
                pending += [(key, level + 1), (value, level + 1)]
            case Row(fields=fields):
                pending += [(field.type, level + 1) for field in fields]
    return ""


def has_equality(type_: Type) -> bool:
    """Tell whether Spark compares values of a type."""
    return not any(inner == VARIANT or isinstance(inner, Map) for inner in types_within(type_))


def is_single_value(type_: Type) -> bool:
    """Tell whether values are numbers, texts, dates, times or booleans."""
    return not (isinstance(type_, Array | Map | Row) or type_ in {BINARY, VARIANT})


def parse_type(text: str) -> Type:
    """Parse a type in Spark's DDL: `struct<id: bigint, tags: array<string>>`."""
    reader = _Reader(text)
    parsed = reader.type()
    if reader.peek():
        raise TypeSyntaxError(f"unexpected {reader.peek()!r} after the type", reader.position)
    return parsed
