"""Registers a project's Python functions in a Spark session, so that SQL can call them."""

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
from millstream.runner.python import fitting, worker

# Workers of a cluster need no Millstream: pickle sends them these modules.
for module in (worker, fitting):
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def register(
    session: SparkSession, project: Project, names: Iterable[str], within: Container[str] = ()
) -> None:
    """Register functions in a session: under their names, and in the forms that queries call.

    Spark may call a deterministic function twice for a row, or for rows that a later filter drops. So all are
    registered as non-deterministic, except those `within` an aggregate or a join condition, where Spark only
    allows deterministic ones. If a call fails, the query stops, unless the call is in a fan-out.
    """
    for name in names:
        function = project.functions[name]
        if function.keyed:
            continue  # a separate step calls it
        source = source_of(project, function)
        given = _returned(function)
        arrow = to_arrow_type(DataType.fromDDL(given), timezone="UTC")
        plain = worker.plain_call(source, name, arrow)
        located = worker.located_call(source, name, arrow)
        guarded = worker.guarded_call(source, name, arrow)
        udf = _udf(plain, given)
        session.udf.register(name, udf if name in within else udf.asNondeterministic())
        session.udf.register(f"{name}{LOCATED}", _udf(located, given).asNondeterministic())
        failing = _udf(guarded, f"struct<value:{given},error:string>")
        session.udf.register(f"{name}{GUARDED}", failing.asNondeterministic())


def _udf(call: Callable[..., Any], returns: str) -> Any:
    # Spark decides by the type hints to call it with Arrow arrays.
    call.__annotations__ = dict.fromkeys(call.__annotations__, pa.Array)
    return arrow_udf(call, returnType=returns)


def _returned(function: Function) -> str:
    """Return the type of a call; a table function returns an array of its rows."""
    return f"array<{function.returns}>" if function.table else str(function.returns)


def source_of(project: Project, function: Function) -> worker.Source:
    text = Path(project.root, function.path).read_text(encoding="utf-8")
    return worker.Source(function.path, text, function.digest)
