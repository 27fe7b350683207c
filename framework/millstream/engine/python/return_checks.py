"""Checks that what a function returns is what its hint says, before Arrow converts it.

Arrow makes 1 of 1.5, NULL of a missing field and a date of 5, without an error. Pickle sends this module to
workers, which need no Millstream, so it imports nothing of it.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

_YIELDING = frozenset((Iterator, Iterable, Generator))
Fit = Callable[[Any], Any]
"""Returns a value for Arrow; raises `WrongReturnError`."""
_SHOWN = 80
_EXACT = 2**53
_LARGEST_FLOAT = 3.4028235677973366e38
_NO_HINT = object()


class WrongReturnError(Exception):
    def __init__(self, value: Any, expected: str, path: str = "") -> None:
        super().__init__(value, expected, path)
        self.value = value
        self.expected = expected
        self.path = path

    def within(self, name: str) -> WrongReturnError:
        return WrongReturnError(self.value, self.expected, f"{name}.{self.path}" if self.path else name)

    def __str__(self) -> str:
        return self.message("returned")

    def message(self, verb: str) -> str:
        field = f" in '{self.path}'" if self.path else ""
        if self.value is None:
            return f"{verb} None{field}, whose hint is not optional: {self.expected}"
        return f"{verb} {show_value(self.value)}{field}, which does not fit {self.expected}"


def show_value(value: Any) -> str:
    """Return the start of a value as text on one line, whatever its class does."""
    try:
        text = repr(value)
    except BaseException:  # noqa: BLE001 - the user's code
        text = f"a value of {type(value).__name__}"
    text = " ".join(text.encode(errors="backslashreplace").decode().split())
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def fit_of(arrow: Any, hint: Any = _NO_HINT, *, may_lack: bool = False) -> Fit:
    """Return the check of values for an Arrow type; None is NULL if the hint or `may_lack` allows it."""
    hint, optional = _bare(hint)
    optional = optional or may_lack
    check = _check(arrow, hint)
    expected = _name(arrow)

    def fit(value: Any) -> Any:
        if value is None:
            if optional:
                return None
            raise WrongReturnError(None, expected)
        return check(value)

    return fit


def fit_of_rows(arrow: Any, hint: Any) -> Fit:
    """Return the check of rows for a struct of Arrow; a hint without fields is that of its only column."""
    return fit_of(arrow if _has_fields(hint) else arrow[0].type, hint)


def _has_fields(hint: Any) -> bool:
    bare, _ = _bare(hint)
    return dataclasses.is_dataclass(bare) or hasattr(bare, "_fields") or typing.is_typeddict(bare)


def _only_field(arrow: Any, hint: Any) -> Fit:
    """Return the check of values that a function yields, each of which becomes a struct of one field."""
    name, fit = arrow[0].name, fit_of(arrow[0].type, hint)
    return lambda value: {name: fit(value)}


def is_optional(hint: Any) -> bool:
    return _bare(hint)[1]


def _bare(hint: Any) -> tuple[Any, bool]:
    """Return a hint without None and annotations, and whether it allows None."""
    if hint is _NO_HINT or hint is None or hint is Any:
        return _NO_HINT, True
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        rest = [member for member in inner if member is not type(None)]
        bare, optional = _bare(rest[0])
        return bare, optional or len(rest) < len(inner)
    if origin is typing.Literal:
        return _NO_HINT, None in inner
    if origin in {typing.Annotated, typing.Final}:
        return _bare(inner[0])
    if hasattr(hint, "__supertype__"):
        return _bare(hint.__supertype__)
    return hint, False


def _check(arrow: Any, hint: Any) -> Fit:
    import pyarrow as pa

    inner = typing.get_args(hint)
    if pa.types.is_struct(arrow):
        return _structure(arrow, hint)
    if pa.types.is_map(arrow):
        key, item = inner if len(inner) == 2 else (_NO_HINT, _NO_HINT)
        return _mapping(arrow, fit_of(arrow.key_type, key), fit_of(arrow.item_type, item))
    if pa.types.is_list(arrow):
        element = inner[0] if inner else _NO_HINT
        if typing.get_origin(hint) in _YIELDING and pa.types.is_struct(arrow.value_type):
            plain = element is not _NO_HINT and not _has_fields(element)
            return _listing(arrow, (_only_field if plain else fit_of)(arrow.value_type, element))
        return _listing(arrow, fit_of(arrow.value_type, element))
    for predicate, accepted in _SCALARS.items():
        if getattr(pa.types, predicate)(arrow):
            return _scalar(arrow, accepted)
    return lambda value: value


def _scalar(arrow: Any, accepted: Callable[[Any, Any], Any]) -> Fit:
    expected = _name(arrow)

    def fit(value: Any) -> Any:
        try:
            return accepted(value, arrow)
        except (TypeError, ValueError, OverflowError):
            raise WrongReturnError(value, expected) from None

    return fit


def _integer(value: Any, arrow: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int):
        value = value.__index__() if hasattr(value, "__index__") else _refuse()
    if isinstance(value, bool) or not -(2 ** (arrow.bit_width - 1)) <= value < 2 ** (arrow.bit_width - 1):
        _refuse()
    return int(value)


def _floating(value: Any, arrow: Any) -> float:
    if isinstance(value, bool | str | bytes):
        _refuse()
    number = float(value)
    if isinstance(value, int) and abs(value) > _EXACT and int(number) != value:
        _refuse()
    if arrow.bit_width < 64 and abs(number) > _LARGEST_FLOAT and abs(number) != float("inf"):
        _refuse()
    return number


def _boolean(value: Any, _: Any) -> bool:
    # NumPy's own class is not a bool.
    return bool(value) if isinstance(value, bool) or type(value).__name__ in {"bool_", "bool"} else _refuse()


def _text(value: Any, _: Any) -> str:
    if not isinstance(value, str):
        _refuse()
    value.encode()
    return str.__str__(value)


def _binary(value: Any, _: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | bytearray | memoryview) else _refuse()


def _decimal(value: Any, arrow: Any) -> Any:
    import pyarrow as pa

    if isinstance(value, bool) or not isinstance(value, Decimal | int):
        _refuse()
    pa.scalar(value, arrow)
    return value


def _date(value: Any, _: Any) -> date:
    return value if isinstance(value, date) and not isinstance(value, datetime) else _refuse()


def _time(value: Any, _: Any) -> datetime:
    if isinstance(value, datetime):
        return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value
    raise ValueError


def _refuse() -> Any:
    raise ValueError


_SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "is_integer": _integer,
    "is_floating": _floating,
    "is_boolean": _boolean,
    "is_string": _text,
    "is_binary": _binary,
    "is_decimal": _decimal,
    "is_date": _date,
    "is_timestamp": _time,
}
"""By the predicate of `pyarrow.types`."""


def _structure(arrow: Any, hint: Any) -> Fit:
    hints = {} if hint is _NO_HINT else typing.get_type_hints(hint)
    left_out: frozenset[str] = getattr(hint, "__optional_keys__", frozenset())
    fields = {
        field.name: fit_of(field.type, hints.get(field.name, _NO_HINT), may_lack=field.name in left_out)
        for field in arrow
    }
    expected = _name(arrow)

    def fit(value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            attributes = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif hasattr(value, "_asdict"):
            attributes = value._asdict()
        elif isinstance(value, Mapping):
            attributes = dict(value)
        else:
            raise WrongReturnError(value, expected)
        if unknown := attributes.keys() - fields.keys():
            raise WrongReturnError(attributes, f"{expected}: it has no field '{min(map(str, unknown))}'")
        row = {}
        for name, of_field in fields.items():
            try:
                row[name] = of_field(attributes.get(name))
            except WrongReturnError as error:
                raise error.within(name) from None
        return row

    return fit


def _listing(arrow: Any, element: Fit) -> Fit:
    expected = _name(arrow)

    def fit(value: Any) -> Any:
        if not isinstance(value, Sequence | Iterator) or isinstance(value, str | bytes):
            raise WrongReturnError(value, expected)
        values = []
        for index, member in enumerate(value):
            try:
                values.append(element(member))
            except WrongReturnError as error:
                raise error.within(f"[{index}]") from None
        return values

    return fit


def _mapping(arrow: Any, key: Fit, item: Fit) -> Fit:
    expected = _name(arrow)

    def fit(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise WrongReturnError(value, expected)
        pairs = []
        for name, map_value in value.items():
            if name is None:
                raise WrongReturnError(value, f"{expected}: a key is None")
            try:
                pairs.append((key(name), item(map_value)))
            except WrongReturnError as error:
                raise error.within(f"[{show_value(name)}]") from None
        return pairs

    return fit


_NAMES = {
    "int8": "tinyint", "int16": "smallint", "int32": "int", "int64": "bigint", "bool": "boolean",
    "float": "float", "double": "double", "date32[day]": "date",
    "struct": "a struct", "list": "an array", "map": "a map",
}  # fmt: skip


def _name(arrow: Any) -> str:
    """Return a type in the words of SQL."""
    text = str(arrow)
    if text.startswith("timestamp"):
        return "timestamp"
    return _NAMES.get(text) or _NAMES.get(text.partition("<")[0]) or text.replace("decimal128", "decimal")


def fit_values(
    values: Sequence[Any], arrow: Any, fit: Fit, flat: frozenset[type]
) -> tuple[Any, dict[int, str]]:
    """Return values as an Arrow array, and why some do not fit, by index; those are NULL.

    Values of the classes in `flat` are converted together, which is fast, unless one of them does not fit.
    """
    import pyarrow as pa

    if flat and flat.issuperset(map(type, values)):
        try:
            return pa.array(values, arrow), {}
        except (pa.ArrowException, ValueError, OverflowError, TypeError):
            pass  # it is found below
    checked: list[Any] = []
    diagnostics: dict[int, str] = {}
    for index, value in enumerate(values):
        try:
            checked.append(fit(value))
        except WrongReturnError as error:
            diagnostics[index] = str(error)
            checked.append(None)
    return pa.array(checked, arrow), diagnostics


def flat_classes(arrow: Any, *, optional: bool) -> frozenset[type]:
    """Return the classes whose values Arrow converts without losing anything, or refuses."""
    import pyarrow as pa

    classes: dict[Any, tuple[type, ...]] = {
        pa.int64(): (int,), pa.int32(): (int,), pa.int16(): (int,), pa.int8(): (int,),
        pa.float64(): (float, int), pa.string(): (str,), pa.bool_(): (bool,), pa.binary(): (bytes,),
    }  # fmt: skip
    accepted = classes.get(arrow, ())
    return frozenset((*accepted, type(None)) if accepted and optional else accepted)
