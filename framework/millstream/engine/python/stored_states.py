"""States of keyed functions as bytes: JSON, so that reading them never runs code.

What JSON lacks is an object with one name, `$`: `{"$": ["date", "2026-01-31"]}`.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

_TAG = "$"
_IN_JSON = frozenset({str, int, float, bool, type(None)})


def state_bytes(state: Any) -> bytes:
    """Return a state of plain values; one that a function did not change has the same bytes again."""
    return json.dumps(_written(state), separators=(",", ":")).encode()


def state_in(content: bytes) -> Any:
    """Return a stored state; older versions stored pickles."""
    if content.startswith(pickle.PROTO):
        return _OlderState(io.BytesIO(content)).load()
    return json.loads(content, object_hook=_read)


def _written(value: Any) -> Any:
    kind = type(value)
    if kind in _IN_JSON:
        return value
    if kind is list:
        return [_written(member) for member in value]
    if isinstance(value, dict):
        if _TAG not in value and all(type(name) is str for name in value):
            return {name: _written(member) for name, member in value.items()}
        return {_TAG: ["dict", [[_written(name), _written(member)] for name, member in value.items()]]}
    for name, tagged, write, _ in _TAGGED:
        if isinstance(value, tagged):
            return {_TAG: [name, write(value)]}
    raise TypeError(f"a state can't have a value of {kind.__module__}.{kind.__qualname__}")


def _read(tagged: dict[str, Any]) -> Any:
    if _TAG not in tagged:
        return tagged
    name, content = tagged[_TAG]
    return _READERS[name](content)


def _members(values: Any) -> list[Any]:
    return [_written(member) for member in values]


def _sorted(values: Any) -> list[Any]:
    """Return the values of a set, whose order differs between processes."""
    return sorted(_members(values), key=json.dumps)


_Tagged = tuple[str, type, Callable[[Any], Any], Callable[[Any], Any]]
_TAGGED: tuple[_Tagged, ...] = (
    ("datetime", datetime, datetime.isoformat, datetime.fromisoformat),
    ("date", date, date.isoformat, date.fromisoformat),
    ("time", time, time.isoformat, time.fromisoformat),
    (
        "timedelta",
        timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: timedelta(*parts),
    ),
    ("decimal", Decimal, str, Decimal),
    ("bytes", bytes, bytes.hex, bytes.fromhex),
    ("bytearray", bytearray, bytearray.hex, bytearray.fromhex),
    ("set", set, _sorted, set),
    ("frozenset", frozenset, _sorted, frozenset),
    ("tuple", tuple, _members, tuple),
)
"""Name, class, writer and reader; a datetime is also a date."""
_READERS = {name: read for name, _, _, read in _TAGGED} | {"dict": dict}

_IN_OLDER_STATES = frozenset(
    {
        ("datetime", "datetime"), ("datetime", "date"), ("datetime", "time"), ("datetime", "timedelta"),
        ("datetime", "timezone"), ("decimal", "Decimal"), ("builtins", "set"), ("builtins", "frozenset"),
        ("builtins", "bytearray"),
    }
)  # fmt: skip


class _OlderState(pickle.Unpickler):
    """Reads a pickle, and runs no code: it makes only values of the classes that a state can have."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _IN_OLDER_STATES:
            raise pickle.UnpicklingError(f"a state can't have a value of {module}.{name}")
        return super().find_class(module, name)
