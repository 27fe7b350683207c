"""Calls the user's functions in Spark's Python workers.

The workers of a cluster need no Millstream: pickle sends them this module, which imports nothing of it.
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
"""The prefix of an error's text, by which it is recognised within Spark's message; the SQL uses it too."""


class Source(NamedTuple):
    """A file of `macros/`."""

    path: str
    text: str
    digest: str


def module_of(source: Source) -> types.ModuleType:
    """Return a file as a module; it is executed once for each worker."""
    name = f"millstream_functions_{source.digest}"
    if name not in sys.modules:
        module = types.ModuleType(name)
        module.__file__ = source.path
        # Tracebacks can show the user's lines, although the file doesn't exist here.
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
    """A function, with the conversions of its arguments from Arrow's values."""

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
    """Return the conversion of Arrow's values to a type hint; None if they already fit."""
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
    """Return a value for Arrow: structs become dicts, and times without a zone are in UTC."""
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
    """Return a function's error, and its location in the function's file."""
    location = ""
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("millstream_functions_"):
            location = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{name}(): {type(error).__name__}: {error}{location}"


def plain_call(source: Source, name: str, returns: Any, *, nested: bool) -> Callable[..., Any]:
    """Return a function that Spark calls with columns of arguments; a failing row stops the query."""

    def call(*columns: Any) -> Any:
        import pyarrow as pa

        found: list[Any] = []
        for value, error in results(callee(source, name), name, columns):
            if error is not None:
                raise RuntimeError(FAILED + error)
            found.append(plain(value) if nested else value)
        return pa.array(found, returns)

    return call


def located_call(source: Source, name: str, returns: Any, *, nested: bool) -> Callable[..., Any]:
    """Return a function that Spark calls with a column of row locations, and columns of arguments.

    A failing row stops the query, and the error has its location. If the location is NULL, nothing is called.
    """

    def call(locations: Any, *columns: Any) -> Any:
        import pyarrow as pa

        called = locations.is_valid()
        given = columns if not locations.null_count else [each.filter(called) for each in columns]
        outcomes = results(callee(source, name), name, given, called.true_count)
        found: list[Any] = []
        for row, is_called in enumerate(called.to_pylist()):
            value, error = next(outcomes) if is_called else (None, None)
            if error is not None:
                location = ", ".join(f"{k} {v}" for k, v in locations[row].as_py().items())
                raise RuntimeError(f"{FAILED}{location}: {error}")
            found.append(plain(value) if nested else value)
        return pa.array(found, returns)

    return call


def guarded_call(source: Source, name: str, returns: Any, *, nested: bool) -> Callable[..., Any]:
    """Return a function that Spark calls with a column of conditions, and columns of arguments.

    It returns structs of `value` and `error`; both are NULL if the condition doesn't hold.
    """

    def call(conditions: Any, *columns: Any) -> Any:
        import pyarrow as pa

        called = conditions.fill_null(False)
        arguments = [each.filter(called) for each in columns]
        outcomes = results(callee(source, name), name, arguments, called.true_count)
        values: list[Any] = []
        errors: list[str | None] = []
        for is_called in called.to_pylist():
            value, error = next(outcomes) if is_called else (None, None)
            values.append(plain(value) if nested else value)
            errors.append(error)
        return pa.StructArray.from_arrays(
            [pa.array(values, returns), pa.array(errors, pa.string())], names=["value", "error"]
        )

    return call


def results(
    known: Callee, name: str, columns: Sequence[Any], rows: int | None = None
) -> Iterator[tuple[Any, str | None]]:
    """Yield a function's result or error for each row."""
    arguments = rows_of(columns, known) if columns else iter([()] * (rows or 0))
    for row in arguments:
        try:
            value = known.call(*row)
            yield (list(value) if isinstance(value, Iterator) else value), None
        except Exception as error:  # noqa: BLE001 -- whatever the user's function raises
            yield None, failure(name, error)
