"""Turns columns of Arrow into arguments of functions: the values of a type hint."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from millstream.core.user_code import arrow_converter, is_struct, struct_of

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class BrokenArgument(NamedTuple):
    """An argument whose class raised an error."""

    error: BaseException


def values_of(column: Any, hint: Any) -> list[Any]:
    """Return the values of a column; much faster than one by one for times and structs."""
    import pyarrow as pa

    kind, struct = column.type, struct_of(hint)
    if pa.types.is_struct(kind) and is_struct(struct):
        return _structs(column, struct)
    if pa.types.is_timestamp(kind) and kind.unit == "us" and struct is datetime:
        zone = kind.tz is not None
        start, step = (_EPOCH if zone else _EPOCH.replace(tzinfo=None)), timedelta
        micros = column.cast(pa.int64()).to_pylist()
        return [None if since_epoch is None else start + step(0, 0, since_epoch) for since_epoch in micros]
    if pa.types.is_date32(kind) and not column.null_count:
        dates: list[Any] = column.to_numpy(zero_copy_only=False).tolist()
        return dates
    values: list[Any] = column.to_pylist()
    convert = arrow_converter(hint)
    return [convert(value) for value in values] if convert else values


def _structs(column: Any, struct: Any) -> list[Any]:
    hints = typing.get_type_hints(struct, include_extras=True)
    names = [column.type.field(index).name for index in range(column.type.num_fields)]
    values = [values_of(part, hints.get(name)) for name, part in zip(names, column.flatten(), strict=True)]
    build = _builder(struct, names)
    if build is None and not column.null_count:
        try:
            return list(map(struct, *values))
        except BaseException:  # noqa: BLE001, S110 - below, each row has its own error
            pass
    build = build or (lambda row: struct(*row))
    built: list[Any] = []
    missing = column.is_null().to_pylist() if column.null_count else [False] * len(column)
    for row, is_missing in zip(zip(*values, strict=True), missing, strict=True):
        try:
            built.append(None if is_missing else build(row))
        except BaseException as error:  # noqa: BLE001 - whatever the user's class raises, also SystemExit
            built.append(BrokenArgument(error))
    return built


def _builder(struct: Any, names: list[str]) -> Callable[[tuple[Any, ...]], Any] | None:
    """Return what makes a struct of the values of its fields; None if the class itself does."""
    if typing.is_typeddict(struct):
        return lambda row: dict(zip(names, row, strict=True))
    if dataclasses.is_dataclass(struct):
        parameters = [f.name for f in dataclasses.fields(struct) if f.init and not f.kw_only]
    else:
        parameters = list(struct._fields)
    if parameters == names:
        return None
    return lambda row: struct(**dict(zip(names, row, strict=True)))
