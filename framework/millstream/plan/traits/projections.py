"""The traits of an input after a projection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from millstream.core.expressions import Expression
from millstream.plan.keys import ColumnProperties, Columns, expression_value, non_null_columns
from millstream.plan.nodes import Item, Node
from millstream.plan.traits.values import KeyLostError, Spacing, Traits
from millstream.sql.trees import CallTree, ColumnTree, FieldOf, tree_of


def projection_traits(
    traits: Traits, of: Node, items: Iterable[Item], chosen: tuple[str, ...] = ()
) -> Traits:
    """Return the traits of an input after a projection on these items."""
    if traits.mode != "upsert" and traits.partitioned is None and not traits.watermarks:
        return traits
    all_items = list(items)
    names: dict[str, str] = {}
    for item in all_items:
        if (column := item.expression.column) is not None:
            names.setdefault(column.lower(), item.name)
    keys = (chosen or projected_keys(traits, of, all_items)) if traits.mode == "upsert" else ()
    partitioned, times = rename_columns(traits.partitioned, names), _event_times(traits, all_items)
    spacings = _still_spaced(traits.spacings, names, all_items)
    return Traits(traits.mode, keys, partitioned, times, spacings=spacings)


def _event_times(traits: Traits, items: Iterable[Item]) -> tuple[tuple[str, str], ...]:
    """Return the event times that items keep: as columns, or as `window_time(window)`."""
    delays = {name.lower(): delay for name, delay in traits.watermarks}
    times: dict[str, tuple[str, str]] = {}
    for item in items:
        time = item.expression.column or window_time_of(item.expression)
        if time is not None and time.lower() in delays:
            times.setdefault(item.expression.text, (item.name, delays[time.lower()]))
    return tuple(times.values())


def window_time_of(expression: Expression) -> str | None:
    """Return the window in `window_time(window)`."""
    match tree_of(expression):
        case CallTree(name="window_time", arguments=(ColumnTree() as window,)):
            return window.name
    return None


def _still_spaced(
    spacings: tuple[Spacing, ...], names: Mapping[str, str], items: list[Item]
) -> tuple[Spacing, ...]:
    still_spaced = [
        replace(spacing, column=names[spacing.column.lower()])
        for spacing in spacings
        if spacing.column.lower() in names
    ]
    for spacing in spacings:
        if spacing.window:
            still_spaced += [
                Spacing(item.name, spacing.gap)
                for item in items
                if _is_bound(item.expression, spacing.column)
            ]
    return tuple(still_spaced)


def _is_bound(expression: Expression, window: str) -> bool:
    """Return whether this is the start or end of a window."""
    match tree_of(expression):
        case FieldOf(base=ColumnTree() as column, name=name):
            return column.name.lower() == window.lower() and name.lower() in {"start", "end"}
    return False


def rename_columns(columns: tuple[str, ...] | None, names: Mapping[str, str]) -> tuple[str, ...] | None:
    if columns is None or any(column.lower() not in names for column in columns):
        return None
    return tuple(names[column.lower()] for column in columns)


def projected_keys(
    traits: Traits, of: Node, items: list[Item], *, fixed_offset: bool = True
) -> tuple[str, ...]:
    """Return the columns that identify rows after a projection.

    A key remains under its new name, or as a column that determines it, such as the start of a window. One
    column can determine several keys. Only the builder knows the time zone (`fixed_offset`).
    """
    properties = known_columns(of, traits)
    keys = [key.lower() for key in traits.keys]
    determining: dict[str, str] = {}
    reasons: list[str] = []
    joint: list[tuple[Item, frozenset[str]]] = []
    for item in items:
        if (column := item.expression.column) is not None:
            determining.setdefault(column.lower(), item.name)
    for item in items:
        read = item.expression.folded
        if item.expression.column is not None or not read or not read <= set(keys):
            continue
        value = expression_value(item.expression, properties, fixed_offset=fixed_offset)
        if value.why:
            reasons.append(f"{item.name} does not determine it, because {value.why}")
        elif value.columns == read:
            joint.append((item, value.columns))
            if len(value.columns) == 1:
                determining.setdefault(next(iter(value.columns)), item.name)
    lost = [key for key in keys if key not in determining]
    if not lost:
        return tuple(dict.fromkeys(determining[key] for key in keys))
    for item, columns in joint:
        if columns.issuperset(lost):
            return (*(determining[key] for key in keys if key not in columns), item.name)
    named = [key for key in traits.keys if key.lower() in lost]
    raise KeyLostError(tuple(named), next(iter(reasons), ""))


def known_columns(of: Node, traits: Traits) -> Columns:
    """Return a function for what is known about a relation's columns."""
    spacings = {spacing.column.lower(): spacing for spacing in traits.spacings}

    def column_properties(name: str) -> ColumnProperties | None:
        column = of.by_name.get(name.lower())
        if column is None:
            return None
        times = spacings.get(name.lower())
        nullable = column.nullable and name.lower() not in non_null_columns(of)
        if times is None:
            return ColumnProperties(column.type, nullable)
        return ColumnProperties(column.type, nullable, times.gap, times.window)

    return column_properties
