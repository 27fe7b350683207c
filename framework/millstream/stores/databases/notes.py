"""The notes of maintained tables: what the rows reflect (see `stores.spark.SparkTables.note`)."""

from __future__ import annotations

from millstream.queries.values import TableOutput
from millstream.stores.databases.dialect import Connection, Dialect
from millstream.stores.databases.schema import DatabaseSchema
from millstream.stores.databases.sql import write_sql
from millstream.stores.databases.table import BATCHES, NOTES


def read_note(schema: DatabaseSchema, table: TableOutput, writer: str) -> tuple[int, bytes | None]:
    """Return the number of the writer's last batch, -1 if there is none, and the note with this number."""
    text = (
        "select b.batch, n.content from {batches} b"
        " left join {notes} n on n.relation = b.relation and n.number = b.batch"
        " where b.query = %s and b.relation = %s"
    )
    with schema.dialect.open(schema) as connection:
        _create_notes(schema.dialect, connection)
        row = connection.execute(
            write_sql(text, batches=BATCHES, notes=NOTES), (writer, table.model)
        ).fetchone()
    return (-1, None) if row is None else (int(row[0]), row[1])


def write_note(schema: DatabaseSchema, table: TableOutput, number: int, content: bytes) -> None:
    """Store a note; the one of the number before still counts until a batch of this number is stored."""
    remove = "delete from {notes} where relation = %s and (number = %s or number < %s - 1)"
    store = "insert into {notes} (relation, number, content) values (%s, %s, %s)"
    with schema.dialect.open(schema) as connection:
        connection.execute(write_sql(remove, notes=NOTES), (table.model, number, number))
        connection.execute(write_sql(store, notes=NOTES), (table.model, number, content))


def _create_notes(dialect: Dialect, connection: Connection) -> None:
    """Create the table of notes, which only maintained tables need, if it does not exist."""
    if not dialect.columns(connection, NOTES):
        dialect.lock(connection)
        text = (
            "create table if not exists {notes} (relation {name}, number bigint, content {content} not null,"
            " primary key (relation, number)){options}"
        )
        types, options = dialect.record_types, dialect.table_options(connection)
        connection.execute(
            write_sql(text, notes=NOTES, name=types.name, content=types.content, options=options), ()
        )
