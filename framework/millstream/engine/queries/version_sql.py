"""The statements that keep versions of rows, each with the times from which and until which it is valid.

A key has bounds: times at which a version of its row begins, or at which its row is deleted. A version is
valid until the next bound. The table stores versions; a deletion is stored as the end of the version before
it, and if there is none, as an empty version, which ends when it begins. So the bounds can be read back from
the table, and a record that comes late gets its place: the versions of a key depend on its records, not on
the order in which they come.
"""
# ruff: noqa: S608 -- names of columns are quoted, and views are constants

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from millstream.core.expressions import quote_name
from millstream.core.types import has_equality
from millstream.engine.queries.differences import STORED
from millstream.outputs.kinds import VALID_FROM, VALID_TO
from millstream.plan.nodes.maintenance import STORED_TOUCHED
from millstream.queries.values import RowVersions, TableOutput

BATCH_ROWS = "_millstream_given"
"""The view of the new rows, with `_deleted`."""
TOUCHED = "_millstream_touched_keys"
_LAST = f"greatest({VALID_FROM}, {VALID_TO})"


class VersionHorizon(Struct, frozen=True):
    """The times, as SQL, before and after a batch: versions that ended until then are not kept."""

    before: str
    after: str


def placed_sql(table: TableOutput, versions: RowVersions, now: str) -> str:
    """Return the new rows of a relation whose rows replace each other, placed behind what their keys have.

    A row that is deleted ends now. An equal row is no new version, unless it has a time of its own.
    """
    columns = [column for column in table.columns if column.name not in {VALID_FROM, VALID_TO}]
    names = [quote_name(column.name) for column in columns]
    time = f"if(g._deleted, {now}, coalesce(g.{VALID_FROM}, {now}))"
    compared = all(has_equality(column.type) for column in columns)
    same = " and ".join(f"g.{name} <=> l.{name}" for name in names) if compared else "false"
    return "\n".join((
        f"select {', '.join(f'g.{name}' for name in names)},",
        f"greatest({time}, l._last) as {VALID_FROM}, g.{VALID_TO}, g._deleted",
        f"from {BATCH_ROWS} as g left join (",
        f"select *, {_LAST} as _last, {VALID_TO} is null as _open from (",
        f"select *, row_number() over (partition by {_list(versions.by)}",
        f"order by {_LAST} desc nulls last, {VALID_FROM} desc nulls last) as _place",
        f"from {STORED} as s left semi join {BATCH_ROWS} as k on {_on(versions.by, 's', 'k')}",
        f")) as l on l._place = 1 and {_on(versions.by, 'g', 'l')}",
        "where if(g._deleted, coalesce(l._open, false),",
        f"not coalesce(l._open and ({same}), false))",
    ))  # fmt: skip


def newest_sql(view: str) -> str:
    """Return the newest time of a bound."""
    return f"select max({_LAST}) as newest from {view}"


def touched_sql(versions: RowVersions, horizon: VersionHorizon | None) -> str:
    """Return the keys with new rows, and those of which a bound leaves the time that is kept."""
    names = _list(versions.by)
    keys = f"select {names} from {BATCH_ROWS}"
    if horizon is not None:
        left = " or ".join(
            f"({column} > {horizon.before} and {column} <= {horizon.after})"
            for column in (VALID_FROM, VALID_TO)
        )
        ended = f"({VALID_TO} <= {horizon.after} and not {VALID_FROM} <=> {VALID_TO})"
        keys += f"\nunion select {names} from {STORED} where {left} or {ended}"
        return keys
    return f"select distinct * from ({keys})"


def stored_touched_sql(versions: RowVersions) -> str:
    return f"select s.* from {STORED} as s left semi join {TOUCHED} as t on {_on(versions.by, 's', 't')}"


def versions_sql(table: TableOutput, versions: RowVersions, horizon: VersionHorizon | None) -> str:
    """Return all versions of the touched keys."""
    by = f"partition by {_list(versions.by)}"
    columns = [column for column in table.columns if column.name not in {VALID_FROM, VALID_TO}]
    names = ", ".join(quote_name(column.name) for column in columns)
    keys = {key.lower() for key in versions.by}
    only_keys = ", ".join(
        quote_name(column.name)
        if column.name.lower() in keys
        else f"cast(null as {column.type}) as {quote_name(column.name)}"
        for column in columns
    )
    ended = ", ".join(
        quote_name(column.name)
        if column.name.lower() in keys
        else f"if(_ends, cast(null as {column.type}), {quote_name(column.name)}) as {quote_name(column.name)}"
        for column in columns
    )
    condition = "" if horizon is None else f" where _next is null or _next > {horizon.after}"
    return "\n".join((
        "with bounds as (",
        f"select {names}, {VALID_FROM} as _at, false as _ends, 1 as _rank from {STORED_TOUCHED}",
        f"where not {VALID_FROM} <=> {VALID_TO} or {VALID_FROM} is null",
        f"union all select {only_keys}, {VALID_TO}, true, 0 from {STORED_TOUCHED}",
        f"where {VALID_TO} is not null",
        f"union all select {names}, {VALID_FROM}, _deleted, 2 from {BATCH_ROWS}",
        "), placed as (",
        f"select *, row_number() over ({by}, _at order by _rank desc) as _place from bounds",
        "), timed as (",
        f"select *, lead(_at) over ({by} order by _at nulls first) as _next from placed where _place = 1",
        "), kept as (",
        f"select *, lag(_ends) over ({by} order by _at nulls first) as _after_end from timed{condition}",
        ")",
        f"select {ended}, _at as {VALID_FROM}, if(_ends, _at, _next) as {VALID_TO} from kept",
        "where not _ends or (_at is not null and coalesce(_after_end, true))",
    ))  # fmt: skip


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quote_name, names))


def _on(names: Sequence[str], one: str, other: str) -> str:
    return " and ".join(f"{one}.{quote_name(name)} <=> {other}.{quote_name(name)}" for name in names)
