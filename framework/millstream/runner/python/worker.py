"""Calls of the user's Python functions, in Spark's Python workers.

This module is sent to them as it is: a cluster's workers need not have Millstream, so it imports none of it.
"""

from __future__ import annotations

import dataclasses
import linecache
import sys
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

FAILED = "a function failed: "
"""What the text of an error begins with, so that it is found in what Spark makes of it; SQL says it, too."""


class Source(NamedTuple):
    """A file of `macros/`."""

    path: str
    text: str
    digest: str


def module_of(source: Source) -> types.ModuleType:
    """Return a file as a module; it is run once per worker, whatever calls its functions."""
    name = f"millstream_functions_{source.digest}"
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__file__ = source.path
        # Tracebacks show the user's lines, though there is no such file here.
        linecache.cache[source.path] = (
            len(source.text), None, source.text.splitlines(keepends=True), source.path,
        )  # fmt: skip
        sys.modules[name] = module  # dataclasses look their module up
        try:
            exec(compile(source.text, source.path, "exec"), module.__dict__)  # noqa: S102
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]


Convert = Callable[[Any], Any]


class Callee(NamedTuple):
    """A function with what makes its arguments of Arrow's values, and Arrow's values of what it returns."""

    call: Callable[..., Any]
    arguments: tuple[Convert | None, ...]

    def converted(self, values: Iterable[Any]) -> list[Any]:
        pairs = zip(values, self.arguments, strict=False)
        return [convert(value) if convert else value for value, convert in pairs]


def callee(source: Source, name: str) -> Callee:
    module = module_of(source)
    known: dict[str, Callee] = module.__dict__.setdefault("__millstream_callees__", {})
    if name not in known:
        function = getattr(module, name)
        hints = typing.get_type_hints(function, include_extras=True)
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount]
        known[name] = Callee(function, tuple(converter(hints.get(each)) for each in parameters))
    return known[name]


def converter(hint: Any) -> Convert | None:
    """Return what makes a value as hinted of one that Arrow gives; None where it is one already."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        made = [each for each in map(converter, inner) if each is not None]
        return _unless_none(made[0]) if made else None
    if origin is typing.Annotated or origin is typing.Final:
        return converter(inner[0])
    if hint is datetime:
        return lambda value: value and value.astimezone(timezone.utc)
    if dataclasses.is_dataclass(hint) or typing.is_typeddict(hint) or hasattr(hint, "_fields"):
        return _structure(typing.cast("type", hint))
    if origin in {dict, Mapping}:
        return _mapping(*map(converter, inner))
    if origin in {list, tuple, Sequence}:
        return _listing(converter(inner[0]), tuple_=origin is tuple)
    return None


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _fields(hint: Any) -> dict[str, Convert]:
    hints = typing.get_type_hints(hint)
    return {name: made for name, each in hints.items() if (made := converter(each)) is not None}


def _structure(hint: type) -> Convert:
    fields = _fields(hint)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        given = value if isinstance(value, dict) else value.asDict()
        return hint(**{k: fields[k](v) if k in fields else v for k, v in given.items()})

    return convert


def _mapping(key: Convert | None = None, value: Convert | None = None) -> Convert:
    def convert(given: Any) -> Any:
        if given is None:
            return None
        pairs = given.items() if isinstance(given, dict) else given
        return {key(k) if key else k: value(v) if value else v for k, v in pairs}

    return convert


def _listing(element: Convert | None, *, tuple_: bool) -> Convert | None:
    if element is None and not tuple_:
        return None

    def convert(values: Iterable[Any] | None) -> Any:
        if values is None:
            return None
        made = [element(value) for value in values] if element else values
        return tuple(made) if tuple_ else made

    return convert


def plain(value: Any) -> Any:
    """Return a value as Arrow takes it: structs are dicts; times that name no zone are in UTC."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=timezone.utc)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def rows_of(columns: Sequence[Any], known: Callee) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of each row."""
    values = []
    for column, convert in zip(columns, known.arguments, strict=False):
        listed = column.to_pylist()
        values.append([convert(value) for value in listed] if convert else listed)
    return zip(*values, strict=True)


def failure(name: str, error: BaseException) -> str:
    """Tell what a function said, and where in its file it said it."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("millstream_functions_"):
            place = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{name}(): {type(error).__name__}: {error}{place}"


def plain_call(source: Source, name: str, returns: Any, *, nested: bool) -> Callable[..., Any]:
    """Return what Spark calls with columns of arguments; a row on which it fails stops the query."""

    def call(*columns: Any) -> Any:
        import pyarrow as pa

        found: list[Any] = []
        for value, error in results(callee(source, name), name, columns):
            if error is not None:
                raise RuntimeError(FAILED + error)
            found.append(plain(value) if nested else value)
        return pa.array(found, returns)

    return call


def told_call(source: Source, name: str, returns: Any, *, nested: bool) -> Callable[..., Any]:
    """Return what Spark calls with a column of structs that tell of each row, and columns of arguments.

    A row on which it fails stops the query, and is told. Where the struct is NULL, it is not called.
    """

    def call(told: Any, *columns: Any) -> Any:
        import pyarrow as pa

        asked = told.is_valid()
        given = columns if not told.null_count else [each.filter(asked) for each in columns]
        made = results(callee(source, name), name, given, asked.true_count)
        found: list[Any] = []
        for row, each in enumerate(asked.to_pylist()):
            value, error = next(made) if each else (None, None)
            if error is not None:
                said = ", ".join(f"{k} {v}" for k, v in told[row].as_py().items())
                raise RuntimeError(f"{FAILED}{said}: {error}")
            found.append(plain(value) if nested else value)
        return pa.array(found, returns)

    return call


def guarded_call(source: Source, name: str, returns: Any, *, nested: bool) -> Callable[..., Any]:
    """Return what Spark calls with a column that says which rows want it, and columns of arguments.

    It gives a struct of `value` and `error`, both NULL for the other rows.
    """

    def call(wanted: Any, *columns: Any) -> Any:
        import pyarrow as pa

        asked = wanted.fill_null(False)
        made = results(callee(source, name), name, [each.filter(asked) for each in columns], asked.true_count)
        values: list[Any] = []
        errors: list[str | None] = []
        for each in asked.to_pylist():
            value, error = next(made) if each else (None, None)
            values.append(plain(value) if nested else value)
            errors.append(error)
        return pa.StructArray.from_arrays(
            [pa.array(values, returns), pa.array(errors, pa.string())], names=["value", "error"]
        )

    return call


def results(
    known: Callee, name: str, columns: Sequence[Any], rows: int | None = None
) -> Iterator[tuple[Any, str | None]]:
    """Yield what a function gives for each row, or what it fails with."""
    arguments = rows_of(columns, known) if columns else iter([()] * (rows or 0))
    for row in arguments:
        try:
            value = known.call(*row)
            yield (list(value) if isinstance(value, Iterator) else value), None
        except Exception as error:  # noqa: BLE001 -- whatever the user's function raises
            yield None, failure(name, error)
