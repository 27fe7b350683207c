"""Translates a function that SQL calls."""

from __future__ import annotations

import ast
from functools import lru_cache

from msgspec import Struct

from millstream import types
from millstream.native import characters
from millstream.native.constants import Names
from millstream.native.program import Program
from millstream.native.values import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    STR,
    Kinds,
    Obstacle,
    ObstacleError,
    converted,
    java_type,
    text_literal,
)
from millstream.project.python_module import parse_module
from millstream.project.values import Function
from millstream.text import Text
from millstream.types import Type

_KINDS: dict[Type, Kinds] = {
    types.BOOLEAN: BOOL, types.STRING: STR, types.DOUBLE: FLOAT, types.FLOAT: FLOAT,
    **dict.fromkeys(types.INTEGERS, INT),
}  # fmt: skip
_RETURNED = (types.BIGINT, types.DOUBLE, types.STRING, types.BOOLEAN)


class Translation(Struct, frozen=True):
    java: str
    """The source of a class."""
    kinds: tuple[str, ...]
    """The Python classes of the arguments; each may be None, too."""


def translate(function: Function, text: str) -> Translation | Obstacle:
    """Translate a function of a file, or return what prevents that."""
    if function.runs == "python":
        return Obstacle("`runs: python`", 0)
    names = _names(function.path, text)
    if names is None:
        return Obstacle("a file that can't be read", function.location.line)
    try:
        return _translated(names, function)
    except ObstacleError as error:
        return Obstacle(error.what, error.line or function.location.line)
    except RecursionError:
        return Obstacle("code that is nested too deeply", function.location.line)


@lru_cache(maxsize=64)
def _names(path: str, text: str) -> Names | None:
    module, _ = parse_module(Text(path, text))
    return None if module is None else Names(module)


def _translated(names: Names, function: Function) -> Translation:
    node = names.function(function.name)
    if node is None or function.table or function.keyed:
        raise ObstacleError(
            node or ast.Pass(), "a function that is defined under a condition, or yields rows"
        )
    for parameter in function.parameters:
        if parameter.type not in _KINDS:
            raise ObstacleError(node, f"the parameter `{parameter.name}`, a {parameter.type}")
    if function.returns not in _RETURNED:
        raise ObstacleError(node, f"a result of type {function.returns}")
    if not function.parameters:
        raise ObstacleError(node, "a function without parameters")
    kinds = tuple(_KINDS[parameter.type] for parameter in function.parameters)
    program = Program(names)
    # Most rows have no NULL, for which the code can be simpler.
    present = _call(program, node, kinds, wide=False)
    optional = tuple(each | NONE for each in kinds)
    any_value = _call(program, node, optional, wide=False)
    wide = _call(program, node, optional, wide=True)
    results = (found for _, found in program.methods.values())
    program.shows_texts |= function.returns != types.STRING and any("str" in each for each in results)
    return Translation(
        _class(program, len(kinds), present, any_value, wide), tuple(next(iter(k)) for k in kinds)
    )


def _call(program: Program, node: ast.FunctionDef, kinds: tuple[Kinds, ...], *, wide: bool) -> str:
    name, returned = program.method(node, kinds, wide=wide)
    arguments = (
        converted(f"a[{index}]", "Object", java_type(each, wide=wide)) for index, each in enumerate(kinds)
    )
    return converted(f"{name}({', '.join(arguments)})", java_type(returned, wide=wide), "Object")


def _class(program: Program, count: int, present: str, any_value: str, wide: str) -> str:
    all_present = " && ".join(f"a[{index}] != null" for index in range(count))
    unprintable = text_literal(characters.unprintable() if program.shows_texts else "")
    lines = [
        "package millstream.generated;",
        "import millstream.spark.*;",
        "public final class Body implements NativeBody {",
        "  static boolean T = true;",
        f"  static final String UNPRINTABLE = {unprintable};",
        "  public String unprintable() { return UNPRINTABLE; }",
        *(f"  {field}" for field in program.fields.values()),
        "  public Object call(Object[] a) {",
        "    try {",
        f"      if ({all_present}) return {present};",
        f"      return {any_value};",
        "    } catch (WideInteger error) {",
        f"      return {wide};",
        "    }",
        "  }",
        *program.sources,
        "}",
    ]
    return "\n".join(lines)
