"""Runs the files of a project's Python functions, and converts values for them.

Spark's Python workers use it too. Those of a cluster have no Millstream: pickle sends them this module, which
imports nothing of it.
"""

from __future__ import annotations

import dataclasses
import linecache
import sys
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple


class SourceFile(NamedTuple):
    """A file of `macros/`."""

    path: str
    text: str
    digest: str


def module_of(source: SourceFile) -> types.ModuleType:
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


def arrow_converter(hint: Any) -> Convert | None:
    """Return the conversion of Arrow's values to a type hint; None if they already fit."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in {typing.Union, types.UnionType}:
        converters = [convert for convert in map(arrow_converter, inner) if convert is not None]
        return _unless_none(converters[0]) if converters else None
    if origin is typing.Annotated or origin is typing.Final:
        return arrow_converter(inner[0])
    if hint is datetime:
        return lambda value: value and value.astimezone(timezone.utc)
    if is_struct(hint):
        return _structure(typing.cast("type", hint))
    if origin in {dict, Mapping}:
        return _mapping(*map(arrow_converter, inner))
    if origin in {list, tuple, Sequence}:
        return _listing(arrow_converter(inner[0]), tuple_=origin is tuple)
    return None


def struct_of(hint: Any) -> Any:
    """Return the class within `Annotated[X, …]` or `X | None`."""
    while (origin := typing.get_origin(hint)) is not None:
        inner = typing.get_args(hint)
        if origin in {typing.Union, types.UnionType}:
            inner = tuple(argument for argument in inner if argument is not type(None))
        hint = inner[0]
    return hint


def _unless_none(convert: Convert) -> Convert:
    return lambda value: None if value is None else convert(value)


def _fields(hint: Any) -> dict[str, Convert]:
    hints = typing.get_type_hints(hint)
    return {
        name: convert
        for name, field_hint in hints.items()
        if (convert := arrow_converter(field_hint)) is not None
    }


def is_struct(hint: Any) -> bool:
    return dataclasses.is_dataclass(hint) or typing.is_typeddict(hint) or hasattr(hint, "_fields")


def _structure(hint: type) -> Convert:
    fields = _fields(hint)

    def convert(value: Any) -> Any:
        if value is None:
            return None
        values = value if isinstance(value, dict) else value.asDict()
        return hint(**{k: fields[k](v) if k in fields else v for k, v in values.items()})

    return convert


def _mapping(key: Convert | None = None, value: Convert | None = None) -> Convert:
    def convert(mapping: Any) -> Any:
        if mapping is None:
            return None
        pairs = mapping.items() if isinstance(mapping, dict) else mapping
        return {key(k) if key else k: value(v) if value else v for k, v in pairs}

    return convert


def _listing(element: Convert | None, *, tuple_: bool) -> Convert | None:
    if element is None and not tuple_:
        return None

    def convert(values: Iterable[Any] | None) -> Any:
        if values is None:
            return None
        converted = [element(value) for value in values] if element else values
        return tuple(converted) if tuple_ else converted

    return convert


_PLAIN = frozenset({int, str, float, bool, bytes, type(None)})
_SCALARS: dict[type, Callable[[Any], Any]] = {str: str.__str__, int: int.__int__, float: float.__float__}


def to_arrow(value: Any) -> Any:
    """Return a value for Arrow: structs become dicts, members of enums values, times without a zone UTC."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=timezone.utc)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_arrow(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: to_arrow(field) for name, field in value._asdict().items()}
    if isinstance(value, dict):
        return {name: to_arrow(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_arrow(inner) for inner in value]
    return next((bare(value) for kind, bare in _SCALARS.items() if isinstance(value, kind)), value)


def describe_failure(name: str, error: BaseException) -> str:
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
