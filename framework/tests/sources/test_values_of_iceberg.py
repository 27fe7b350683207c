"""Values and deleted rows of Iceberg tables as Spark reads them; Iceberg's Java library deletes the rows."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.types import StructType
from support.iceberg_events import NULLS, ROW, TYPES, Events
from support.spark import SPARK_WARNINGS

from millstream.sources.iceberg.snapshots import (
    ReadColumn,
    TableAddress,
    TableProblemError,
    everything,
    load_table,
    newest,
)
from millstream.sources.iceberg.spark.reader import DELETED, POSITION, TableRead, data_source
from millstream.stores.iceberg.spark.address import InFolder
from millstream.stores.iceberg.spark.table import iceberg

pytestmark = SPARK_WARNINGS

PAIR = {"id": "bigint", "text": "string"}


def read_of(events, keys=()):
    schema = events.static().schema()
    columns = [ReadColumn(field.name, field.field_id, str(field.field_type)) for field in schema.fields]
    return TableRead(TableAddress("lake.events", str(events.path)), columns, keys)


def end(events):
    return newest(load_table(TableAddress("lake.events", str(events.path))))


def delete(events, name, values, **column):
    """Let a file of deleted rows be in the table: positions in its data file, or values of a column."""
    table = InFolder(events.spark, str(events.path)).load()
    file = events.path / "data" / name
    columns = {
        column_name: pa.field(column_name, type_, metadata={"PARQUET:field_id": id_})
        for column_name, (type_, id_) in column.items()
    }
    pq.write_table(pa.table(values, pa.schema(list(columns.values()))), file)
    builder = iceberg(events.spark).FileMetadata.deleteFileBuilder(table.spec())
    if "pos" in column:
        builder = builder.ofPositionDeletes()
    else:
        gateway = events.spark.sparkContext._gateway
        ids = gateway.new_array(gateway.jvm.int, 1)
        ids[0] = int(column["id"][1])
        builder = builder.ofEqualityDeletes(ids)
    builder = builder.withPath(str(file)).withFormat("PARQUET").withFileSizeInBytes(file.stat().st_size)
    table.newRowDelta().addDeletes(builder.withRecordCount(len(values)).build()).commit()


def mark(events, row):
    """Delete the row with this number in the only file of rows."""
    (task,) = events.static().scan().plan_files()
    values = {"file_path": [task.file.file_path], "pos": [row]}
    delete(
        events,
        f"deleted{row}.parquet",
        values,
        file_path=(pa.string(), "2147483546"),
        pos=(pa.int64(), "2147483545"),
    )


def changes(events, start, finish):
    """Return the changes between two positions."""
    schema = StructType.fromDDL(f"id bigint, text string, {POSITION} bigint, {DELETED} boolean")
    stream = data_source("events", read_of(events, ["id"]))({}).streamReader(schema)
    parts = stream.partitions(start, finish)
    return [tuple(row.values()) for part in parts for batch in stream.read(part) for row in batch.to_pylist()]


def test_values_of_all_types(spark, tmp_path):
    events = Events(spark, tmp_path)
    events.batch(0, ROW, NULLS)
    spark.dataSource.register(data_source("events", read_of(events)))
    ddl = ", ".join(f"{name} {type_}" for name, type_ in (TYPES | {"small": "int"}).items())
    beginning = everything(load_table(TableAddress("lake.events", str(events.path))))
    options = {"start": json.dumps(beginning), "end": json.dumps(end(events))}
    read = spark.read.format("events").schema(ddl).options(**options).load().orderBy("id").collect()
    assert read == events.frame(ROW, NULLS).orderBy("id").collect()
    options["start"] = options["end"]
    assert spark.read.format("events").schema(ddl).options(**options).load().collect() == []


def test_rows_that_are_deleted_by_position(spark, tmp_path):
    events = Events(spark, tmp_path, types=PAIR)
    events.batch(0, (1, "a"), (2, "b"), (3, "c"))
    first = end(events)
    mark(events, 0)
    second = end(events)
    mark(events, 2)
    assert changes(events, first, second) == [(1, "a", 4, True)]
    assert changes(events, second, end(events)) == [(3, "c", 6, True)]
    assert sorted(changes(events, first, end(events))) == [(1, "a", 6, True), (3, "c", 6, True)]
    beginning = everything(load_table(TableAddress("lake.events", str(events.path))))
    assert changes(events, beginning, end(events)) == [(2, "b", 7, False)]


def test_rows_that_are_deleted_by_equality_are_an_error(spark, tmp_path):
    events = Events(spark, tmp_path, types=PAIR)
    events.batch(0, (1, "a"), (2, "b"))
    first = end(events)
    delete(events, "deleted.parquet", {"id": [1]}, id=(pa.int64(), "1"))
    with pytest.raises(TableProblemError, match="are deleted by equality, as Flink does"):
        changes(events, first, end(events))
