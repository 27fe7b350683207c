"""Calls the user's functions in Spark's Python workers.

The workers of a cluster need no Millstream: pickle sends them this module, which imports nothing of it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import linecache
import os
import sys
import tempfile
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

from millstream.runner.python.fitting import Fit, fit_of, fitted, flat_classes, is_optional

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
    returned: Any = None
    """The hint of the result."""

    def fit(self, returns: Any) -> tuple[Fit, frozenset[type]]:
        """Return the check of results, and the classes that need none."""
        optional = is_optional(self.returned)
        return fit_of(returns, self.returned), flat_classes(returns, optional=optional)

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
        known[name] = Callee(
            function, tuple(converter(hints.get(each)) for each in parameters), hints.get("return")
        )
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
        if str(module).startswith("millstream_functions_"):
            location = f" ({trace.tb_frame.f_code.co_filename}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{name}(): {type(error).__name__}: {_message(error)}{location}"


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException:  # noqa: BLE001 - the user's code
        text = "its message can't be shown"
    return " ".join(text.encode(errors="backslashreplace").decode().splitlines())


class Outcomes(NamedTuple):
    """The results of some rows, as an Arrow array with NULL for those that failed."""

    values: Any
    errors: dict[int, str]
    """By index of the row."""


def outcomes(source: Source, name: str, returns: Any, columns: Sequence[Any], rows: int) -> Outcomes:
    """Call a function for each row, and check what it returns."""
    known = callee(source, name)
    values: list[Any] = []
    errors: dict[int, str] = {}
    with _traces(name):
        for index, row in enumerate(rows_of(columns, known) if columns else [()] * rows):
            value, error = result(known, name, row)
            values.append(value)
            if error is not None:
                errors[index] = error
    array, unfit = fitted(values, returns, *known.fit(returns))
    errors |= {row: f"{name}(): {problem}" for row, problem in unfit.items() if row not in errors}
    return Outcomes(array, errors)


def plain_call(source: Source, name: str, returns: Any) -> Callable[..., Any]:
    """Return a function that Spark calls with columns of arguments; a failing row stops the query."""

    def call(*columns: Any) -> Any:
        found = outcomes(source, name, returns, columns, 0)
        if found.errors:
            raise RuntimeError(FAILED + found.errors[min(found.errors)])
        return found.values

    return call


def located_call(source: Source, name: str, returns: Any) -> Callable[..., Any]:
    """Return a function that Spark calls with a column of row locations, and columns of arguments.

    A failing row stops the query, and the error has its location. If the location is NULL, nothing is called.
    """

    def call(locations: Any, *columns: Any) -> Any:
        called = locations.is_valid()
        given = columns if not locations.null_count else [each.filter(called) for each in columns]
        found = outcomes(source, name, returns, given, called.true_count)
        if found.errors:
            first = min(found.errors)
            place = locations.drop_null()[first].as_py()
            location = ", ".join(f"{k} {v}" for k, v in place.items())
            raise RuntimeError(f"{FAILED}{location}: {found.errors[first]}")
        return spread(found.values, called)

    return call


def guarded_call(source: Source, name: str, returns: Any) -> Callable[..., Any]:
    """Return a function that Spark calls with a column of conditions, and columns of arguments.

    It returns structs of `value` and `error`; both are NULL if the condition doesn't hold.
    """

    def call(conditions: Any, *columns: Any) -> Any:
        import pyarrow as pa

        called = conditions.fill_null(False)
        arguments = [each.filter(called) for each in columns]
        found = outcomes(source, name, returns, arguments, called.true_count)
        errors = pa.array([found.errors.get(row) for row in range(called.true_count)], pa.string())
        return pa.StructArray.from_arrays(
            [spread(found.values, called), spread(errors, called)], names=["value", "error"]
        )

    return call


def spread(values: Any, called: Any) -> Any:
    """Return the results of the rows that were called, with NULL for the others."""
    if called.true_count == len(called):
        return values
    import pyarrow as pa

    indexes, row = [], 0
    for is_called in called.to_pylist():
        indexes.append(row if is_called else None)
        row += is_called
    return values.take(pa.array(indexes, pa.int64()))


def result(known: Callee, name: str, row: Sequence[Any]) -> tuple[Any, str | None]:
    """Return a function's result or its error."""
    try:
        value = known.call(*row)
        return (list(value) if isinstance(value, Iterator) else value), None
    except BaseException as error:  # noqa: BLE001 -- whatever the user's function raises, also SystemExit
        return None, failure(name, error)


CALLS = "millstream-call-"
"""The prefix of a file that exists while a worker calls a function, and stays if the worker dies."""


class _traces:  # noqa: N801 - used like a function
    """Leaves the function's name behind if the worker dies, and makes an error of `os._exit`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._file = Path(tempfile.gettempdir(), f"{CALLS}{os.getpid()}")

    def __enter__(self) -> None:
        self._exit = os._exit
        os._exit = _refused_exit  # type: ignore[assignment]
        with contextlib.suppress(OSError):  # a full disk must not stop a query
            self._file.write_text(self._name, encoding="utf-8")

    def __exit__(self, *_: object) -> None:
        os._exit = self._exit
        with contextlib.suppress(OSError):
            self._file.unlink(missing_ok=True)


def _refused_exit(code: int) -> typing.NoReturn:
    raise RuntimeError(f"os._exit({code}) would end the worker")
