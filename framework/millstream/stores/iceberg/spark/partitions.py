"""The partitions of an Iceberg table: their values are computed by Spark, as Iceberg's specification says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column as SparkColumn
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from millstream.core.expressions import quote_name
from millstream.core.types import DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type
from millstream.outputs.partitions import Partition, parse_partition
from millstream.queries.values import TableOutput

_DAY, _HOUR = 86_400_000_000, 3_600_000_000
"""In microseconds."""
_NUMBERED = re.compile(r"(bucket|truncate)\[(\d+)\]")


def model_partitions(output: TableOutput) -> list[Partition]:
    return [parse_partition(text) for text in output.options.get("partition_by") or ()]


def stored_partitions(table: Any) -> list[Partition]:
    """Return the partitions of new files."""
    return [
        _partition(table.schema().findColumnName(field.sourceId()), str(field.transform().toString()))
        for field in table.spec().fields()
    ]


def _partition(column: str, transform: str) -> Partition:
    if transform == "identity":
        return Partition(column)
    if numbered := _NUMBERED.fullmatch(transform):
        return Partition(column, numbered[1], int(numbered[2]))
    return Partition(column, transform)


def with_partition(spec: Any, partition: Partition) -> Any:
    """Add a partition to the builder of a new table's partitions."""
    add = getattr(spec, partition.transform or "identity")
    return add(partition.column, partition.number) if partition.number else add(partition.column)


def partition_term(expressions: Any, partition: Partition) -> Any:
    """Return a partition, for a change of a table's partitions."""
    term = getattr(expressions, partition.transform or "ref")
    return term(partition.column, partition.number) if partition.number else term(partition.column)


def value_type(partition: Partition, type_: Type) -> Type:
    """Return the type of a partition's values; `type_` is that of its column."""
    if partition.transform in {"year", "month", "hour", "bucket"}:
        return INT
    return DATE if partition.transform == "day" else type_


def partition_value(session: SparkSession, partition: Partition, type_: Type) -> SparkColumn:
    """Return the partition of a row."""
    column = quote_name(partition.column)
    match partition.transform:
        case "":
            return f.col(column)
        case "year":
            return f.expr(f"year({_date(column, type_)}) - 1970")
        case "month":
            date = _date(column, type_)
            return f.expr(f"(year({date}) - 1970) * 12 + month({date}) - 1")
        case "day":
            return f.expr(_date(column, type_))
        case "hour":
            return f.expr(f"cast({_floored(_micros(column, type_), _HOUR)} as int)")
        case "truncate" if type_ == STRING:
            return f.expr(f"substring({column}, 1, {partition.number})")
        case "truncate":
            return f.expr(f"cast({column} - pmod({column}, {partition.number}) as {type_})")
        case "bucket":
            return f.pmod(
                _hash(session, _hashed(column, type_)).bitwiseAND(0x7FFFFFFF), f.lit(partition.number)
            )
        case other:
            raise NotImplementedError(f"another program has partitions by {other}")


def partition_values(session: SparkSession, table: Any, types: dict[str, Type]) -> list[SparkColumn]:
    """Return the partition of a row, by each field; `types` are those of columns, by lower case names."""
    return [
        partition_value(session, partition, types[partition.column.lower()])
        for partition in stored_partitions(table)
    ]


def _date(column: str, type_: Type) -> str:
    """Return the SQL of the day in UTC."""
    if type_ == DATE:
        return column
    return f"date_from_unix_date(cast({_floored(_micros(column, type_), _DAY)} as int))"


def _micros(column: str, type_: Type) -> str:
    if type_ == TIMESTAMP_NTZ:
        return f"timestampdiff(microsecond, timestamp_ntz'1970-01-01', {column})"
    return f"unix_micros({column})"


def _floored(number: str, divisor: int) -> str:
    return f"(({number} - pmod({number}, {divisor})) div {divisor})"


def _hashed(column: str, type_: Type) -> SparkColumn:
    """Return what Iceberg hashes of a value: eight bytes of a number, or those of a text."""
    if type_ == STRING:
        return f.expr(f"cast({column} as binary)")
    if type_ in {TIMESTAMP, TIMESTAMP_NTZ}:
        return f.expr(_micros(column, type_))
    return f.expr(f"unix_date({column})" if type_ == DATE else column).cast("bigint")


def _hash(session: SparkSession, hashed: SparkColumn) -> SparkColumn:
    """Call Iceberg's own hash, which Spark's SQL does not have: its functions hash texts in another way."""
    java: Any = session._jvm  # noqa: SLF001 -- PySpark has no API for this
    spark = java.org.apache.spark.sql
    loader = java.java.lang.Thread.currentThread().getContextClassLoader()  # it knows Spark's jars
    empty: Sequence[Any] = ()
    invoked = spark.catalyst.expressions.objects.StaticInvoke(
        loader.loadClass("org.apache.iceberg.util.BucketUtil"),
        spark.types.DataTypes.IntegerType,
        "hash",
        _seq(java, [spark.classic.ExpressionUtils.expression(hashed._jc)]),  # noqa: SLF001
        _seq(java, empty),
        True,  # NULL has no bucket
        True,
        True,
        java.scala.Option.empty(),
    )
    return SparkColumn(spark.classic.ExpressionUtils.column(invoked))


def _seq(java: Any, items: Sequence[Any]) -> Any:
    return java.PythonUtils.toSeq(list(items))
