"""Keeps a table equal to its SQL: computes the rows that a change can touch, and stores the differences.

The versions of the inputs that the table reflects are noted in the transaction that stores the differences.
So after an interruption at any moment, the next batch continues from exactly these versions. What Spark's
stream has read only decides when a batch begins.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from operator import and_

import msgspec
from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.decoding import from_json
from millstream.errors import Diagnostic, MillstreamError
from millstream.expressions import quoted
from millstream.physical.values import Maintaining, StaticRead, TableOutput
from millstream.plan.nodes.maintenance import (
    STORED_TOUCHED,
    TOUCHED,
    UNSURE,
    WEIGHT,
    Maintenance,
    touched_column,
    view_of,
)
from millstream.runner.queries.tables import Tables
from millstream.stores.spark import Version
from millstream.types import has_equality

_log = logging.getLogger(__name__)
NEW, STORED = "_millstream_new", "_millstream_stored"
"""The views of the rows that the SQL gives, and of those in the table."""
_PRESENT = "_present"
_BEFORE = "_change_type in ('update_preimage', 'delete')"


class Note(Struct, frozen=True):
    """What a maintained table reflects."""

    digest: str
    versions: dict[str, Version]
    """By input, except seeds, which are part of the digest."""


class Differences(Struct, frozen=True, eq=False):
    rows: DataFrame
    """The new versions of rows, and deleted ones with `_deleted`."""
    touched: int | None
    """How many keys the changes touched; None if all rows were computed."""
    computed: int
    stored: int


@contextmanager
def differences(session: SparkSession, plan: Maintaining, changed: set[str] | None) -> Iterator[Differences]:
    """Yield the differences between a table and its SQL, over views of its inputs and of the table.

    `changed` are the inputs with changes since the table was computed; None computes all rows.
    """
    maintenance, kept = plan.maintenance, []
    touched: int | None = None
    stored = session.table(STORED)
    try:
        parts = [each.sql for each in maintenance.touched if changed and each.relation in changed]
        if not parts:
            new = session.sql(maintenance.whole)
        else:
            keys = session.sql("\nunion\n".join(f"({part})" for part in parts)).persist()
            kept.append(keys)
            keys.createOrReplaceTempView(TOUCHED)
            touched = keys.count()
            if not touched:
                yield Differences(stored.withColumn("_deleted", f.lit(False)).where("false"), 0, 0, 0)
                return
            pairs = [
                f.col(f"s.{quoted(name)}").eqNullSafe(f.col(f"t.{touched_column(index)}"))
                for index, name in enumerate(maintenance.by)
            ]
            stored = stored.alias("s").join(keys.alias("t"), reduce(and_, pairs), "left_semi").persist()
            kept.append(stored)
            stored.createOrReplaceTempView(STORED_TOUCHED)
            new = _touched_rows(session, maintenance, kept)
        new = new.select(*(f.col(quoted(c.name)).cast(str(c.type)) for c in plan.target.columns)).persist()
        kept.append(new)
        new.createOrReplaceTempView(NEW)
        computed = _check_keys(session, plan.target)
        stored.createOrReplaceTempView(STORED_TOUCHED)
        rows = session.sql(differences_sql(plan.target)).persist()
        kept.append(rows)
        yield Differences(rows, touched, computed, rows.count())
    finally:
        for each in kept:
            each.unpersist()


def _touched_rows(session: SparkSession, maintenance: Maintenance, kept: list[DataFrame]) -> DataFrame:
    """Return the rows with touched keys, by weights if that is certain."""
    if maintenance.weighted:
        found = session.sql(maintenance.weighted).persist()
        kept.append(found)
        if found.where(UNSURE).isEmpty():
            return found
    return session.sql(maintenance.restricted)


def _check_keys(session: SparkSession, target: TableOutput) -> int:
    """Return how many rows were computed; refuse two with the same key, of which the table could hold one."""
    keys = ", ".join(quoted(key) for key in target.keys)
    counted = f"select {keys}, count(*) as _n from {NEW} group by {keys}"  # noqa: S608 -- quoted names
    numbers = session.sql(f"select coalesce(sum(_n), 0), coalesce(max(_n), 0) from ({counted})")  # noqa: S608
    ((total, most),) = numbers.collect()
    if most > 1:
        first = session.sql(f"{counted} having count(*) > 1 order by _n desc limit 1").first()
        assert first is not None
        name = target.model.partition(".")[2]
        values = ", ".join(f"{key} = {first[index]}" for index, key in enumerate(target.keys))
        message = f"the SQL of '{name}' gives {most:,} rows with the key {values}"
        remedy = "make unique_key the columns that identify a row, or group by the key"
        raise MillstreamError(Diagnostic("MS857", message, None, remedy))
    return int(total)


def differences_sql(target: TableOutput) -> str:
    names = [quoted(column.name) for column in target.columns]
    on = " and ".join(f"n.{quoted(key)} <=> s.{quoted(key)}" for key in target.keys)
    compared = all(has_equality(column.type) for column in target.columns)
    same = " and ".join(f"n.{name} <=> s.{name}" for name in names) if compared else "false"
    new, old = ", ".join(f"n.{name}" for name in names), ", ".join(f"s.{name}" for name in names)
    return "\n".join((
        f"select {new}, false as _deleted from {NEW} as n",  # noqa: S608 -- quoted names
        f"left join (select *, true as {_PRESENT} from {STORED_TOUCHED}) as s on {on}",  # noqa: S608
        f"where s.{_PRESENT} is null or not ({same})",
        "union all",
        f"select {old}, true as _deleted from {STORED_TOUCHED} as s left anti join {NEW} as n on {on}",  # noqa: S608
    ))  # fmt: skip


def maintained(
    plan: Maintaining,
    tables: Tables,
    sql: Callable[[SparkSession], DataFrame],
    store: Callable[[DataFrame, int], None],
) -> Callable[[DataFrame, int], None]:
    """Return a function that brings a table up to date when a batch begins.

    `sql` evaluates the query over the differences; `store` stores its rows in a numbered transaction.
    """

    def each_batch(batch: DataFrame, _number: int) -> None:
        session = batch.sparkSession
        own = tables.versioned(plan.target.model)
        noted = own.noted(session, plan.target)
        before = None if noted.content is None else from_json(noted.content, Note)
        now = {
            relation: tables.versioned(relation).newest(session, relation)
            for relation in plan.maintenance.relations
            if not relation.startswith("seed.")
        }
        changed = _changed(plan, before, now)
        if changed is not None and not changed:
            return
        _inputs(session, plan, tables, before, now, changed)
        own.rows(session, plan.target.model, plan.target.columns).createOrReplaceTempView(STORED)
        note = msgspec.json.encode(Note(plan.digest, now))
        with differences(session, plan, changed) as found:
            name = plan.target.model.partition(".")[2]
            keys = "all" if found.touched is None else found.touched
            _log.info(
                "%s: %s keys touched, %d rows computed, %d stored", name, keys, found.computed, found.stored
            )
            if not found.stored and before is not None:
                # The rows are those of the new versions as well.
                own.note(session, plan.target, noted.number, note)
                return
            found.rows.createOrReplaceTempView(plan.view)
            own.note(session, plan.target, noted.number + 1, note)
            store(sql(session), noted.number + 1)

    return each_batch


def _changed(plan: Maintaining, before: Note | None, now: Mapping[str, Version]) -> set[str] | None:
    """Return the inputs with newer versions; None if all rows must be computed."""
    if before is None or before.digest != plan.digest or before.versions.keys() != now.keys():
        return None
    for relation, version in now.items():
        was = before.versions[relation]
        if was.table != version.table or was.number > version.number:
            return None
    return {relation for relation, version in now.items() if before.versions[relation] != version}


def whole(session: SparkSession, maintenance: Maintenance, reads: Iterable[StaticRead]) -> DataFrame:
    """Return all rows that the SQL gives over the views of its inputs at rest."""
    by_relation = {read.relation: read.view for read in reads}
    for index, relation in enumerate(maintenance.relations):
        session.table(quoted(by_relation[relation])).createOrReplaceTempView(view_of("now", index))
    return session.sql(maintenance.whole)


def _inputs(
    session: SparkSession,
    plan: Maintaining,
    tables: Tables,
    before: Note | None,
    now: Mapping[str, Version],
    changed: set[str] | None,
) -> None:
    """Create the views of the inputs, at exactly the versions that the note will have."""
    for index, read in enumerate(plan.inputs):
        relation = read.relation
        if relation not in now:
            session.table(quoted(read.view)).createOrReplaceTempView(view_of("now", index))
            views(session, index, None)
            continue
        of = tables.versioned(relation)
        of.rows_at(session, relation, now[relation].number).createOrReplaceTempView(view_of("now", index))
        if changed is not None:
            assert before is not None
            feed = (
                of.changed_rows(session, relation, before.versions[relation].number, now[relation].number)
                if relation in changed
                else None
            )
            views(session, index, feed)


def views(session: SparkSession, index: int, feed: DataFrame | None) -> None:
    """Create the views of an input's changes; `feed` has none if it is None."""
    now = session.table(view_of("now", index))
    names = [f.col(quoted(name)) for name in now.columns]
    changes = now.where("false") if feed is None else feed.select(*names)
    changes.createOrReplaceTempView(view_of("changed", index))
    either = now if feed is None else now.unionAll(feed.where(_BEFORE).select(*names))
    either.createOrReplaceTempView(view_of("either", index))
    weight = f.when(f.expr(_BEFORE), f.lit(-1)).otherwise(f.lit(1)).cast("bigint").alias(WEIGHT)
    weighted = (
        changes.withColumn(WEIGHT, f.lit(1).cast("bigint")) if feed is None else feed.select(*names, weight)
    )
    weighted.createOrReplaceTempView(view_of("weighted", index))


def record_changes(session: SparkSession, plan: Maintaining, tables: Tables) -> None:
    """Let all inputs record their changes from now on; an input may be older than its reader."""
    for relation in plan.maintenance.relations:
        if not relation.startswith("seed."):
            tables.versioned(relation).record_changes(session, relation)


def waking(session: SparkSession, plan: Maintaining, changes: list[str]) -> DataFrame:
    """Return a stream with a batch for each change of an input; its rows are never read."""
    items = ", ".join(f"cast(null as {c.type}) as {quoted(c.name)}" for c in plan.target.columns)
    return session.sql(
        "\nunion all\n".join(f"select {items}, false as _deleted from {quoted(view)}" for view in changes)  # noqa: S608
    )
