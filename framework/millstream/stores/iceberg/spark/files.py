"""The files of an Iceberg table: Spark writes and reads them as Parquet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct
from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.expressions import quote_name
from millstream.core.iceberg_schemas import ddl_of
from millstream.core.types import BOOLEAN, INTEGERS, STRING, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, Type
from millstream.plan.nodes import Column
from millstream.stores.iceberg.spark.address import java_of
from millstream.stores.iceberg.spark.partitions import partition_values, stored_partitions, value_type
from millstream.stores.iceberg.spark.table import MAPPING, iceberg, stored_columns
from millstream.stores.parquet_files import WRITING, exact_path
from millstream.stores.session_settings import use_settings

_PARTITION = "millstream_partition_"
"""The folders of partitions: copies of the columns, so that files have all columns."""
_NULL = "__HIVE_DEFAULT_PARTITION__"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class StoredFile(Struct, frozen=True, eq=False):
    path: str
    size: int
    java: Any
    """Iceberg's DataFile."""

    @property
    def name(self) -> str:
        """The path below the table's `data` folder, which does not depend on how the storage is named."""
        return self.path.rpartition("/data/")[2]


def write_files(rows: DataFrame, table: Any, folder: str) -> list[StoredFile]:
    """Write rows to a folder of a table's data, and return its files, which still have to be committed.

    What an earlier attempt has written to the folder goes.
    """
    session, path = rows.sparkSession, f"{table.location()}/data/{folder}"
    types = {name.lower(): type_ for name, type_ in stored_columns(session, table)}
    rows = rows.select(
        *(
            f.col(quote_name(n)).cast(str(types[n.lower()])).alias(n)
            for n in rows.columns
            if n.lower() in types
        )
    )
    partitions = {f"{_PARTITION}{i}": partition for i, partition in enumerate(stored_partitions(table))}
    value_types = [
        value_type(partition, types[partition.column.lower()]) for partition in partitions.values()
    ]
    values = zip(partitions, partition_values(session, table, types), value_types, strict=True)
    copies = [_folder_name(value, type_).alias(copy) for copy, value, type_ in values]
    writer = rows.select("*", *copies).write.mode("overwrite").option("partitionOverwriteMode", "static")
    with use_settings(session, WRITING):
        writer.partitionBy(*partitions).parquet(path)
    return list(_written(session, table, path, value_types))


def files_of_table(table: Any, snapshot: int | None = None) -> list[StoredFile]:
    """Return the files of a snapshot, or of the newest one."""
    files = []
    scan = table.newScan()
    tasks = (scan if snapshot is None else scan.useSnapshot(snapshot)).planFiles()
    try:
        iterator = tasks.iterator()
        while iterator.hasNext():
            task = iterator.next()
            if task.deletes().size():
                message = f"another program has marked rows of the table at {table.location()} as deleted"
                remedy = "rewrite its files there, and set write.delete.mode to 'copy-on-write'"
                raise MillstreamError(Diagnostic("MS625", message, None, remedy))
            file = task.file()
            files.append(StoredFile(str(file.location()), int(file.fileSizeInBytes()), file))
    finally:
        tasks.close()
    return files


def read_files(
    session: SparkSession, table: Any, files: Iterable[StoredFile], schema: Any = None
) -> DataFrame:
    """Return the rows of some files, with the columns that Spark knows, of a schema or of the newest one."""
    stored = stored_columns(session, table, schema)
    columns = [(name, type_) for name, type_ in stored if type_ != UNKNOWN]
    paths = [exact_path(file.path) for file in files]
    if not paths:
        return session.createDataFrame([], ddl_of(columns))
    return session.read.schema(ddl_of(columns)).parquet(*paths)


def read_rows(session: SparkSession, table: Any, columns: Iterable[Column] = ()) -> DataFrame:
    """Return the rows of the newest version, with those of `columns` that it has; all if there are none."""
    return selected_rows(read_files(session, table, files_of_table(table)), columns)


def selected_rows(rows: DataFrame, columns: Iterable[Column]) -> DataFrame:
    """Return rows with those of `columns` that they have, with their types; all if there are none."""
    stored = {name.lower() for name in rows.columns}
    selected = [
        f.col(quote_name(column.name)).cast(str(column.type)).alias(column.name)
        for column in columns
        if column.name.lower() in stored
    ]
    return rows.select(*selected) if selected else rows


def files_with(rows: DataFrame, files: Sequence[StoredFile]) -> list[StoredFile]:
    """Return which files some rows are in; `rows` are of `read_files`, with a column `_file`."""
    names = {unquote(row[0]).rpartition("/data/")[2] for row in rows.select("_file").distinct().collect()}
    return [file for file in files if file.name in names]


def with_file(rows: DataFrame) -> DataFrame:
    return rows.withColumn("_file", f.col("_metadata.file_path"))


def _folder_name(column: SparkColumn, type_: Type) -> SparkColumn:
    """Return a value as the name of a folder, from which the value can be read again."""
    if type_ == STRING:
        return f.concat(f.lit("_"), column)  # the folder of an empty text would be that of NULL
    if type_ == TIMESTAMP:
        return f.unix_micros(column)
    if type_ == TIMESTAMP_NTZ:
        return f.timestamp_diff("MICROSECOND", f.lit("1970-01-01").cast("timestamp_ntz"), column)
    return column.cast("string")


def _written(
    session: SparkSession, table: Any, path: str, partition_types: Sequence[Type]
) -> Iterator[StoredFile]:
    ib, java = iceberg(session), java_of(session)
    mapping = ib.mapping.NameMappingParser.fromJson(table.properties().get(MAPPING))
    config, spec = ib.MetricsConfig.forTable(table), table.spec()
    folder = java.org.apache.hadoop.fs.Path(path)
    system = folder.getFileSystem(session._jsc.hadoopConfiguration())  # noqa: SLF001
    qualified, statuses = str(system.makeQualified(folder).toString()), system.listFiles(folder, True)
    while statuses.hasNext():
        status = statuses.next()
        name = str(status.getPath().toString())
        if not name.endswith(".parquet"):
            continue
        location = path + name.removeprefix(qualified)
        file = table.io().newInputFile(location, status.getLen())
        metrics = ib.parquet.ParquetUtil.fileMetrics(file, config, mapping)
        if not metrics.recordCount():
            continue
        builder = ib.DataFiles.builder(spec).withInputFile(file).withFormat("PARQUET").withMetrics(metrics)
        if partition_types:
            values = _partition_json(spec, location, partition_types)
            builder = builder.withPartition(ib.SingleValueParser.fromJson(spec.partitionType(), values))
        yield StoredFile(location, int(status.getLen()), builder.build())


def _partition_json(spec: Any, path: str, types: Sequence[Type]) -> str:
    """Return the values of a file's partition, by the ids of their fields, as Iceberg writes them in JSON."""
    texts = re.findall(rf"{_PARTITION}\d+=([^/]*)", path)
    fields = spec.partitionType().fields()
    values = {
        str(field.fieldId()): None if text == _NULL else _json_value(unquote(text), type_)
        for field, text, type_ in zip(fields, texts, types, strict=True)
    }
    return msgspec.json.encode(values).decode()


def _json_value(text: str, type_: Type) -> Any:
    if type_ == STRING:
        return text[1:]
    if type_ == BOOLEAN:
        return text == "true"
    if type_ in INTEGERS:
        return int(text)
    if type_ in {TIMESTAMP, TIMESTAMP_NTZ}:
        time = (_EPOCH + timedelta(microseconds=int(text))).isoformat()
        return time if type_ == TIMESTAMP else time.removesuffix("+00:00")
    return float(text) if str(type_) in {"float", "double"} else text
