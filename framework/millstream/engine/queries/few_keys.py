"""Conditions on the values of few keys, by which a database sends only the rows that can have them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import DateType, IntegerType, LongType, ShortType, StringType

from millstream.core.expressions import quote_name
from millstream.engine.queries.small_batches import EvaluatedBatch

_MOST = 1_000
_COMPARED = (StringType(), ShortType(), IntegerType(), LongType(), DateType())
"""The types of which Spark and databases find the same values equal."""


def with_few_keys(rows: DataFrame, keys: EvaluatedBatch, names: Sequence[str]) -> DataFrame:
    """Leave out rows that have none of the keys, as far as conditions on single columns can tell.

    `names` are the columns that are compared with those of `keys`, in this order.
    """
    if not keys.few or keys.count() > _MOST:
        return rows
    types = {field.name.lower(): field.dataType for field in rows.schema}
    key_rows = keys.rows.collect()
    for name, field in zip(names, keys.rows.schema, strict=True):
        if field.dataType not in _COMPARED or types[name.lower()] != field.dataType:
            continue
        values = {row[field.name] for row in key_rows}
        column = f.col(quote_name(name))
        is_one = column.isin([value for value in values if value is not None])
        rows = rows.where(is_one | column.isNull() if None in values else is_one)
    return rows
