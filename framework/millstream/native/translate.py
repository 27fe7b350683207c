"""Translates a function of a Python file, which is all that this package needs of a project."""

from __future__ import annotations

import ast
from functools import lru_cache

from msgspec import Struct

from millstream.core.text import FileText
from millstream.native import characters
from millstream.native.constants import ModuleNames
from millstream.native.parameters import hint_signature, kinds_of
from millstream.native.program import JavaProgram
from millstream.native.results import result_check
from millstream.native.values import (
    Kinds,
    Obstacle,
    ObstacleError,
    convert_java,
    java_type,
    text_literal,
    union_kinds,
)
from millstream.project.python_module import parse_module


class Translation(Struct, frozen=True):
    java: str
    """The source of a class."""
    kinds: tuple[str, ...]
    """What the arguments are in Python; each may be None, too."""


def translate_function(name: str, text: FileText) -> Translation | Obstacle:
    """Translate a function of a file, or return what prevents that."""
    names = _names(text.path, text.content)
    if names is None:
        return Obstacle("a file that can't be read", 0)
    try:
        return _translated(names, name)
    except ObstacleError as error:
        return Obstacle(error.what, error.line)
    except RecursionError:
        return Obstacle("code that is nested too deeply", 0)


@lru_cache(maxsize=64)
def _names(path: str, text: str) -> ModuleNames | None:
    module, _ = parse_module(FileText(path, text))
    return None if module is None else ModuleNames(module)


def _translated(names: ModuleNames, name: str) -> Translation:
    if (changing := names.changing) is not None:
        raise ObstacleError(changing, f"`{ast.unparse(changing)[:60]}`, with which code can change any name")
    node = names.function(name)
    if node is None:
        raise ObstacleError(ast.Pass(), "a function that is defined under a condition")
    annotations = [argument.annotation for argument in (*node.args.posonlyargs, *node.args.args)]
    hints = [names.hints.read(annotation) for annotation in annotations if annotation is not None]
    if not hints or len(hints) < len(annotations) or node.returns is None:
        raise ObstacleError(node, "a function without parameters, or without hints")
    kinds, with_none = (
        tuple(kinds_of(names, node, hint, optional=optional) for hint in hints) for optional in (False, True)
    )
    program = JavaProgram(names)
    # Most rows have no NULL, for which the code can be simpler.
    forms = [
        (argument_kinds, wide, *program.method(node, argument_kinds, wide=wide))
        for argument_kinds, wide in ((kinds, False), (with_none, False), (with_none, True))
    ]
    returned = union_kinds(result_kinds for *_, result_kinds in forms)
    check = result_check(program, node, names.hints.read(node.returns), returned)
    calls = [
        _call(name, argument_kinds, result_kinds, wide=wide)
        for argument_kinds, wide, name, result_kinds in forms
    ]
    return Translation(_class(program, kinds, calls, check), tuple(map(hint_signature, hints)))


def _call(name: str, kinds: tuple[Kinds, ...], returned: Kinds, *, wide: bool) -> str:
    arguments = (
        convert_java(f"a[{index}]", "Object", java_type(argument_kinds, wide=wide))
        for index, argument_kinds in enumerate(kinds)
    )
    return convert_java(f"{name}({', '.join(arguments)})", java_type(returned, wide=wide), "Object")


def _class(program: JavaProgram, kinds: tuple[Kinds, ...], calls: list[str], check: str) -> str:
    present, any_value, wide = calls
    all_present = " && ".join(
        f"a[{index}] != null"
        if java_type(argument_kinds, wide=False) != "Object"
        else f"PythonValues.isPresent(a[{index}])"
        for index, argument_kinds in enumerate(kinds)
    )
    unprintable = text_literal(characters.unprintable() if program.shows_texts else "")
    lines = [
        "package millstream.generated;",
        "import millstream.python.*;",
        "public final class Body implements NativeBody {",
        "  static boolean T = true;",
        f"  static final String UNPRINTABLE = {unprintable};",
        "  public String unprintable() { return UNPRINTABLE; }",
        f"  static final Fit RESULT = {check};",
        "  public Fit result() { return RESULT; }",
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
