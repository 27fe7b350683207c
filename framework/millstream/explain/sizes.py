"""The size of rows in a shuffle, as far as types determine it."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from millstream.core.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGERS,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Decimal,
    Row,
    Type,
)
from millstream.plan.nodes import Column

_FIXED = (BOOLEAN, *INTEGERS, FLOAT, DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ)


class ValueSize(Struct, frozen=True):
    """`exact` is false if the length of a text, list or map is unknown; `bytes` is then a lower bound."""

    bytes: int
    exact: bool = True


def row_size(columns: Iterable[Column]) -> ValueSize:
    """Return the size of Spark's UnsafeRow: 8 bytes for each column, and a bit for NULL."""
    sizes = [_size(column.type) for column in columns]
    bits = 8 * -(-len(sizes) // 64)
    return ValueSize(bits + sum(size.bytes for size in sizes), all(size.exact for size in sizes))


def _size(type_: Type) -> ValueSize:
    match type_:
        case Decimal(precision=precision):
            return ValueSize(8 if precision <= 18 else 24)
        case Row(fields=fields):
            inner = row_size(Column(field.name, field.type) for field in fields)
            return ValueSize(8 + inner.bytes, inner.exact)
        case _:
            return ValueSize(8, type_ in _FIXED)
