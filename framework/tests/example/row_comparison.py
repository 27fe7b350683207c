"""Expected and found rows of topics and tables in one form, and what differs between them.

A value in that form is made of JSON's kinds: a field that is NULL is left out, as `to_json` does, and a time is
text in UTC with microseconds, however it was written.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

from example.spark_values import Either

Record = tuple[Any, Any]
"""Key and value; found ones may be bytes."""
Appended = Counter  # of (key, value as JSON text)
Newest = dict  # of key: value in the form above, or None for a deleted row
Rows = Counter | dict

TIMES = frozenset({"event_time", "window_start", "window_end", "last_updated", "last_active_at"})
SHOWN = 5


def appended(records: Iterable[Record]) -> Appended:
    """Return events as a multiset; their order tells nothing."""
    return Counter((_text(key), _frozen(value)) for key, value in records)


def newest(records: Iterable[Record]) -> Newest:
    """Return the last row of each key; of one key, records are in the order in which they were written."""
    return {_text(key): _row(value) for key, value in records}


def letters(records: Iterable[Record]) -> Appended:
    """Return dead letters, whose values are what could not be read."""
    return Counter((_text(key), _text(value)) for key, value in records)


def same(expected: dict[str, Rows], actual: dict[str, Rows]) -> list[str]:
    """Return what is missing, too much or different; nothing when all is as expected."""
    differences: list[str] = []
    for name in sorted(expected.keys() | actual.keys()):
        if name not in actual:
            differences.append(f"{name}: not found")
        elif name not in expected:
            differences.append(f"{name}: not expected")
        else:
            of_kind = _of_events if isinstance(expected[name], Counter) else _of_rows
            lines = list(of_kind(expected[name], actual[name]))
            differences += [f"{name}{line}" for line in lines[:SHOWN]]
            differences += (
                [f"{name}: and {len(lines) - SHOWN} more differences"] if len(lines) > SHOWN else []
            )
    return differences


def _of_events(expected: Appended, actual: Appended) -> Iterator[str]:
    """Tell what is in one multiset only, but for doubles that are nearly the same."""
    extra: dict[Any, list[Any]] = {}
    for key, value in (actual - expected).elements():
        extra.setdefault(key, []).append(value)
    for key, value in (expected - actual).elements():
        others = extra.get(key, [])
        near = next(
            (other for other in others if not any(_differences(_loaded(value), _loaded(other)))), None
        )
        if near is None:
            yield f"[{key!r}]: missing {value}" + (f"; there is {others[0]}" if others else "")
        else:
            others.remove(near)
    for key, values in extra.items():
        for value in values:
            again = " once more" if (key, value) in expected else ""
            yield f"[{key!r}]: too much{again}: {value}"


def _of_rows(expected: Newest, actual: Newest) -> Iterator[str]:
    for key in sorted(expected.keys() | actual.keys(), key=repr):
        one, other = expected.get(key), actual.get(key)
        if one is None and other is not None:
            yield f"[{key!r}]: too much: {other}"
        elif one is not None and other is None:
            yield f"[{key!r}]: missing {one}"
        else:
            yield from (f"[{key!r}]{line}" for line in _differences(one, other))


def _differences(expected: Any, actual: Any, path: str = "") -> Iterator[str]:
    if isinstance(expected, Either):
        if all(any(_differences(value, actual)) for value in expected.values):
            yield f"{path}: expected one of {list(expected.values)}, found {actual!r}"
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for name in sorted(expected.keys() | actual.keys()):
            yield from _differences(expected.get(name), actual.get(name), f"{path}.{name}")
    elif isinstance(expected, list) and isinstance(actual, list) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    elif isinstance(expected, float) and isinstance(actual, float):
        if not math.isclose(expected, actual, rel_tol=1e-9):
            yield f"{path}: expected {expected!r}, found {actual!r}"
    elif type(expected) is not type(actual) or expected != actual:
        yield f"{path}: expected {expected!r}, found {actual!r}"


def _text(value: Any) -> str | None:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).decode(errors="backslashreplace")
    return None if value is None else str(value)


def _row(value: Any) -> Any:
    """Return a value in the form of this file; one that is no JSON as a text that is equal to no row."""
    if isinstance(value, (bytes, bytearray, str)):
        text = _text(value) or ""
        try:
            value = json.loads(text)
        except ValueError:
            return f"not JSON: {text}"
    return _plain(value)


def _plain(value: Any, name: str = "") -> Any:
    match value:
        case Either(values=values):
            return Either(tuple(_plain(member) for member in values))
        case dict():
            return {key: _plain(member, key) for key, member in value.items() if member is not None}
        case list() | tuple():
            return [_plain(member) for member in value]
        case datetime():
            timestamp = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            return timestamp.astimezone(timezone.utc).isoformat(timespec="microseconds")
        case str() if name in TIMES:
            return _plain(_read_time(value))
    return value


def _read_time(text: str) -> Any:
    try:
        return datetime.fromisoformat(text[:-1] + "+00:00" if text.endswith("Z") else text)
    except ValueError:
        return f"not a time: {text}"


def _frozen(value: Any) -> str | None:
    row = _row(value)
    return None if row is None else json.dumps(row, sort_keys=True, ensure_ascii=False)


def _loaded(text: str | None) -> Any:
    return None if text is None else json.loads(text)
