"""Keeps a table equal to its SQL: computes the rows that a change can touch, and stores the differences.

The versions of the inputs that the table reflects are noted in the transaction that stores the differences.
So after an interruption at any moment, the next batch continues from exactly these versions. What Spark's
stream has read only decides when a batch begins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import reduce
from operator import and_

from msgspec import Struct
from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import DateType, IntegerType, LongType, ShortType, StringType

from millstream.core.decoding import from_json
from millstream.core.encoding import to_json
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.engine.queries.differences import COPIES, NEW, PRESENT, STORED, differences_sql
from millstream.engine.queries.small_batches import EvaluatedBatch, evaluate_batch, plan_small
from millstream.engine.queries.tables import Tables
from millstream.plan.nodes.maintenance import (
    STORED_TOUCHED,
    TOUCHED,
    UNSURE,
    WEIGHT,
    Maintenance,
    touched_column,
    view_of,
)
from millstream.queries.values import StaticRead, TableMaintenance, TableOutput
from millstream.results.run_results import TableChanges
from millstream.stores.key_ranges import key_ranges
from millstream.stores.session_settings import takes_fast_paths
from millstream.stores.spark import TableVersion

_COMPUTED = "_millstream_computed"
"""The observed number of rows that the SQL gives."""
_SMALL = 1 << 20
"""Bytes of all inputs and the table up to which a batch costs less if Spark plans it for few rows."""
_BEFORE = "_change_type in ('update_preimage', 'delete')"


class MaintenanceNote(Struct, frozen=True):
    """What a maintained table reflects."""

    digest: str
    versions: dict[NodeId, TableVersion]
    """By input, except seeds, which are part of the digest."""
    columns: dict[NodeId, dict[str, str]] = {}
    """By input, the types of its columns. Older notes lack it."""


class TableDifferences(Struct, frozen=True, eq=False):
    rows: DataFrame
    """The new versions of rows, and deleted ones with `_deleted`."""
    few: bool
    """The rows are in the driver."""
    changes: TableChanges


@contextmanager
def open_differences(
    session: SparkSession, plan: TableMaintenance, changed: set[NodeId] | None, *, sent: bool = False
) -> Iterator[TableDifferences]:
    """Yield the differences between a table and its SQL, over views of its inputs and of the table.

    `changed` are the inputs with changes since the table was computed; None computes all rows. `sent` tells
    whether a server sends the table's rows.
    """
    stored, touched = session.table(STORED), 0
    with ExitStack() as stack:
        touching = plan.maintenance.touching(changed or ())
        if touching:
            keys = stack.enter_context(evaluate_batch(session.sql(touching)))
            keys.rows.createOrReplaceTempView(TOUCHED)
            touched = keys.count()
            if not touched:
                nothing = stored.withColumn("_deleted", f.lit(False)).where("false")
                yield TableDifferences(nothing, True, TableChanges())
                return
            by = plan.maintenance.by
            stored = with_few_keys(stored, keys, by) if sent else _near(stored, keys, by)
            stored = _stored_touched(stored, keys.rows, by)
            stored.createOrReplaceTempView(STORED_TOUCHED)
            new = _near(_touched_rows(session, plan.maintenance, stack), keys, by)
        else:
            stored.createOrReplaceTempView(STORED_TOUCHED)
            new = session.sql(plan.maintenance.all_rows)
        # After an edit of its data tests, the table has the rows that a new one would have.
        kept_out = plan.kept_out if changed is None else ""
        counted = _typed(new, plan.target).observe(_COMPUTED, f.count(f.lit(1)).alias(_COMPUTED))
        counted.createOrReplaceTempView(NEW)
        computed = stack.enter_context(evaluate_batch(session.sql(differences_sql(plan.target, kept_out))))
        changes = _changes(computed.rows, plan.target)
        changes = replace(changes, touched=touched, computed=computed.observed(_COMPUTED))
        yield TableDifferences(computed.rows.drop(COPIES, PRESENT), computed.few, changes)


def _near(rows: DataFrame, keys: EvaluatedBatch, by: Sequence[str]) -> DataFrame:
    """Leave out rows that are not in the range of few keys; Spark applies that to what it reads."""
    if not keys.few:
        return rows
    stored_types = {field.name.lower(): field.dataType for field in rows.schema}
    types = {quote_name(name): stored_types[name.lower()] for name in by}
    names = {quote_name(name): touched_column(index) for index, name in enumerate(by)}
    return reduce(DataFrame.where, key_ranges(keys.rows, names, types), rows)


def _stored_touched(stored: DataFrame, keys: DataFrame, by: Sequence[str]) -> DataFrame:
    pairs = [
        f.col(f"s.{quote_name(name)}").eqNullSafe(f.col(f"t.{touched_column(index)}"))
        for index, name in enumerate(by)
    ]
    return stored.alias("s").join(keys.alias("t"), reduce(and_, pairs), "left_semi")


def _touched_rows(session: SparkSession, maintenance: Maintenance, stack: ExitStack) -> DataFrame:
    """Return the rows with touched keys, by weights if that is certain."""
    if maintenance.weighted and takes_fast_paths(session):
        weighted = stack.enter_context(evaluate_batch(session.sql(maintenance.weighted))).rows
        if weighted.where(UNSURE).isEmpty():
            return weighted
    return session.sql(maintenance.restricted)


def _typed(rows: DataFrame, target: TableOutput) -> DataFrame:
    return rows.select(*(f.col(quote_name(column.name)).cast(str(column.type)) for column in target.columns))


def _changes(rows: DataFrame, target: TableOutput) -> TableChanges:
    """Count differences by kind; refuse two rows with the same key, of which the table could hold one."""
    new = f"not _deleted and {PRESENT} is null"
    kinds = (new, f"not _deleted and {PRESENT}", "_deleted")
    numbers = rows.select(*map(f.count_if, map(f.expr, kinds)), f.count_if(f.col(COPIES) > 1)).first()
    assert numbers is not None
    inserted, updated, deleted, repeated = numbers
    if repeated:
        first = rows.where(f"{COPIES} > 1").first()
        assert first is not None
        name = target.model.name
        values = ", ".join(f"{key} = {first[key]}" for key in target.keys)
        message = f"the SQL of '{name}' gives {first[COPIES]:,} rows with the key {values}"
        remedy = "make unique_key the columns that identify a row, or group by the key"
        if any(first[key] is None for key in target.keys):
            remedy += "; if it is NULL in unmatched rows of an outer join, write an inner join"
        raise MillstreamError(Diagnostic("MS857", message, None, remedy))
    return TableChanges(inserted=inserted, updated=updated, deleted=deleted)


def maintain_table(
    plan: TableMaintenance,
    tables: Tables,
    session: SparkSession,
    sql: Callable[[SparkSession], DataFrame],
    store: Callable[[DataFrame, int, TableDifferences], None],
    versions: Mapping[NodeId, TableVersion],
) -> TableChanges:
    """Bring a table up to date with its inputs, of which some are given at a version.

    `sql` evaluates the query over the differences; `store` stores its rows in a numbered transaction,
    and gets the differences.
    """
    table_store = tables.of(plan.target.model)
    noted = table_store.noted(session, plan.target)
    before = None if noted.content is None else from_json(noted.content, MaintenanceNote)
    now = {
        relation: versions.get(relation) or tables.versioned(relation).newest(session, relation)
        for relation in plan.maintenance.relations
        if relation.kind != "seed"
    }
    changed = None if plan.maintenance.changing else _changed(plan, before, now)
    if changed is not None and not changed:
        return TableChanges()
    columns = _columns(session, tables, before, now, changed)
    if changed and before is not None and not _can_follow(session, tables, before, columns, changed):
        changed = None
    note = to_json(MaintenanceNote(plan.digest, now, columns))
    sizes = [tables.of(relation).size(session, relation) for relation in (*now, plan.target.model)]
    small = sum(sizes) < _SMALL
    with plan_small(session, small), ExitStack() as stack:
        feeds = {
            relation: stack.enter_context(evaluate_batch(feed))
            for relation, feed in _feeds(session, tables, before, now, changed, columns)
        }
        if changed is not None and not any(feed.count() for feed in feeds.values()):
            # The versions only differ in their files.
            table_store.note(session, plan.target, noted.number, note)
            return TableChanges()
        _inputs(session, plan, tables, now, {relation: feed.rows for relation, feed in feeds.items()})
        if before is not None and changed:
            _inputs_before(session, plan, tables, before)
        table_store.rows(session, plan.target.model, plan.target.columns).createOrReplaceTempView(STORED)
        difference = stack.enter_context(
            open_differences(session, plan, changed, sent=tables.sends_rows(plan.target.model))
        )
        if not difference.changes.stored and before is not None:
            # The rows are those of the new versions as well.
            table_store.note(session, plan.target, noted.number, note)
            return difference.changes
        difference.rows.createOrReplaceTempView(plan.view)
        table_store.note(session, plan.target, noted.number + 1, note)
        with plan_small(session, difference.few, interpreted=small):
            store(sql(session), noted.number + 1, difference)
        return difference.changes


def _changed(
    plan: TableMaintenance, before: MaintenanceNote | None, now: Mapping[NodeId, TableVersion]
) -> set[NodeId] | None:
    """Return the inputs with newer versions; None if all rows must be computed."""
    if before is None or before.digest != plan.digest or before.versions.keys() != now.keys():
        return None
    for relation, version in now.items():
        was = before.versions[relation]
        if was.table != version.table or was.number > version.number:
            return None
    return {relation for relation, version in now.items() if before.versions[relation] != version}


def _columns(
    session: SparkSession,
    tables: Tables,
    before: MaintenanceNote | None,
    now: Mapping[NodeId, TableVersion],
    changed: set[NodeId] | None,
) -> dict[NodeId, dict[str, str]]:
    """Return the types of the columns of all inputs; those of an input without changes are in the note."""
    noted = {} if before is None or changed is None else before.columns
    columns: dict[NodeId, dict[str, str]] = {}
    for relation, version in now.items():
        if relation in noted and relation not in (changed or ()):
            columns[relation] = noted[relation]
        else:
            schema = tables.versioned(relation).rows_at(session, relation, version.number).schema
            columns[relation] = {field.name: field.dataType.simpleString() for field in schema.fields}
    return columns


def _can_follow(
    session: SparkSession,
    tables: Tables,
    before: MaintenanceNote,
    columns: Mapping[NodeId, Mapping[str, str]],
    changed: set[NodeId],
) -> bool:
    """Tell whether the changed inputs still have their columns, and the versions that the table reflects."""
    return all(
        before.columns.get(relation, {}).items() <= columns[relation].items()
        and tables.versioned(relation).has_version(session, relation, before.versions[relation].number)
        for relation in changed
    )


def all_rows(session: SparkSession, maintenance: Maintenance, reads: Iterable[StaticRead]) -> DataFrame:
    """Return all rows that the SQL gives over the views of its inputs at rest."""
    by_relation = {read.relation: read.view for read in reads}
    for index, relation in enumerate(maintenance.relations):
        session.table(quote_name(by_relation[relation])).createOrReplaceTempView(view_of("now", index))
    return session.sql(maintenance.all_rows)


def _feeds(
    session: SparkSession,
    tables: Tables,
    before: MaintenanceNote | None,
    now: Mapping[NodeId, TableVersion],
    changed: set[NodeId] | None,
    columns: Mapping[NodeId, Iterable[str]],
) -> Iterator[tuple[NodeId, DataFrame]]:
    """Yield what changed of each input since the table was computed."""
    for relation in sorted(changed or ()):
        assert before is not None
        of, after = tables.versioned(relation), before.versions[relation].number
        feed = of.changed_rows(session, relation, after, now[relation].number)
        yield relation, feed.select(*(f.col(quote_name(name)) for name in columns[relation]), "_change_type")


def _inputs(
    session: SparkSession,
    plan: TableMaintenance,
    tables: Tables,
    now: Mapping[NodeId, TableVersion],
    feeds: Mapping[NodeId, DataFrame],
) -> None:
    """Create the views of the inputs, at exactly the versions that the note will have."""
    for index, read in enumerate(plan.inputs):
        relation = read.relation
        if relation not in now:
            session.table(quote_name(read.view)).createOrReplaceTempView(view_of("now", index))
        else:
            number = now[relation].number
            rows = tables.versioned(relation).rows_at(session, relation, number, read.columns)
            rows.createOrReplaceTempView(view_of("now", index))
        create_views(session, index, feeds.get(relation))


def _inputs_before(
    session: SparkSession, plan: TableMaintenance, tables: Tables, before: MaintenanceNote
) -> None:
    """Create the views of the inputs as the table reflects them, where they are read for touched keys.

    A column that an input got since then is NULL in its rows before.
    """
    for index, read in enumerate(plan.inputs):
        relation = read.relation
        if not plan.maintenance.reads_before(relation):
            continue
        rows = session.table(view_of("now", index))
        if relation in before.versions:
            schema = rows.schema
            rows = tables.versioned(relation).rows_at(session, relation, before.versions[relation].number)
            stored = set(map(str.lower, rows.columns))
            rows = rows.select(
                *(
                    f.col(quote_name(column.name))
                    if column.name.lower() in stored
                    else f.lit(None).cast(column.dataType).alias(column.name)
                    for column in schema
                )
            )
        rows.createOrReplaceTempView(view_of("before", index))


def create_views(session: SparkSession, index: int, feed: DataFrame | None) -> None:
    """Create the views of an input's changes; `feed` has none if it is None."""
    now = session.table(view_of("now", index))
    # A store may have a wider type than the model.
    names = [
        f.col(quote_name(field.name)).cast(field.dataType).alias(field.name) for field in now.schema.fields
    ]
    changes = now.where("false") if feed is None else feed.select(*names)
    changes.createOrReplaceTempView(view_of("changed", index))
    either = now if feed is None else now.unionAll(feed.where(_BEFORE).select(*names))
    either.createOrReplaceTempView(view_of("either", index))
    weight = f.when(f.expr(_BEFORE), f.lit(-1)).otherwise(f.lit(1)).cast("bigint").alias(WEIGHT)
    weighted = (
        changes.withColumn(WEIGHT, f.lit(1).cast("bigint")) if feed is None else feed.select(*names, weight)
    )
    weighted.createOrReplaceTempView(view_of("weighted", index))


def record_changes(session: SparkSession, plan: TableMaintenance, tables: Tables) -> None:
    """Let all inputs record their changes from now on; an input may be older than its reader."""
    for relation in plan.maintenance.relations:
        if relation.kind != "seed":
            tables.record_changes(session, relation)


def change_trigger(session: SparkSession, plan: TableMaintenance, changes: list[str]) -> DataFrame:
    """Return a stream with a batch for each change of an input; its rows are never read."""
    items = ", ".join(
        f"cast(null as {column.type}) as {quote_name(column.name)}" for column in plan.target.columns
    )
    return session.sql(
        "\nunion all\n".join(f"select {items}, false as _deleted from {quote_name(view)}" for view in changes)  # noqa: S608
    )


_MOST = 1_000
_COMPARED = (StringType(), ShortType(), IntegerType(), LongType(), DateType())
"""The types of which Spark and databases find the same values equal."""


def with_few_keys(rows: DataFrame, keys: EvaluatedBatch, names: Sequence[str]) -> DataFrame:
    """Leave out rows that have none of the keys, as far as conditions on single columns can tell.

    `names` are the columns that are compared with those of `keys`, in this order.
    """
    if not keys.few or keys.count() > _MOST:
        return rows
    types = {field.name.lower(): field.dataType for field in rows.schema}
    key_rows = keys.rows.collect()
    for name, field in zip(names, keys.rows.schema, strict=True):
        if field.dataType not in _COMPARED or types[name.lower()] != field.dataType:
            continue
        values = {row[field.name] for row in key_rows}
        column = f.col(quote_name(name))
        is_one = column.isin([value for value in values if value is not None])
        rows = rows.where(is_one | column.isNull() if None in values else is_one)
    return rows
