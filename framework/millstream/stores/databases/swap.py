"""Replaces the rows of a table in a database, once."""

from __future__ import annotations

from millstream.core.node_id import NodeId
from millstream.queries.values import TableOutput
from millstream.stores.databases.dialect import Connection, Dialect
from millstream.stores.databases.schema import DatabaseSchema
from millstream.stores.databases.sql import write_sql
from millstream.stores.databases.table import BATCHES, forget_records, table_name


def swap_tables(schema: DatabaseSchema, new: TableOutput, table: TableOutput) -> None:
    """Replace the rows of `table` by those of `new`, with its recorded batches, and drop `new`.

    Where a change of tables ends a transaction, a kill can leave the rows without their recorded batches.
    Then the next attempt finds these, since the swap is repeated before anything else writes the table.
    """
    dialect = schema.dialect
    with dialect.open(schema) as connection:
        columns = dialect.columns(connection, table_name(new))
        if columns:
            same = columns == dialect.columns(connection, table_name(table)) and (
                dialect.unique_keys(connection, table_name(new))
                == dialect.unique_keys(connection, table_name(table))
            )
            dialect.swap(connection, table_name(new), table_name(table), same_shape=same)
        elif not _is_recorded(dialect, connection, new.model):
            return  # an earlier attempt did it
        for records in forget_records(dialect, connection, table.model):
            text = "update {records} set relation = %s where relation = %s"
            connection.execute(write_sql(text, records=records), (table.model, new.model))


def copy_table(schema: DatabaseSchema, table: TableOutput, to: TableOutput) -> None:
    dialect = schema.dialect
    with dialect.open(schema) as connection:
        if not dialect.columns(connection, table_name(table)):
            return
        dialect.copy(connection, table_name(table), table_name(to))
        for records in forget_records(dialect, connection, to.model):
            others = [name for name in dialect.columns(connection, records) if name != "relation"]
            text = (
                "insert into {records} (relation, {others}) select %s, {others} from {records}"
                " where relation = %s"
            )
            connection.execute(write_sql(text, records=records, others=others), (to.model, table.model))


def _is_recorded(dialect: Dialect, connection: Connection, relation: NodeId) -> bool:
    if not dialect.columns(connection, BATCHES):
        return False
    text = write_sql("select 1 from {batches} where relation = %s limit 1", batches=BATCHES)
    return connection.execute(text, (relation,)).fetchone() is not None
