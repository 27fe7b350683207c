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


def same(expected: dict[str, Rows], found: dict[str, Rows]) -> list[str]:
    """Return what is missing, too much or different; nothing when all is as expected."""
    told: list[str] = []
    for name in sorted(expected.keys() | found.keys()):
        if name not in found:
            told.append(f"{name}: not found")
        elif name not in expected:
            told.append(f"{name}: not expected")
        else:
            of_kind = _of_events if isinstance(expected[name], Counter) else _of_rows
            each = list(of_kind(expected[name], found[name]))
            told += [f"{name}{line}" for line in each[:SHOWN]]
            told += [f"{name}: and {len(each) - SHOWN} more differences"] if len(each) > SHOWN else []
    return told


def _of_events(expected: Appended, found: Appended) -> Iterator[str]:
    """Tell what is in one multiset only, but for doubles that are nearly the same."""
    extra: dict[Any, list[Any]] = {}
    for key, value in (found - expected).elements():
        extra.setdefault(key, []).append(value)
    for key, value in (expected - found).elements():
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


def _of_rows(expected: Newest, found: Newest) -> Iterator[str]:
    for key in sorted(expected.keys() | found.keys(), key=repr):
        one, other = expected.get(key), found.get(key)
        if one is None and other is not None:
            yield f"[{key!r}]: too much: {other}"
        elif one is not None and other is None:
            yield f"[{key!r}]: missing {one}"
        else:
            yield from (f"[{key!r}]{line}" for line in _differences(one, other))


def _differences(expected: Any, found: Any, place: str = "") -> Iterator[str]:
    if isinstance(expected, Either):
        if all(any(_differences(each, found)) for each in expected.values):
            yield f"{place}: expected one of {list(expected.values)}, found {found!r}"
    elif isinstance(expected, dict) and isinstance(found, dict):
        for name in sorted(expected.keys() | found.keys()):
            yield from _differences(expected.get(name), found.get(name), f"{place}.{name}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for index, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from _differences(one, other, f"{place}[{index}]")
    elif isinstance(expected, float) and isinstance(found, float):
        if not math.isclose(expected, found, rel_tol=1e-9):
            yield f"{place}: expected {expected!r}, found {found!r}"
    elif type(expected) is not type(found) or expected != found:
        yield f"{place}: expected {expected!r}, found {found!r}"


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
            return Either(tuple(_plain(each) for each in values))
        case dict():
            return {key: _plain(each, key) for key, each in value.items() if each is not None}
        case list() | tuple():
            return [_plain(each) for each in value]
        case datetime():
            at = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
            return at.astimezone(timezone.utc).isoformat(timespec="microseconds")
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
