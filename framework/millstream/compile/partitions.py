"""Checks partitions that are computed of a column, such as `day(at)`."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.errors import WrongOption
from millstream.core.types import DATE, INTEGERS, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type
from millstream.outputs.kinds import Table
from millstream.outputs.partitions import NUMBERED, TIMES, Partition, parse_partition
from millstream.plan.from_sql.catalog import ModelSpec
from millstream.stores.declaration import StoreDeclaration

_POINTS = (TIMESTAMP, TIMESTAMP_NTZ)
_TRANSFORMS = "write one of year(at), month(at), day(at), hour(at), bucket(16, id) and truncate(4, id)"


def wrong_partitions(spec: ModelSpec, table: Table, store: StoreDeclaration) -> Iterator[WrongOption]:
    """Yield computed partitions that the store, or the type of their column, does not allow."""
    types = {column.name.lower(): column.type for column in spec.columns}
    for text in table.partition_by:
        partition = parse_partition(text)
        if not partition.transform or (type_ := types.get(partition.column.lower())) is None:
            continue
        if (wrong := _wrong_call(partition) or _wrong_store(partition, type_, store)) is not None:
            yield WrongOption("MS632", *wrong, "partition_by")
        elif (remedy := _wrong_type(partition, type_)) is not None:
            message = f"'{partition}' can't be computed of '{partition.column}', which is of type {type_}"
            yield WrongOption("MS632", message, remedy, "partition_by")


def _wrong_call(partition: Partition) -> tuple[str, str] | None:
    name = partition.transform
    if name not in (*TIMES, *NUMBERED):
        return f"'{name}' does not make partitions", _TRANSFORMS
    if name in NUMBERED and not partition.number:
        example = f"{name}({16 if name == 'bucket' else 4}, {partition.column})"
        return f"'{partition}' needs a number greater than 0", f"write {example}"
    if name in TIMES and partition.number:
        return f"'{partition}' has a number", f"write {name}({partition.column})"
    return None


def _wrong_store(partition: Partition, type_: Type, store: StoreDeclaration) -> tuple[str, str] | None:
    if store.transforms:
        return None
    column = partition.column
    computed = {
        "year": f"year({column})",
        "month": f"trunc({column}, 'month')",
        "day": f"cast({column} as date)",
        "hour": f"hour({column})",
        "bucket": f"pmod(hash({column}), {partition.number})",
        "truncate": f"substring({column}, 1, {partition.number})"
        if type_ == STRING
        else f"{column} - pmod({column}, {partition.number})",
    }[partition.transform]
    name = f"{column}_{partition.transform}"
    message = f"a table in {store.title} has partitions of columns, not of '{partition}'"
    return message, f"select {computed} as {name}, and set partition_by='{name}'; or set store='iceberg'"


def _wrong_type(partition: Partition, type_: Type) -> str | None:
    """Return the remedy if a partition can't be computed of a type."""
    if partition.transform in TIMES:
        if type_ in _POINTS or (type_ == DATE and partition.transform != "hour"):
            return None
        return "name a column with a timestamp" + ("" if partition.transform == "hour" else " or a date")
    if type_ in (*INTEGERS, STRING) or (partition.transform == "bucket" and type_ in (DATE, *_POINTS)):
        return None
    return "name a column with a text or a whole number"
