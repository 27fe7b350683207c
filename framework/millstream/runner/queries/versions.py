"""Keeps each version of a row with the time from which to which it is valid.

A key has bounds: times at which a version of its row begins, or at which the row is deleted. A version is valid
until the next bound. The table stores versions; a deletion is stored as the end of the version before it, and if
there is none, as an empty version, which begins when it ends. So the bounds can be read back from the table, and
a record that arrives late gets its place: the versions of a key depend on its records, not on their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timezone

from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.expressions import quoted
from millstream.materialization import VALID_FROM, VALID_TO
from millstream.physical.values import TableOutput, Versions
from millstream.plan.durations import parts
from millstream.plan.nodes.maintenance import STORED_TOUCHED
from millstream.runner.queries.differences import COPIES, NEW, STORED, differences_sql
from millstream.runner.queries.small_batches import Evaluated, evaluated

GIVEN = "_millstream_given"
"""The view of the new rows, with `_deleted`."""
TOUCHED = "_millstream_touched_keys"
_PLACED = "_millstream_placed"


class Horizon(Struct, frozen=True):
    """The times, as SQL, before and after a batch: versions that ended until then are not kept."""

    before: str
    after: str


@contextmanager
def version_differences(
    rows: DataFrame, stored: DataFrame, table: TableOutput, *, now: datetime | None = None
) -> Iterator[Evaluated]:
    """Yield what the new rows of a batch change in the versions that are stored, with `_deleted`."""
    session, versions = rows.sparkSession, table.versions
    assert versions is not None
    if "_deleted" not in rows.columns:
        rows = rows.withColumn("_deleted", f.lit(False))
    stored.select(*(f.col(quoted(c.name)) for c in table.columns)).createOrReplaceTempView(STORED)
    with ExitStack() as kept:
        rows.createOrReplaceTempView(GIVEN)
        if versions.replaces:
            placed = session.sql(placed_sql(table, versions, _sql(now or datetime.now(timezone.utc))))
            placed.createOrReplaceTempView(_PLACED)
        given = session.table(_PLACED if versions.replaces else GIVEN)
        kept.enter_context(evaluated(given)).rows.createOrReplaceTempView(GIVEN)
        horizon = _horizon(session, versions) if versions.keep else None
        touched = kept.enter_context(evaluated(session.sql(touched_sql(versions, horizon))))
        touched.rows.createOrReplaceTempView(TOUCHED)
        session.sql(stored_touched_sql(versions)).createOrReplaceTempView(STORED_TOUCHED)
        session.sql(versions_sql(table, versions, horizon)).createOrReplaceTempView(NEW)
        found = kept.enter_context(evaluated(session.sql(differences_sql(table))))
        yield Evaluated(found.rows.drop(COPIES), found.few, found.count)


def placed_sql(table: TableOutput, versions: Versions, now: str) -> str:
    """Return the new rows of a relation whose rows replace each other, placed behind what their keys have.

    A row that is deleted ends now. An equal row is no new version, unless it has a time of its own.
    """
    names = [quoted(c.name) for c in table.columns if c.name not in {VALID_FROM, VALID_TO}]
    time = f"if(g._deleted, {now}, coalesce(g.{VALID_FROM}, {now}))"
    same = " and ".join(f"g.{name} <=> l.{name}" for name in names)
    return "\n".join((
        f"select {', '.join(f'g.{name}' for name in names)},",
        f"greatest({time}, l._last) as {VALID_FROM}, g.{VALID_TO}, g._deleted",
        f"from {GIVEN} as g left join (",  # noqa: S608 -- quoted names
        f"select *, {_LAST} as _last, {VALID_TO} is null as _open from (",
        f"select *, row_number() over (partition by {_list(versions.by)}",
        f"order by {_LAST} desc nulls last, {VALID_FROM} desc nulls last) as _place from {STORED}",
        f")) as l on l._place = 1 and {_on(versions.by, 'g', 'l')}",
        "where if(g._deleted, coalesce(l._open, false),",
        f"not coalesce(l._open and ({same}), false))",
    ))  # fmt: skip


_LAST = f"greatest({VALID_FROM}, {VALID_TO})"


def newest_sql(view: str) -> str:
    """Return the newest time of a bound."""
    return f"select max({_LAST}) as newest from {view}"  # noqa: S608


def touched_sql(versions: Versions, horizon: Horizon | None) -> str:
    """Return the keys with new rows, and those of which a bound leaves the time that is kept."""
    names = _list(versions.by)
    keys = f"select {names} from {GIVEN}"  # noqa: S608
    if horizon is not None:
        left = " or ".join(
            f"({column} > {horizon.before} and {column} <= {horizon.after})"
            for column in (VALID_FROM, VALID_TO)
        )
        ended = f"({VALID_TO} <= {horizon.after} and not {VALID_FROM} <=> {VALID_TO})"
        keys += f"\nunion select {names} from {STORED} where {left} or {ended}"  # noqa: S608
        return keys
    return f"select distinct * from ({keys})"  # noqa: S608


def stored_touched_sql(versions: Versions) -> str:
    return f"select s.* from {STORED} as s left semi join {TOUCHED} as t on {_on(versions.by, 's', 't')}"


def versions_sql(table: TableOutput, versions: Versions, horizon: Horizon | None) -> str:
    """Return all versions of the touched keys."""
    by = f"partition by {_list(versions.by)}"
    own = [c for c in table.columns if c.name not in {VALID_FROM, VALID_TO}]
    names = ", ".join(quoted(c.name) for c in own)
    keys = {key.lower() for key in versions.by}
    only_keys = ", ".join(
        quoted(c.name) if c.name.lower() in keys else f"cast(null as {c.type}) as {quoted(c.name)}"
        for c in own
    )
    kept = "" if horizon is None else f" where _next is null or _next > {horizon.after}"
    return "\n".join((
        "with bounds as (",
        f"select {names}, {VALID_FROM} as _at, false as _ends, 1 as _rank from {STORED_TOUCHED}",
        f"where not {VALID_FROM} <=> {VALID_TO} or {VALID_FROM} is null",
        f"union all select {only_keys}, {VALID_TO}, true, 0 from {STORED_TOUCHED} where {VALID_TO} is not null",
        f"union all select {names}, {VALID_FROM}, _deleted, 2 from {GIVEN}",
        "), placed as (",
        f"select *, row_number() over ({by}, _at order by _rank desc) as _place from bounds",
        "), timed as (",
        f"select *, lead(_at) over ({by} order by _at nulls first) as _next from placed where _place = 1",
        "), kept as (",
        f"select *, lag(_ends) over ({by} order by _at nulls first) as _after_end from timed{kept}",
        ")",
        f"select {names}, _at as {VALID_FROM}, if(_ends, _at, _next) as {VALID_TO} from kept",
        "where not _ends or (_at is not null and coalesce(_after_end, true))",
    ))  # fmt: skip


def _horizon(session: SparkSession, versions: Versions) -> Horizon | None:
    """Return until when the versions ended that are not kept; None if no bound has a time yet."""
    months, micros = parts(versions.keep)
    ago = f"make_interval(0, {months}, 0, 0, 0, 0, {micros} / 1000000)"
    both = " union all ".join(
        f"select newest, {stored} as _stored from ({newest_sql(view)})"  # noqa: S608
        for view, stored in ((STORED, "true"), (GIVEN, "false"))
    )
    # With its offset, a time is the same whatever the session's time zone is.
    before, after = (
        f"date_format({time} - {ago}, \"y-MM-dd'T'HH:mm:ss.SSSSSSXXX\")"
        for time in ("max(newest) filter (where _stored)", "max(newest)")
    )
    (row,) = session.sql(f"select {before}, {after} from ({both})").collect()  # noqa: S608
    if row[1] is None:
        return None
    return Horizon(f"timestamp'{row[0] or row[1]}'", f"timestamp'{row[1]}'")


def _sql(time: datetime) -> str:
    return f"timestamp'{time.astimezone(timezone.utc).isoformat()}'"


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(quoted, names))


def _on(names: Sequence[str], one: str, other: str) -> str:
    return " and ".join(f"{one}.{quoted(name)} <=> {other}.{quoted(name)}" for name in names)
