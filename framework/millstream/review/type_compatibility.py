"""Whether readers that expect one type can read values of another; in JSON, all numbers are alike."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.types import DOUBLE, FLOAT, INTEGERS, UNKNOWN, Array, Decimal, Map, Row, Type


def find_misfits(was: Type, now: Type, path: str) -> Iterator[tuple[bool, str]]:
    """Yield how the new type differs for readers of the old one, and whether that breaks them."""
    if was == now or UNKNOWN in {was, now}:
        return
    match was, now:
        case Row(), Row():
            yield from _fields(was, now, path)
        case Array(element=before), Array(element=after):
            yield from find_misfits(before, after, f"{path}[]")
        case Map(key=key, value=before), Map(key=other, value=after) if key == other:
            yield from find_misfits(before, after, f"{path}[]")
        case _:
            yield not _is_number_like(was, now), f"`{path}` is {now} instead of {was}{_why(was, now)}"


def _fields(was: Row, now: Row, path: str) -> Iterator[tuple[bool, str]]:
    for field in was.fields:
        after = now.field(field.name)
        if after is None:
            yield True, f"the field `{path}.{field.name}` was removed"
        else:
            yield from find_misfits(field.type, after.type, f"{path}.{field.name}")
    for field in now.fields:
        if was.field(field.name) is None:
            yield False, f"the field `{path}.{field.name}` is new"


def _is_number_like(was: Type, now: Type) -> bool:
    """Tell whether new values can be read as before, except for large numbers."""
    if was in INTEGERS:
        return now in INTEGERS
    fractions = (FLOAT, DOUBLE)
    return (was in fractions or isinstance(was, Decimal)) and (
        now in fractions or now in INTEGERS or isinstance(now, Decimal)
    )


def _why(was: Type, now: Type) -> str:
    if was in INTEGERS and now in INTEGERS and INTEGERS.index(now) > INTEGERS.index(was):
        return ": large values do not fit existing readers"
    return ""
