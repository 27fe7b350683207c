"""Keys of records: a single value, or a struct as the row of a format that only has rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.expressions import Expression, Piece, Ref, join_pieces, quote_name
from millstream.core.types import Array, Field, Map, Row, Type
from millstream.formats.format import DecodedSql, Fields, Item
from millstream.formats.registry import KEY, Encoding, format_of
from millstream.formats.sql import BAD

_NAME = "key"
"""The raw column of keys, and the name of a single value."""


class KeyFormat(Struct, frozen=True):
    """How keys of a type are encoded."""

    encoding: Encoding
    type: Type

    @property
    def fields(self) -> Fields:
        """The columns that are decoded from a key."""
        match self.type:
            case Row(fields=fields) if not format_of(self.encoding).single:
                return fields
            case _:
                return (Field(_NAME, self.type),)

    def decode(self, key: bytes) -> Any:
        """Return a key as a value; raise `UnfitError` if it doesn't have the type."""
        return format_of(self.encoding).local.decode(key, self.fields)

    def encode(self, key: Any) -> bytes | None:
        single = format_of(self.encoding).single
        return format_of(self.encoding).local.encode({_NAME: key} if single else key, self.fields)

    def decoded(self, *, nullable: bool) -> DecodedSql:
        """Return SQL over the raw column `key`, with one expression in `fields`."""
        format_ = format_of(self.encoding)
        fields = self.fields
        if not nullable and format_.single:
            fields = tuple(replace(field, nullable=False) for field in fields)
        decoded = format_.spark.decode(fields)
        expressions = decoded.fields or ((),) * len(fields)
        values = [pieces or (Ref(field.name),) for field, pieces in zip(fields, expressions, strict=True)]
        required = decoded.required
        return replace(
            decoded,
            rows=_of_key(decoded.rows),
            good=_of_key(decoded.good),
            why=_of_key(decoded.why),
            fields=(self._assembled(values) if decoded.rows else _of_key(values[0]),),
            required=(lambda position: _of_key(required(position))) if required else None,
        )

    def _assembled(self, values: Sequence[tuple[Piece, ...]]) -> tuple[Piece, ...]:
        """Return a key from the columns that were decoded."""
        if format_of(self.encoding).single:
            return values[0]
        pieces: list[Piece] = []
        for field, value in zip(self.fields, values, strict=True):
            pieces += [", " if pieces else "", *value, f" as {quote_name(field.name)}"]
        return join_pieces(("if(", Ref(BAD), " is null, struct(", *pieces, "), null)"))

    def encoded(self, columns: Sequence[Item]) -> tuple[Piece, ...]:
        """Return SQL of a key with these columns."""
        format_ = format_of(self.encoding)
        items = list(columns)
        match items:
            case [(_, column)] if format_.single:
                items = [(_NAME, column)]
            case [(_, Expression(type=Row(fields=fields)) as column)] if column.type == self.type:
                items = [(field.name, _field(column, field)) for field in fields]
        return format_.spark.encode(items)


def _field(struct: Expression, field: Field) -> Expression:
    start = struct.pieces if struct.column else ("(", *struct.pieces, ")")
    return replace(struct, pieces=join_pieces((*start, f".{quote_name(field.name)}")), type=field.type)


def _of_key(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Replace the raw column `value`."""
    return tuple(replace(p, column=_NAME) if isinstance(p, Ref) and p == _VALUE else p for p in pieces)


_VALUE = Ref("value")


def written_key(encoding: Encoding | None, columns: Fields) -> KeyFormat:
    """Return how the columns of a key are written; by default, a simple value as text, others as JSON."""
    row = Row(tuple(Field(column.name, column.type) for column in columns))
    match columns:
        case [Field(type=Array() | Map() | Row())] if encoding is None:
            return KeyFormat(Encoding(), row)
        case [Field(type=type_)]:
            return KeyFormat(KEY if encoding is None else encoding, type_)
        case _:
            return KeyFormat(Encoding() if encoding is None else encoding, row)


def any_value(encoding: Encoding) -> Encoding:
    """Return the encoding of single values of any type, if a format that also has rows can encode them."""
    single = replace(encoding, single=True)
    return single if format_of(single).single and not format_of(encoding).single else encoding


def key_misfit(key: KeyFormat) -> str:
    """Return why a format has no values of a type; empty if it has."""
    format_, name = format_of(key.encoding), key.encoding.name
    if not format_.single and not isinstance(key.type, Row):
        return f"{name} has rows of columns, and the key is {key.type}"
    if format_.single and not format_.holds(key.type):
        return f"{name} can't hold {key.type}"
    return ""
