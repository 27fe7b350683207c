"""Translates a function of a Python file, which is all that this package needs of a project."""

from __future__ import annotations

import ast
from functools import lru_cache

from msgspec import Struct

from millstream.core import types
from millstream.core.text import FileText
from millstream.native import characters
from millstream.native.constants import ModuleNames
from millstream.native.parameters import hint_signature, kinds_of
from millstream.native.program import JavaProgram
from millstream.native.structs import struct_class
from millstream.native.values import (
    DATE,
    DATETIME,
    Kinds,
    ListKind,
    Obstacle,
    ObstacleError,
    StructKind,
    convert_java,
    java_type,
    text_literal,
    to_java,
    union_kinds,
)
from millstream.project.python_module import parse_module
from millstream.project.type_hints import Hint


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


_TIMES = {types.DATE: DATE, types.TIMESTAMP: DATETIME}
_SCALARS = (types.BOOLEAN, types.STRING, types.FLOAT, types.DOUBLE, *types.INTEGERS, *_TIMES)


def result_check(program: JavaProgram, node: ast.AST, hint: Hint, kinds: Kinds) -> str:
    """Return the Java expression of the check that `engine/python/return_checks.py` does."""
    others = frozenset(kind for kind in kinds if not isinstance(kind, str))
    structs = [kind for kind in others if isinstance(kind, StructKind)]
    lists = [kind for kind in others if isinstance(kind, ListKind)]
    optional = to_java(hint.nullable)
    program.shows_texts |= "str" in kinds and hint.type != types.STRING
    if hint.type in _SCALARS and others <= _TIMES.get(hint.type, frozenset()):
        return f"Fit.scalar({to_java(str(hint.type))}, {optional})"
    if isinstance(hint.type, types.Array) and hint.parts and others == frozenset(lists):
        element = result_check(program, node, hint.parts[0], union_kinds(kind.elements for kind in lists))
        return f"Fit.list({optional}, {element})"
    struct = struct_class(program.names, hint.python)
    fields = sorted(struct.fields) if struct is not None else []
    if struct is None or not all(
        isinstance(e, StructKind) and fields == [f for f, _ in e.fields] for e in others
    ):
        raise ObstacleError(node, f"a result of type {hint.type}")
    field_kinds = {name: union_kinds(dict(kind.fields)[name] for kind in structs) for name in struct.fields}
    parts = [
        result_check(program, node, part, field_kinds[name])
        for name, part in zip(struct.fields, hint.parts, strict=True)
    ]
    names = ", ".join(map(to_java, struct.fields))
    return f"Fit.struct({optional}, new String[] {{{names}}}, new Fit[] {{{', '.join(parts)}}})"
