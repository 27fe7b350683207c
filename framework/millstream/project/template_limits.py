"""Jinja with an end: a template has so many steps, so much text and so much time, and then fails.

Jinja's sandbox limits only `range`. A single operation, such as `'x' * 3000000000`, can't be interrupted, so
the size of its result is charged before it runs.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from datetime import date
from datetime import time as clock_time
from decimal import Decimal
from functools import wraps
from types import NoneType
from typing import Any

from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.environment import Environment
from jinja2.runtime import Context, Undefined
from jinja2.sandbox import MAX_RANGE, SandboxedEnvironment, safe_range

STEPS = 1_000_000
"""Iterations, calls and filters of one template."""
SIZE = 100_000_000
"""Characters of all texts that one template creates; an item of a list counts as `_ITEM` of them."""
OUTPUT = 2_000_000
"""Characters of the SQL that is rendered, also by macros within macros."""
SECONDS = 5.0
"""Of CPU time, so that a busy machine does not matter."""
REMEDY = "end the loop earlier, or let SQL compute this"

_ITEM = 8
_CONTAINER = 100
_BITS = 100_000
_BETWEEN = 256
"""Steps between looks at the clock."""
_KEEPING = frozenset({"get", "pop", "popitem", "setdefault"})
"""Methods that return what already exists."""
_PADDING = frozenset({"center", "ljust", "rjust", "zfill", "expandtabs", "to_bytes"})
_PADDING_FILTERS = frozenset({"center", "indent", "batch", "slice", "wordwrap", "truncate", "round"})
_SIZES = {"batch": _ITEM, "slice": _CONTAINER}
"""What a filter creates for each of the number that it gets; text by default."""
_PRINTING_FILTERS = frozenset(
    {"string", "pprint", "tojson", "e", "escape", "forceescape", "urlize", "xmlattr"}
)
_CHOOSING_FILTERS = frozenset({"default", "d", "first", "last", "random", "min", "max", "attr", "map", "sum"})
_SCALARS = (str, bytes, int, float, Decimal, date, clock_time, NoneType, Undefined)
"""What Python shows in the same way in each process; an undefined name fails by itself."""
_NUMBERS = re.compile(r"\d+")
_PLACEHOLDERS = re.compile(r"%[^a-zA-Z%]*")


class BudgetError(Exception):
    """A template needs more than its budget; the message says of what."""


class NotTextError(TypeError):
    """A value that Python would show with its address, which differs with each run."""

    def __init__(self, value: object) -> None:
        if callable(value):
            what, self.remedy = "function", "call it"
        else:
            what = type(value).__name__
            items = isinstance(value, Iterable)
            self.remedy = "show its items, such as with `| list`" if items else "show its attributes instead"
        super().__init__(f"a {what} can't be shown as text")


class TemplateBudget:
    """What a template may still use."""

    def __init__(self) -> None:
        self._steps = STEPS
        self._size = SIZE
        self._output = OUTPUT
        self._end = time.thread_time() + SECONDS

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise BudgetError(f"the template takes more than {STEPS:,} steps")
        if self._steps % _BETWEEN == 0 and time.thread_time() > self._end:
            raise BudgetError(f"the template takes longer than {SECONDS:g} seconds")

    def charge(self, size: float) -> None:
        self._size -= int(size)
        if self._size < 0:
            raise BudgetError(f"the template creates more than {SIZE:,} characters")

    def print(self, value: Any) -> None:
        """Charge a value that will be shown as text: lists in lists can be longer than they look.

        Any value but texts, numbers and the like, and lists and mappings of them, is a `NotTextError`.
        """
        self.charge(printed_size(value, self._size))

    def output(self, size: int) -> None:
        self._output -= size
        if self._output < 0:
            raise BudgetError(f"the template renders more than {OUTPUT:,} characters")


def printed_size(value: Any, limit: int) -> int:
    """Return the size of a value as text, or more than `limit`."""
    size, pending = 0, [value]
    while pending and size <= limit:
        inner = pending.pop()
        size += _ITEM
        if isinstance(inner, str | bytes):
            size += len(inner)
        elif isinstance(inner, Mapping):
            size += _CONTAINER
            pending += [*inner.keys(), *inner.values()]
        elif isinstance(inner, list | tuple | set | frozenset):
            size += _CONTAINER
            pending += inner
        elif isinstance(inner, int):
            size += inner.bit_length() // 3
        elif not isinstance(inner, _SCALARS):
            raise NotTextError(inner)
    return size


def check_printable(value: Any) -> Any:
    """Return a value that can be shown as text; any other is a `NotTextError`."""
    printed_size(value, SIZE)
    return value


class LimitedCodeGenerator(CodeGenerator):
    """Lets generated code report loops, slices and joined texts to its environment."""

    def visit_For(self, node: nodes.For, frame: Frame) -> None:  # noqa: N802
        limited = copy(node)
        counted = nodes.EnvironmentAttribute("counted", lineno=node.iter.lineno, environment=self.environment)
        limited.iter = nodes.Call(
            counted, [node.iter], [], None, None, lineno=node.iter.lineno, environment=self.environment
        )
        super().visit_For(limited, frame)

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        if not isinstance(node.arg, nodes.Slice):
            super().visit_Getitem(node, frame)
            return
        self.write("environment.created(")
        super().visit_Getitem(node, frame)
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("environment.joined((")
        for child in node.nodes:
            self.visit(child, frame)
            self.write(", ")
        self.write("))")


class LimitedEnvironment(SandboxedEnvironment):
    """A sandbox whose templates have a budget each; `start` gives a new one."""

    code_generator_class: type[CodeGenerator] = LimitedCodeGenerator
    intercepted_binops = frozenset({"*", "**", "+", "%"})

    def __init__(self, **options: Any) -> None:
        super().__init__(finalize=self.shown, **options)
        self.budget = TemplateBudget()
        self.filters = {name: self._limited(name, function) for name, function in self.filters.items()}
        del self.globals["lipsum"]
        self.globals["range"] = _range

    def start(self) -> None:
        self.budget = TemplateBudget()

    # -- called by generated code

    def shown(self, value: Any) -> Any:
        """Return what `{{ … }}` puts out, if it can be shown as text."""
        if not isinstance(value, str):
            self.budget.print(value)
        return value

    def counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self.budget.step()
            yield value

    def created(self, value: Any) -> Any:
        self.budget.charge(_size(value))
        return value

    def joined(self, values: Sequence[Any]) -> str:
        for value in values:
            self.budget.print(value)
        return "".join(map(str, values))

    def call(__self, __context: Context, __obj: Any, /, *args: Any, **kwargs: Any) -> Any:  # noqa: N805
        """As in Jinja, whose names can't collide with those of arguments."""
        __self.budget.step()
        method = getattr(__obj, "__wrapped__", __obj)
        owner, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
        if isinstance(owner, str | bytes | int | list | dict | set):
            __self._charge_method(owner, name, args, kwargs)
        elif name == "dumps":
            __self._charge_filter("tojson", args, kwargs)
        returned = super().call(__context, __obj, *args, **kwargs)
        if isinstance(owner, str | bytes | list | dict | set) and name not in _KEEPING:
            __self.budget.charge(_size(returned))
        return returned

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        match operator:
            case "*" | "**" if isinstance(left, int) and isinstance(right, int):
                bits = (
                    left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
                )
                if bits > _BITS:
                    raise BudgetError(f"the number has more than {_BITS:,} bits")
            case "*":
                self.budget.charge(_times(left, right))
            case "+":
                self.budget.charge(_size(left) + _size(right))
            case "%" if isinstance(left, str):
                self._charge_placeholders(left, right if isinstance(right, tuple) else (right,))
        return super().call_binop(context, operator, left, right)

    # -- sizes of results that can't be interrupted

    def _charge_method(self, owner: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        arguments = (*args, *kwargs.values())
        if name in _PADDING:
            times = owner.count("\t") if name == "expandtabs" and isinstance(owner, str) else 1
            self.budget.charge(times * _numbers(arguments))
        elif isinstance(owner, str) and name in {"format", "format_map"}:
            values = (
                (*arguments[0].values(),)
                if name == "format_map" and isinstance(arguments[0], dict)
                else arguments
            )
            self._charge_format(owner, values)
        elif isinstance(owner, str) and name == "replace":
            self._charge_replace(owner, *args)
        elif isinstance(owner, str) and name == "join" and args:
            self._charge_join(owner, args[0])
        elif name in {"extend", "update", "insert"}:
            self.budget.charge(sum(map(_size, arguments)))

    def _charge_filter(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        arguments = (*args, *kwargs.values())
        if name in _PADDING_FILTERS:
            lines = str(args[0]).count("\n") + 1 if name == "indent" and args else 1
            self.budget.charge(lines * _numbers(arguments[1:]) * _SIZES.get(name, 1))
        elif name in _PRINTING_FILTERS:
            self.budget.print(arguments)
            self.budget.charge(_numbers(arguments[1:]))
        elif name == "format" and args:
            self._charge_placeholders(str(args[0]), arguments[1:])
        elif name == "replace" and args:
            self._charge_replace(str(args[0]), *args[1:])
        elif name == "join" and args:
            self._charge_join(str(args[1]) if len(args) > 1 else "", args[0])

    def _charge_format(self, text: str, values: Sequence[Any]) -> None:
        for number in _NUMBERS.findall(text):
            self.budget.charge(float(number[:30]))
        if any("{" in field for field in text.split(":")[1:]):
            self.budget.charge(_numbers(values))
        self._charge_values(text.count("{"), values)

    def _charge_placeholders(self, text: str, values: Sequence[Any]) -> None:
        for placeholder in _PLACEHOLDERS.findall(text):
            for number in _NUMBERS.findall(placeholder):
                self.budget.charge(float(number[:30]))
            if "*" in placeholder:
                self.budget.charge(_numbers(values))
        self._charge_values(text.count("%"), values)

    def _charge_values(self, placeholders: int, values: Sequence[Any]) -> None:
        for value in values:
            self.budget.charge(placeholders * printed_size(value, SIZE))

    def _charge_replace(self, text: str, old: Any = "", new: Any = "", *_: Any) -> None:
        self.budget.charge(text.count(str(old)) * len(str(new)))

    def _charge_join(self, separator: str, values: Any) -> None:
        if isinstance(values, list | tuple | set | dict):
            self.budget.print(values)
            self.budget.charge(len(separator) * len(values))

    def _limited(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def limited(*args: Any, **kwargs: Any) -> Any:
            self.budget.step()
            if name == "join":
                args = tuple(_as_list(argument) for argument in args)
            values = (
                args[1:] if args and isinstance(args[0], Environment | Context | nodes.EvalContext) else args
            )
            self._charge_filter(name, values, kwargs)
            returned = function(*args, **kwargs)
            if name not in _CHOOSING_FILTERS:
                self.budget.charge(_size(returned))
                if isinstance(returned, str):
                    check_printable([*values, *kwargs.values()])  # what the text was built from
            return returned

        return limited


def _range(*bounds: int) -> range:
    try:
        return safe_range(*bounds)
    except OverflowError:
        raise BudgetError(f"the range has more than {MAX_RANGE:,} numbers") from None


def _as_list(value: Any) -> Any:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str | Mapping) else value


def _size(value: Any) -> int:
    if isinstance(value, str | bytes):
        return len(value)
    return _ITEM * len(value) if isinstance(value, list | tuple | dict | set) else 0


def _times(left: Any, right: Any) -> int:
    if isinstance(right, int):
        return _size(left) * max(right, 0)
    return _size(right) * max(left, 0) if isinstance(left, int) else 0


def _numbers(values: Iterable[Any]) -> float:
    return sum(abs(value) for value in values if isinstance(value, int | float))
