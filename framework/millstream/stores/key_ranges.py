"""Conditions on the range of few keys, by which Spark reads only files that can have one of them.

Delta and Parquet know the least and the greatest value of each column of a file; which keys a join looks for
is only known while it runs. Keys of new rows are often close to each other: identifiers and days that grow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import ByteType, DataType, DateType, IntegerType, LongType, ShortType, StringType

from millstream.core.expressions import quote_name, sql_literal

_TYPES = (StringType(), ByteType(), ShortType(), IntegerType(), LongType(), DateType())
"""The types whose values Python compares as Spark does: strings by their letters' code points."""
_UNKNOWN = "\ufffd"
"""What bytes that are no UTF-8 are in Python; Spark compares the bytes."""


def key_ranges(rows: DataFrame, names: Mapping[str, str], types: Mapping[str, DataType]) -> Sequence[str]:
    """Return conditions, as SQL, that all rows with one of the keys meet; `rows` are in the driver.

    `names` are the columns of the keys by how the other rows call them, and `types` the other rows' types.
    """
    row_types = {field.name.lower(): field.dataType for field in rows.schema}
    keys = {
        name: key.lower()
        for name, key in names.items()
        if row_types[key.lower()] == types[name] and row_types[key.lower()] in _TYPES
    }
    if not keys:
        return []
    key_rows = rows.selectExpr(
        *(_comparable(quote_name(key), row_types[key]) for key in keys.values())
    ).collect()
    columns = {name: [row[index] for row in key_rows] for index, name in enumerate(keys)}
    return [
        _range(name, row_types[keys[name]], values)
        for name, values in columns.items()
        if not any(isinstance(value, str) and _UNKNOWN in value for value in values)
    ]


def _comparable(key: str, kind: DataType) -> str:
    # Python has no dates after the year 9999.
    return f"unix_date({key})" if kind == DateType() else key


def _range(name: str, kind: DataType, key_values: Sequence[str | int | None]) -> str:
    values = [value for value in key_values if value is not None]
    is_null = f"{name} is null"
    if not values:
        return is_null if key_values else "false"
    least, greatest = (_literal(choose(values), kind) for choose in (min, max))
    between = f"{name} between {least} and {greatest}"
    return f"({between} or {is_null})" if len(values) < len(key_values) else between


def _literal(value: str | int, kind: DataType) -> str:
    if isinstance(value, str):
        return sql_literal(value)
    return (
        f"date_from_unix_date({value})" if kind == DateType() else f"cast({value} as {kind.simpleString()})"
    )
