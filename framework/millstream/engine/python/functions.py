"""Registers a project's Python functions in a Spark session, so that SQL can call them."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]  # added in 4.1
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from millstream.compile.native_functions import translate_function
from millstream.core import user_code
from millstream.core.expressions import quote_name
from millstream.core.user_code import SourceFile
from millstream.engine.python import columns, decoding, forwarding, worker
from millstream.engine.python import return_checks as fitting
from millstream.engine.python.forwarding import LogAddress
from millstream.engine.python.worker import SqlFunction
from millstream.engine.spark.jvm import own_class
from millstream.formats.format import DecodingCall
from millstream.formats.python import calling, checks
from millstream.formats.python.expected_types import expected_fields
from millstream.formats.sql import BAD, BAD_TYPE
from millstream.native import Translation
from millstream.project.batch_functions import TABLE
from millstream.project.contents import content_of
from millstream.project.values import Function, Project
from millstream.queries.emit.draft import LOCATED
from millstream.queries.python_calls import GUARDED
from millstream.stores.session_settings import takes_fast_paths

# Workers of a cluster need no Millstream: pickle sends them these modules.
for module in (calling, checks, columns, decoding, fitting, forwarding, user_code, worker):
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]


def register_functions(
    session: SparkSession,
    project: Project,
    names: Iterable[str],
    within: Container[str] = (),
    encoders: Container[str] = (),
    log: LogAddress | None = None,
) -> None:
    """Register functions in a session: under their names, and in the forms that queries call.

    Spark may call a deterministic function twice for a row, or for rows that a later filter drops. So all are
    registered as non-deterministic, except those `within` an aggregate or a join condition, where Spark only
    allows deterministic ones. If a call fails, the query stops, unless the call is in a fan-out. `encoders`
    encode records, and keys of NULL remain NULL. What they log is sent to `log`.
    """
    for name in names:
        function = project.functions[name]
        if function.keyed or function.batches:
            continue  # a separate step calls it, or what delivers the rows
        source = source_of(project, function)
        returned_type = _returned(function)
        arrow = to_arrow_type(DataType.fromDDL(returned_type), timezone="UTC")
        called = SqlFunction(source, name, arrow, name in encoders, log, os.getpid())
        udf = _udf(worker.plain_call(called), returned_type)
        session.udf.register(name, udf if name in within else udf.asNondeterministic())
        session.udf.register(
            f"{name}{LOCATED}", _udf(worker.located_call(called), returned_type).asNondeterministic()
        )
        failing = _udf(worker.guarded_call(called), f"struct<value:{returned_type},error:string>")
        session.udf.register(f"{name}{GUARDED}", failing.asNondeterministic())
        if name in encoders or not takes_fast_paths(session):
            continue
        native = translate_function(function, source.text)
        if isinstance(native, Translation):
            _replace(session, function, native, deterministic=name in within)


def _replace(session: SparkSession, function: Function, native: Translation, *, deterministic: bool) -> None:
    """Let the JVM call a function itself, where a call's arguments have the types of its hints."""
    own_class(session, "spark.NativeFunction").register(
        session._jsparkSession.sessionState().functionRegistry(),  # noqa: SLF001
        function.name,
        function.path,
        native.java,
        native.kinds,
        str(function.returns),
        deterministic,
        f"{function.name}{LOCATED}",
        f"{function.name}{GUARDED}",
    )


def register_decoders(
    session: SparkSession, project: Project, calls: Iterable[DecodingCall], log: LogAddress | None = None
) -> None:
    """Register the functions that decode records, each with the columns that are read."""
    for call in calls:
        source = source_of(project, project.functions[call.function])
        fields = ", ".join(f"{quote_name(field.name or 'key')} {field.type}" for field in call.fields)
        returned_type = f"array<struct<{f'{fields}, ' if fields else ''}{BAD}: {BAD_TYPE}>>"
        decode = decoding.decoding_call(
            source,
            call.function,
            expected_fields(call.fields),
            to_arrow_type(DataType.fromDDL(returned_type), timezone="UTC"),
            optional=call.optional,
            single=call.single,
            log=log,
            driver=os.getpid(),
        )
        session.udf.register(call.name, _udf(decode, returned_type).asNondeterministic())


def batch_writer(project: Project, name: str) -> Callable[..., Any]:
    """Return a function of the project that writes batches; it is called with an Arrow table.

    Each call has a DataFrame of its own, which the function may change.
    """
    function = project.functions[name]
    write = getattr(user_code.module_of(source_of(project, function)), name)
    return write if function.batches == TABLE else lambda rows, batch: write(rows.to_pandas(), batch)


def _udf(call: Callable[..., Any], returns: str) -> Any:
    # Spark decides by the type hints to call it with Arrow arrays.
    call.__annotations__ = dict.fromkeys(call.__annotations__, pa.Array)
    return arrow_udf(call, returnType=returns)


def _returned(function: Function) -> str:
    """Return the type of a call; a table function returns an array of its rows."""
    return f"array<{function.returns}>" if function.table else str(function.returns)


def source_of(project: Project, function: Function) -> SourceFile:
    text = content_of(project, function.path).decode()
    return SourceFile(function.path, text.replace("\r\n", "\n").replace("\r", "\n"), function.digest)
