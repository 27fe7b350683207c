"""Conditions on the range of few keys, by which Spark reads only files that can have one of them.

Delta and Parquet know the least and the greatest value of each column of a file; which keys a join looks for
is only known while it runs. Keys of new rows are often close to each other: identifiers and days that grow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.types import ByteType, DataType, DateType, IntegerType, LongType, ShortType, StringType

from millstream.expressions import literal, quoted

_TYPES = (StringType(), ByteType(), ShortType(), IntegerType(), LongType(), DateType())
"""The types whose values Python compares as Spark does: strings by their letters' code points."""
_UNKNOWN = "\ufffd"
"""What bytes that are no UTF-8 are in Python; Spark compares the bytes."""


def key_ranges(rows: DataFrame, names: Mapping[str, str], types: Mapping[str, DataType]) -> Sequence[str]:
    """Return conditions, as SQL, that all rows with one of the keys meet; `rows` are in the driver.

    `names` are the columns of the keys by how the other rows call them, and `types` the other rows' types.
    """
    own = {field.name.lower(): field.dataType for field in rows.schema}
    known = {
        name: key.lower()
        for name, key in names.items()
        if own[key.lower()] == types[name] and own[key.lower()] in _TYPES
    }
    if not known:
        return []
    found = rows.selectExpr(*(_comparable(quoted(key), own[key]) for key in known.values())).collect()
    columns = {name: [row[index] for row in found] for index, name in enumerate(known)}
    return [
        _range(name, own[known[name]], values)
        for name, values in columns.items()
        if not any(isinstance(value, str) and _UNKNOWN in value for value in values)
    ]


def _comparable(key: str, kind: DataType) -> str:
    # Python has no dates after the year 9999.
    return f"unix_date({key})" if kind == DateType() else key


def _range(name: str, kind: DataType, found: Sequence[str | int | None]) -> str:
    values = [value for value in found if value is not None]
    is_null = f"{name} is null"
    if not values:
        return is_null if found else "false"
    least, greatest = (_literal(choose(values), kind) for choose in (min, max))
    between = f"{name} between {least} and {greatest}"
    return f"({between} or {is_null})" if len(values) < len(found) else between


def _literal(value: str | int, kind: DataType) -> str:
    if isinstance(value, str):
        return literal(value)
    return (
        f"date_from_unix_date({value})" if kind == DateType() else f"cast({value} as {kind.simpleString()})"
    )
