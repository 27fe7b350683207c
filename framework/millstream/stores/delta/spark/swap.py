"""Replaces the rows of a Delta table in one transaction: readers see all changes or none."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.core.expressions import quoted
from millstream.core.types import has_equality
from millstream.queries.values import TableOutput
from millstream.stores.delta.spark import small
from millstream.stores.delta.spark.table import (
    create,
    exists,
    leave,
    newest,
    once,
    rows,
    share,
    table_at,
    write_newest,
)


def swap(session: SparkSession, table: TableOutput, new: str, path: str, *, app: str, changes: bool) -> None:
    """Replace the rows of the table at `path` by those at `new`; a repeated call changes nothing."""
    if not exists(session, new):
        return  # removed after an earlier attempt
    app = f"{app}/swap"
    if exists(session, path):
        old, rebuilt = small.opened(session, table, path), small.opened(session, table, new)
        if old is not None and rebuilt is not None and small.can_swap(old, rebuilt, table, changes=changes):
            small.swap(old, rebuilt, table, app=app)
            return
    if table.options.get("retention") and (newest_time := newest(session, table, new)) is not None:
        write_newest(session, path, newest_time)
    if _can_merge(session, table, path, changes=changes):
        create(session, table, path, changes=changes)
        with once(session, app, 0):
            session.sql(swap_sql(table, new, path))
        return
    leave(session, path)  # what has statistics may go
    with once(session, app, 0):
        selected = rows(session, new).select(*(quoted(column.name) for column in table.columns))
        selected.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    share(session, table, path)


def copy(session: SparkSession, table: TableOutput, path: str, to: str) -> None:
    if not exists(session, path):
        return
    if not exists(session, to) and (delta_table := small.opened(session, table, path)) is not None:
        small.copy(delta_table, table, to)
        return
    writer = rows(session, path).write.format("delta").mode("overwrite")
    writer.option("overwriteSchema", "true").save(to)


def swap_sql(table: TableOutput, new: str, path: str) -> str:
    """Return a MERGE that only touches rows that differ, so that the change feed has nothing else."""
    names = [quoted(column.name) for column in table.columns]
    on = " and ".join(f"old.{quoted(key)} <=> new.{quoted(key)}" for key in table.keys)
    differs = ""
    if all(has_equality(column.type) for column in table.columns):
        same = " and ".join(f"old.{name} <=> new.{name}" for name in names)
        differs = f" and not ({same})"
    values = ", ".join(f"new.{name}" for name in names)
    lines = (
        f"merge into {table_at(path)} as old",
        f"using {table_at(new)} as new",
        f"on {on}",
        f"when matched{differs} then update set {', '.join(f'{n} = new.{n}' for n in names)}",
        f"when not matched then insert ({', '.join(names)}) values ({values})",  # noqa: S608 -- quoted names
        "when not matched by source then delete",
    )
    return "\n".join(lines)


def _can_merge(session: SparkSession, table: TableOutput, path: str, *, changes: bool) -> bool:
    """Whether the stored table can stay as it is, but for new columns.

    Removing a column means replacing the whole table, after which no query can continue to read its changes.
    So if some queries do, the column stays, without new values.
    """
    if not exists(session, path):
        return True
    stored = {field.name.lower(): field for field in rows(session, path).schema.fields}
    columns = {column.name.lower(): column for column in table.columns}
    return (changes or stored.keys() <= columns.keys()) and all(
        stored[name].dataType == type(stored[name].dataType).fromDDL(str(column.type))
        for name, column in columns.items()
        if name in stored
    )
