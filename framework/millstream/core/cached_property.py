"""Cached properties of values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class once(Generic[T]):  # noqa: N801 - a decorator
    """`functools.cached_property` without its lock, which Python takes up to 3.11.

    A plan reads such properties some hundred thousand times, and any thread would compute the same.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, value: None, owner: type | None = None) -> once[T]: ...
    @overload
    def __get__(self, value: object, owner: type | None = None) -> T: ...
    def __get__(self, value: object | None, owner: type | None = None) -> once[T] | T:
        if value is None:
            return self
        # From now on, Python finds it in `__dict__` without calling this.
        result = value.__dict__[self._name] = self._compute(value)
        return result
