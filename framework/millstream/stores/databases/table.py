"""Creates, extends and drops tables in databases."""

from __future__ import annotations

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.queries.commands import full_refresh
from millstream.queries.values import TableOutput
from millstream.stores.databases.dialect import Connection, Dialect
from millstream.stores.databases.schema import DatabaseSchema, stored_name
from millstream.stores.databases.sql import WrittenSql, write_sql

BATCHES = "millstream_batches"
"""The last batch that each query has stored in each table."""
NEWEST = "millstream_newest"
"""The newest time of each table that has a retention."""
NOTES = "millstream_notes"
"""What the rows of each maintained table reflect."""


def create_table(schema: DatabaseSchema, table: TableOutput) -> None:
    """Create the table, or add missing columns."""
    dialect = schema.dialect
    _check_names(dialect, table)
    types = {stored_name(column.name): column_type(dialect, table, column) for column in table.columns}
    try:
        with dialect.open(schema) as connection:
            dialect.lock(connection)
            dialect.create_schema(connection, schema)
            _create_batches(dialect, connection)
            existing = dialect.columns(connection, table_name(table))
            if not existing:
                _create_table(dialect, connection, table, types)
                return
            _check_key(dialect, connection, table)
            _check_types(dialect, table, existing)
            for name, kind in types.items():
                if name not in existing:
                    text = "alter table {table} add column {name} {kind}"
                    connection.execute(
                        write_sql(text, table=table_name(table), name=name, kind=WrittenSql(kind)), ()
                    )
    except dialect.error as error:
        name = table.model.shown_name
        message = f"{dialect.title} can't create the table '{name}': {dialect.reason(error)}"
        remedy = f"let the user create tables in schema '{schema.schema}', or use another schema"
        raise MillstreamError(Diagnostic("MS856", message, None, remedy)) from None


def drop_table(schema: DatabaseSchema, table: TableOutput) -> None:
    dialect = schema.dialect
    with dialect.open(schema) as connection:
        if dialect.columns(connection, table_name(table)):
            connection.execute(write_sql("drop table {table}", table=table_name(table)), ())
        forget_records(dialect, connection, table.model)


def forget_records(dialect: Dialect, connection: Connection, relation: NodeId) -> list[str]:
    """Delete what is recorded about a relation; return the tables of records that exist."""
    existing = [name for name in (BATCHES, NEWEST, NOTES) if dialect.columns(connection, name)]
    for name in existing:
        connection.execute(write_sql("delete from {name} where relation = %s", name=name), (relation,))
    return existing


def table_exists(schema: DatabaseSchema, table: TableOutput) -> bool:
    with schema.dialect.open(schema) as connection:
        return bool(schema.dialect.columns(connection, table_name(table)))


def has_rows(schema: DatabaseSchema, table: TableOutput) -> bool:
    with schema.dialect.open(schema) as connection:
        if not schema.dialect.columns(connection, table_name(table)):
            return False
        one = connection.execute(write_sql("select 1 from {table} limit 1", table=table_name(table)), ())
        return one.fetchone() is not None


def table_size(schema: DatabaseSchema, table: TableOutput) -> int:
    with schema.dialect.open(schema) as connection:
        return schema.dialect.size(connection, table_name(table))


def schema_tables(schema: DatabaseSchema) -> list[str]:
    """Return the tables of an environment, and what Millstream records about them."""
    with schema.dialect.open(schema, read_only=True) as connection:
        return schema.dialect.tables(connection, schema)


def drop_schema(schema: DatabaseSchema) -> None:
    assert schema.environment is not None, "only the schema of an environment is dropped"
    with schema.dialect.open(schema) as connection:
        schema.dialect.drop_schema(connection, schema)


def table_name(table: TableOutput) -> str:
    return stored_name(table.model.shown_name)


def column_type(dialect: Dialect, table: TableOutput, column: Column) -> str:
    """Return the database's type for one of Spark's."""
    if (kind := dialect.column_type(table, column)) is not None:
        return kind
    name = table.model.shown_name
    message = f"{dialect.title} has no type for column '{column.name}' of '{name}': {column.type}"
    remedy = f"cast it in the model, for example cast({column.name} as string)"
    raise MillstreamError(Diagnostic("MS851", message, None, remedy))


def _create_batches(dialect: Dialect, connection: Connection) -> None:
    # Without a permission to create tables, those that exist can be used.
    if not dialect.columns(connection, BATCHES):
        text = (
            "create table {batches} (query {name}, relation {name}, batch bigint not null,"
            " stored_at {time} not null, primary key (query, relation)){options}"
        )
        types, options = dialect.record_types, dialect.table_options(connection)
        connection.execute(
            write_sql(text, batches=BATCHES, name=types.name, time=types.time, options=options), ()
        )


def _create_table(
    dialect: Dialect, connection: Connection, table: TableOutput, types: dict[str, str]
) -> None:
    columns = [write_sql("{name} {kind}", name=name, kind=WrittenSql(kind)) for name, kind in types.items()]
    if table.keys:
        nullable = _has_null_keys(dialect, connection, table)
        columns.append(dialect.key_sql(connection, key_columns(table), nullable=nullable))
    text = "create table {table} ({columns}){options}"
    options = dialect.table_options(connection)
    connection.execute(write_sql(text, table=table_name(table), columns=columns, options=options), ())


def key_columns(table: TableOutput) -> list[str]:
    return [stored_name(key) for key in table.keys]


def deleting_columns(table: TableOutput) -> list[str]:
    """Return the columns whose values say which rows a deleted row deletes."""
    return [stored_name(name) for name in table.deleted_by]


def has_nullable_key(table: TableOutput) -> bool:
    keys = key_columns(table)
    return any(column.nullable for column in table.columns if stored_name(column.name) in keys)


def _has_null_keys(dialect: Dialect, connection: Connection, table: TableOutput) -> bool:
    return has_nullable_key(table) and dialect.holds_null_keys(connection)


def _check_key(dialect: Dialect, connection: Connection, table: TableOutput) -> None:
    """Refuse a table without a unique index over exactly the keys, which upserts need."""
    if table.appends:
        return
    indexes = dialect.unique_keys(connection, table_name(table))
    same = [index for index in indexes if index.columns == sorted(key_columns(table))]
    if same and (not _has_null_keys(dialect, connection, table) or any(index.holds_null for index in same)):
        return
    was = ", ".join(next((index.columns for index in indexes if index.holds_null or index.primary), []))
    table_in_message = f"the key of the table '{table.model.shown_name}'"
    if same:
        message = f"{table_in_message} can be NULL in the model, but not in {dialect.title}"
    else:
        now = ", ".join(table.keys)
        message = f"{table_in_message} is {was or 'none'} in {dialect.title}, but {now} in the model"
    raise MillstreamError(Diagnostic("MS853", message, None, _rebuild(table)))


def _check_types(dialect: Dialect, table: TableOutput, existing: dict[str, str]) -> None:
    for column in table.columns:
        was, now = existing.get(stored_name(column.name)), column_type(dialect, table, column)
        if was is not None and was != now:
            where = f"column '{column.name}' of the table '{table.model.shown_name}'"
            message = f"{where} has type {was} in {dialect.title}, but {now} in the model"
            raise MillstreamError(Diagnostic("MS852", message, None, _rebuild(table)))


def _check_names(dialect: Dialect, table: TableOutput) -> None:
    for name in (table.model.shown_name, *(column.name for column in table.columns)):
        length = len(name.encode()) if dialect.name_unit == "bytes" else len(name)
        if length > dialect.longest_name:
            longest = f"{dialect.title}'s {dialect.longest_name} {dialect.name_unit}"
            message = f"the name '{name}' is longer than {longest}"
            raise MillstreamError(Diagnostic("MS854", message, None, "shorten it"))


def _rebuild(table: TableOutput) -> str:
    return f"rebuild it: {full_refresh([table.model])}"
