"""Checks that values of a Python function are exactly values of their SQL types.

Spark's Python workers use it too. Those of a cluster have no Millstream: pickle sends them this module, which
imports nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

_SHOWN = 60
_GREATEST_FLOAT = 3.4028235677973366e38
"""Half a step more than the greatest: from there on, a `float` is infinite."""


class ExpectedType(NamedTuple):
    """A SQL type, in a form that needs no Millstream."""

    kind: str
    text: str
    inner: tuple[Any, ...] = ()
    """Bits of an integer, precision and scale of a decimal, types of elements, names and types of fields."""


class ExpectedField(NamedTuple):
    name: str
    type: ExpectedType
    nullable: bool


class MisfitError(Exception):
    """A value that is not one of its type; `path` leads to it."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def within(self, name: str) -> MisfitError:
        between = "." if self.path and not self.path.startswith("[") else ""
        return MisfitError(self.reason, f"{name}{between}{self.path}")

    def __str__(self) -> str:
        return f"field {self.path}: {self.reason}" if self.path else self.reason


def show_value(value: Any) -> str:
    """Return a value as text in one line: cut, and with control characters escaped."""
    try:
        text = str(value) if type(value) is Decimal else repr(value)
    except BaseException:  # noqa: BLE001 - whatever the user's class raises
        text = f"<{type(value).__name__}>"
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: _SHOWN + 1])
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def fit_value(value: Any, expected: ExpectedType) -> Any:
    """Return a value in the form that Arrow takes; raise `MisfitError` if it is not one of the type."""
    if value is None:
        return None
    fitted = _FITTING[expected.kind](value, expected) if expected.kind in _FITTING else value
    if fitted is None:
        article = "an" if expected.text[0] in "aeiou" else "a"
        raise MisfitError(f"{show_value(value)} is not {article} {expected.text}")
    return fitted


def fitting_field(value: Any, field: ExpectedField) -> Any:
    """Return the value of a column, which may be required, in the form that Arrow takes."""
    if value is None and not field.nullable:
        raise MisfitError("the value is missing", field.name)
    return _element(value, field.type, field.name)


def field_value(row: Any, name: str) -> Any:
    """Return a field of a dataclass, a named tuple or a typed dict."""
    return row.get(name) if isinstance(row, Mapping) else getattr(row, name, None)


def _integer(value: Any, expected: ExpectedType) -> int | None:
    limit: int = 1 << (expected.inner[0] - 1)
    fits = isinstance(value, int) and not isinstance(value, bool) and -limit <= value < limit
    return value if fits else None


def _floating(value: Any, expected: ExpectedType) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if isinstance(value, int) and int(number) != value:
        return None
    too_large = expected.text == "float" and _GREATEST_FLOAT <= abs(number) < float("inf")
    return None if too_large else number


def _boolean(value: Any, _: ExpectedType) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any, _: ExpectedType) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        raise MisfitError(
            f"{show_value(value)} contains a lone surrogate, which is half a character"
        ) from None
    return value


def _binary(value: Any, _: ExpectedType) -> bytes | None:
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else None


def _date(value: Any, _: ExpectedType) -> date | None:
    return value if isinstance(value, date) and not isinstance(value, datetime) else None


def _time(value: Any, _: ExpectedType) -> datetime | None:
    return value if isinstance(value, datetime) else None


def _local_time(value: Any, _: ExpectedType) -> datetime | None:
    return value if isinstance(value, datetime) and value.tzinfo is None else None


def _interval(value: Any, _: ExpectedType) -> timedelta | None:
    return value if isinstance(value, timedelta) else None


def _decimal(value: Any, expected: ExpectedType) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        return None
    number = Decimal(value)
    precision, scale = expected.inner
    if not number.is_finite():
        return None
    digits, exponent = number.as_tuple().digits, int(number.as_tuple().exponent)
    text = "".join(map(str, digits))
    unscaled = int(text) if text else 0
    shift = exponent + scale
    if not unscaled:
        return Decimal(0).scaleb(-scale)
    if shift < 0:
        unscaled, rest = (0, 1) if -shift > len(text) else divmod(unscaled, 10**-shift)
        if rest:
            return None
    elif len(text) + shift > precision:
        return None
    else:
        unscaled *= 10**shift
    return number if unscaled < 10**precision else None


def _array(value: Any, expected: ExpectedType) -> list[Any] | None:
    if not isinstance(value, list | tuple):
        return None
    return [_element(element, expected.inner[0], f"[{index}]") for index, element in enumerate(value)]


def _map(value: Any, expected: ExpectedType) -> list[tuple[Any, Any]] | None:
    if not isinstance(value, Mapping):
        return None
    key, held = expected.inner
    if None in value:
        raise MisfitError("a key of the map is missing")
    return [
        (_element(k, key, f"[{show_value(k)}]"), _element(v, held, f"[{show_value(k)}]"))
        for k, v in value.items()
    ]


def _element(value: Any, expected: ExpectedType, step: str) -> Any:
    try:
        return fit_value(value, expected)
    except MisfitError as error:
        raise error.within(step) from None


def _struct(value: Any, expected: ExpectedType) -> dict[str, Any] | None:
    if not is_row(value):
        return None
    return {name: _element(field_value(value, name), field_type, name) for name, field_type in expected.inner}


def is_row(value: Any) -> bool:
    """Whether a value is of a dataclass, a typed dict or a named tuple."""
    if isinstance(value, type):
        return False
    return isinstance(value, Mapping) or is_dataclass(value) or hasattr(value, "_fields")


_FITTING: dict[str, Any] = {
    "integer": _integer,
    "floating": _floating,
    "boolean": _boolean,
    "string": _text,
    "binary": _binary,
    "date": _date,
    "timestamp": _time,
    "timestamp_ntz": _local_time,
    "interval": _interval,
    "decimal": _decimal,
    "array": _array,
    "map": _map,
    "struct": _struct,
}
EXACT: dict[str, frozenset[type]] = {
    "integer": frozenset({int}),
    "floating": frozenset({float}),
    "boolean": frozenset({bool}),
    "string": frozenset({str}),
    "binary": frozenset({bytes}),
    "date": frozenset({date}),
    "timestamp": frozenset({datetime}),
    "decimal": frozenset({Decimal}),
}
"""Types whose values Arrow takes as they are, or refuses."""
