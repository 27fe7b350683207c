"""The project's Python functions in a Spark session, callable from SQL by their names."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # added in 4.1
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from millstream.physical.emit.error_places import LOCATED
from millstream.physical.python_calls import GUARDED
from millstream.project.values import Function, Project
from millstream.runner.python import worker
from millstream.types import Array, Map, Row, Simple

# A cluster's workers need not have Millstream: its part of a call is sent to them.
cloudpickle.register_pickle_by_value(worker)  # type: ignore[no-untyped-call]


def register(
    session: SparkSession, project: Project, names: Iterable[str], within: Container[str] = ()
) -> None:
    """Make functions known to a session: by their names, and in the forms that queries call.

    Spark may call a function that it takes for deterministic twice for a row, or for rows that a later filter
    drops; so it is told that none is, but for those `within` an aggregate or the condition of a join, where
    it allows no others. A row on which one fails stops the query, unless a fan-out calls it.
    """
    for name in names:
        function = project.functions[name]
        if function.keyed:
            continue  # called by a step of its own
        source, nested = source_of(project, function), not _flat(function)
        given = _returned(function)
        arrow = to_arrow_type(DataType.fromDDL(given), timezone="UTC")
        plain = worker.plain_call(source, name, arrow, nested=nested)
        told = worker.told_call(source, name, arrow, nested=nested)
        guarded = worker.guarded_call(source, name, arrow, nested=nested)
        made = _udf(plain, given)
        session.udf.register(name, made if name in within else made.asNondeterministic())
        session.udf.register(f"{name}{LOCATED}", _udf(told, given).asNondeterministic())
        failing = _udf(guarded, f"struct<value:{given},error:string>")
        session.udf.register(f"{name}{GUARDED}", failing.asNondeterministic())


def _udf(call: Callable[..., Any], returns: str) -> Any:
    # Spark tells from the hints that it is to be called with Arrow's columns.
    call.__annotations__ = dict.fromkeys(call.__annotations__, pa.Array)
    return arrow_udf(call, returnType=returns)


def _returned(function: Function) -> str:
    """Return the type of a call: of a table function, an array of its rows."""
    return f"array<{function.returns}>" if function.table else str(function.returns)


def source_of(project: Project, function: Function) -> worker.Source:
    text = Path(project.root, function.path).read_text(encoding="utf-8")
    return worker.Source(function.path, text, function.digest)


def _flat(function: Function) -> bool:
    """Tell whether what a function returns is what Arrow takes."""
    if function.table:
        return False
    match function.returns:
        case Array() | Map() | Row() | Simple(name="timestamp" | "timestamp_ntz"):
            return False
        case _:
            return True
