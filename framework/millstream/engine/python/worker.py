"""Calls the user's functions in Spark's Python workers.

The workers of a cluster need no Millstream: pickle sends them this module and those that it imports.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from millstream.core.user_code import SourceFile, arrow_converter, describe_failure, module_of
from millstream.engine.python.columns import BrokenArgument, values_of
from millstream.engine.python.forwarding import LogAddress, forwards
from millstream.engine.python.return_checks import (
    Fit,
    WrongReturnError,
    fit_of,
    fit_values,
    flat_classes,
    is_optional,
)

FAILED = "a function failed: "
"""The prefix of an error's text, by which it is recognised within Spark's message; the SQL uses it too."""


class TypedFunction(NamedTuple):
    """A function, with its type hints."""

    call: Callable[..., Any]
    hints: tuple[Any, ...]
    """Those of its parameters."""
    returned: Any = None
    """The hint of the result."""

    def fit(self, returns: Any) -> tuple[Fit, frozenset[type]]:
        """Return the check of results, and the classes that need none."""
        optional = is_optional(self.returned)
        return fit_of(returns, self.returned), flat_classes(returns, optional=optional)

    def converted(self, values: Iterable[Any]) -> list[Any]:
        pairs = zip(values, map(arrow_converter, self.hints), strict=False)
        return [convert(value) if convert else value for value, convert in pairs]


def typed_function(source: SourceFile, name: str) -> TypedFunction:
    module = module_of(source)
    callees: dict[str, TypedFunction] = module.__dict__.setdefault("__millstream_callees__", {})
    if name not in callees:
        function = getattr(module, name)
        hints = typing.get_type_hints(function, include_extras=True)
        code = function.__code__
        parameters = code.co_varnames[: code.co_argcount]
        callees[name] = TypedFunction(
            function, tuple(hints.get(parameter) for parameter in parameters), hints.get("return")
        )
    return callees[name]


def rows_of(columns: Sequence[Any], callee: TypedFunction) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments of each row."""
    values = (values_of(column, hint) for column, hint in zip(columns, callee.hints, strict=False))
    return zip(*values, strict=True)


class SqlFunction(NamedTuple):
    """A function that Spark calls."""

    source: SourceFile
    name: str
    returns: Any
    """The Arrow type of its result."""
    skips_null: bool = False
    """It isn't called with NULL, which remains NULL."""
    log: LogAddress | None = None
    """Where what it logs is sent."""
    driver: int = 0
    """The process that reports what happens to the workers."""


class CallOutcomes(NamedTuple):
    """The results of some rows, as an Arrow array with NULL for those that failed."""

    values: Any
    errors: dict[int, str]
    """By index of the row."""


def call_rows(called: SqlFunction, columns: Sequence[Any], rows: int, locations: Any = None) -> CallOutcomes:
    """Call a function for each row, and check what it returns.

    `locations` says where the rows are from.
    """
    name, returns = called.name, called.returns
    if called.skips_null and columns[0].null_count:
        present = columns[0].is_valid()
        located = None if locations is None else locations.filter(present)
        present_outcomes = call_rows(called, [columns[0].filter(present)], present.true_count, located)
        positions = [index for index, is_there in enumerate(present.to_pylist()) if is_there]
        return CallOutcomes(
            spread_results(present_outcomes.values, present),
            {positions[index]: error for index, error in present_outcomes.errors.items()},
        )
    values: list[Any] = []
    errors: dict[int, str] = {}
    with traces(name, called.driver), forwards(name, called.log, locations) as calls:
        function = typed_function(called.source, name)
        fit, flat = function.fit(returns)
        for index, row in enumerate(rows_of(columns, function) if columns else [()] * rows):
            if calls is not None:
                calls.row = index
            # Values that can change are taken at once: the next call may change and return the same object.
            value, error = call_row(function, name, row, None if flat else fit)
            values.append(value)
            if error is not None:
                errors[index] = error
    if not flat:
        import pyarrow as pa

        return CallOutcomes(pa.array(values, returns), errors)
    array, unfit = fit_values(values, returns, fit, flat)
    errors |= {row: f"{name}(): {reason}" for row, reason in unfit.items() if row not in errors}
    return CallOutcomes(array, errors)


def plain_call(called: SqlFunction) -> Callable[..., Any]:
    """Return a function that Spark calls with columns of arguments; a failing row stops the query."""

    def call(*columns: Any) -> Any:
        returned = call_rows(called, columns, 0)
        if returned.errors:
            raise RuntimeError(FAILED + returned.errors[min(returned.errors)])
        return returned.values

    return call


def located_call(function: SqlFunction) -> Callable[..., Any]:
    """Return a function that Spark calls with a column of row locations, and columns of arguments.

    A failing row stops the query, and the error has its location. If the location is NULL, nothing is called.
    """

    def call(locations: Any, *columns: Any) -> Any:
        called = locations.is_valid()
        arguments = columns if not locations.null_count else [column.filter(called) for column in columns]
        positions = locations.drop_null()
        returned = call_rows(function, arguments, called.true_count, positions)
        if returned.errors:
            first = min(returned.errors)
            position = positions[first].as_py()
            location = ", ".join(f"{k} {v}" for k, v in position.items())
            raise RuntimeError(f"{FAILED}{location}: {returned.errors[first]}")
        return spread_results(returned.values, called)

    return call


def guarded_call(function: SqlFunction) -> Callable[..., Any]:
    """Return a function that Spark calls with a column of conditions, and columns of arguments.

    It returns structs of `value` and `error`; both are NULL if the condition doesn't hold. Instead of a
    condition, a row can have its location, or NULL if the function is not called.
    """

    def call(conditions: Any, *columns: Any) -> Any:
        import pyarrow as pa

        located = pa.types.is_struct(conditions.type)
        called = conditions.is_valid() if located else conditions.fill_null(False)
        arguments = [column.filter(called) for column in columns]
        positions = conditions.drop_null() if located else None
        returned = call_rows(function, arguments, called.true_count, positions)
        errors = pa.array([returned.errors.get(row) for row in range(called.true_count)], pa.string())
        return pa.StructArray.from_arrays(
            [spread_results(returned.values, called), spread_results(errors, called)],
            names=["value", "error"],
        )

    return call


def spread_results(values: Any, called: Any) -> Any:
    """Return the results of the rows that were called, with NULL for the others."""
    if called.true_count == len(called):
        return values
    import pyarrow as pa

    indexes, row = [], 0
    for is_called in called.to_pylist():
        indexes.append(row if is_called else None)
        row += is_called
    return values.take(pa.array(indexes, pa.int64()))


def call_row(
    callee: TypedFunction, name: str, row: Sequence[Any], fit: Fit | None = None
) -> tuple[Any, str | None]:
    """Return a function's result, which is checked if `fit` is given, or its error."""
    if BrokenArgument in map(type, row):
        return None, describe_failure(
            name, next(argument.error for argument in row if type(argument) is BrokenArgument)
        )
    try:
        value = callee.call(*row)
        if fit is not None:
            return fit(value), None
        return (list(value) if isinstance(value, Iterator) else value), None
    except WrongReturnError as error:
        return None, f"{name}(): {error}"
    except BaseException as error:  # noqa: BLE001 -- whatever the user's function raises, also SystemExit
        return None, describe_failure(name, error)


CALLS = "millstream-call-"
"""The prefix of a file that exists while a worker calls a function, and stays if the worker dies."""


class traces:  # noqa: N801 - used like a function
    """Leaves the function's name behind if the worker dies, and makes an error of `os._exit`."""

    def __init__(self, name: str, driver: int) -> None:
        self._name = name
        self._file = Path(tempfile.gettempdir(), f"{CALLS}{driver}-{os.getpid()}")

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
