"""What a projection leaves of the traits of its input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from millstream.expressions import Expression, Ref
from millstream.plan.keys import Columns, Known, determined, present
from millstream.plan.nodes import Item, Node
from millstream.plan.traits.values import KeyLostError, Spaced, Traits


def projected(given: Traits, of: Node, items: Iterable[Item], chosen: tuple[str, ...] = ()) -> Traits:
    """Return what is left of the traits of an input when only these items are."""
    if given.mode != "upsert" and given.partitioned is None and not given.watermarks:
        return given
    listed = list(items)
    names: dict[str, str] = {}
    for item in listed:
        if (column := item.expression.column) is not None:
            names.setdefault(column.lower(), item.name)
    keys: tuple[str, ...] = ()
    if given.mode == "upsert":
        keys = chosen or projected_keys(given, of, listed)
    partitioned = given.partitioned
    if partitioned is not None:
        partitioned = renamed(partitioned, names)
    spaced = _still_spaced(given.spaced, names, listed)
    return Traits(given.mode, keys, partitioned, _event_times(given, listed), spaced=spaced)


def _event_times(given: Traits, items: Iterable[Item]) -> tuple[tuple[str, str], ...]:
    """Return the event times that items keep: as they are, or a window's as `window_time(window)`."""
    delays = {name.lower(): delay for name, delay in given.watermarks}
    found: dict[str, tuple[str, str]] = {}
    for item in items:
        kept = item.expression.column or window_time_of(item.expression)
        if kept is not None and kept.lower() in delays:
            found.setdefault(item.expression.text, (item.name, delays[kept.lower()]))
    return tuple(found.values())


def window_time_of(expression: Expression) -> str | None:
    """Return the window whose time `window_time(window)` is."""
    match expression.pieces:
        case (str() as call, Ref() as ref, ")") if call.lower().replace(" ", "") == "window_time(":
            return ref.column
    return None


def _still_spaced(
    spaced: tuple[Spaced, ...], names: Mapping[str, str], items: list[Item]
) -> tuple[Spaced, ...]:
    found = [
        replace(each, column=names[each.column.lower()]) for each in spaced if each.column.lower() in names
    ]
    for each in spaced:
        if each.window:
            found += [
                Spaced(item.name, each.apart) for item in items if _is_bound(item.expression, each.column)
            ]
    return tuple(found)


def _is_bound(expression: Expression, window: str) -> bool:
    """Tell whether this is the start or end of a window."""
    match expression.pieces:
        case (Ref() as ref, str() as path):
            return ref.column.lower() == window.lower() and path.lower() in {".start", ".end"}
    return False


def renamed(columns: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...] | None:
    if any(column.lower() not in names for column in columns):
        return None
    return tuple(names[column.lower()] for column in columns)


def projected_keys(
    given: Traits, of: Node, items: list[Item], *, fixed_offset: bool = True
) -> tuple[str, ...]:
    """Return the columns that tell rows apart after a projection.

    A key is kept under its new name, or as what it can be told from, such as the start of a window; several
    keys as one column from which all can be told. Only the builder knows the time zone (`fixed_offset`).
    """
    known = known_columns(of, given)
    wanted = [key.lower() for key in given.keys]
    tells: dict[str, str] = {}
    reasons: list[str] = []
    joint: list[tuple[Item, frozenset[str]]] = []
    for item in items:
        if (column := item.expression.column) is not None:
            tells.setdefault(column.lower(), item.name)
    for item in items:
        read = item.expression.folded
        if item.expression.column is not None or not read or not read <= set(wanted):
            continue
        value = determined(item.expression, known, fixed_offset=fixed_offset)
        if value.why:
            reasons.append(f"{item.name} can't stand for it, because {value.why}")
        elif value.columns == read:
            joint.append((item, value.columns))
            if len(value.columns) == 1:
                tells.setdefault(next(iter(value.columns)), item.name)
    lost = [key for key in wanted if key not in tells]
    if not lost:
        return tuple(dict.fromkeys(tells[key] for key in wanted))
    for item, columns in joint:
        if columns.issuperset(lost):
            return (*(tells[key] for key in wanted if key not in columns), item.name)
    named = [key for key in given.keys if key.lower() in lost]
    raise KeyLostError(tuple(named), next(iter(reasons), ""))


def known_columns(of: Node, given: Traits) -> Columns:
    """Return what is known of a relation's columns."""
    spaced = {each.column.lower(): each for each in given.spaced}

    def known(name: str) -> Known | None:
        column = of.by_name.get(name.lower())
        if column is None:
            return None
        times = spaced.get(name.lower())
        nullable = column.nullable and name.lower() not in present(of)
        if times is None:
            return Known(column.type, nullable)
        return Known(column.type, nullable, times.apart, times.window)

    return known
