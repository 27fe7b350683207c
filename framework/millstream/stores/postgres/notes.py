"""The notes of maintained tables: what the rows reflect (see `stores.spark.SparkTables.note`)."""

from __future__ import annotations

from psycopg import sql

from millstream.queries.values import TableOutput
from millstream.stores.postgres.connection import open_transaction
from millstream.stores.postgres.schema import PostgresSchema
from millstream.stores.postgres.table import BATCHES, NOTES, create_notes, table_name


def read_note(schema: PostgresSchema, table: TableOutput, writer: str) -> tuple[int, bytes | None]:
    """Return the number of the writer's last batch, -1 if there is none, and the note with this number."""
    text = (
        "select b.batch, n.content from {} b left join {} n on n.relation = b.relation and n.number = b.batch"
        " where b.query = %s and b.relation = %s"
    )
    with open_transaction(schema) as connection:
        create_notes(connection)
        row = connection.execute(sql.SQL(text).format(BATCHES, NOTES), (writer, table.model)).fetchone()
    return (-1, None) if row is None else (int(row[0]), row[1])


def write_note(schema: PostgresSchema, table: TableOutput, number: int, content: bytes) -> None:
    """Store a note; the one of the number before still counts until a batch of this number is stored."""
    store = (
        "insert into {} (relation, number, content) values (%s, %s, %s)"
        " on conflict (relation, number) do update set content = excluded.content"
    )
    with open_transaction(schema) as connection:
        connection.execute(sql.SQL(store).format(NOTES), (table.model, number, content))
        older = sql.SQL("delete from {} where relation = %s and number < %s - 1").format(NOTES)
        connection.execute(older, (table.model, number))


def table_size(schema: PostgresSchema, table: TableOutput) -> int:
    """Return the bytes of a table's rows."""
    with open_transaction(schema) as connection:
        name = table_name(table).as_string(connection)
        row = connection.execute("select pg_table_size(%s::regclass)", (name,)).fetchone()
    assert row is not None
    return int(row[0])
