"""A class of Java for one function: the functions that it calls, and their constants."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from millstream.native import characters
from millstream.native.calls import translate_call
from millstream.native.code import JavaCode, JavaVariable
from millstream.native.constants import ModuleNames
from millstream.native.expressions import ExpressionTranslator
from millstream.native.iterations import list_comprehension
from millstream.native.parts import (
    dict_display,
    list_display,
    struct_value,
    translate_field,
    translate_subscript,
)
from millstream.native.statements import StatementTranslator, assigned_names
from millstream.native.structs import StructClass
from millstream.native.texts import joined_text
from millstream.native.times import time_part
from millstream.native.values import (
    Constant,
    JavaValue,
    Kinds,
    ObstacleError,
    boxed_literal,
    java_type,
    text_literal,
)

_DEEPEST = 20
_MOST_LINES = 4_000
"""Lines of a method: Java refuses methods of more than 64 KB, and does not compile large ones."""

_TABLES = {"upper": (characters.upper,), "lower": (characters.lower, characters.cased, characters.ignored)}


class JavaProgram:
    """Methods for functions with arguments of certain kinds, in 64 bits or `wide`."""

    def __init__(self, names: ModuleNames) -> None:
        self.names = names
        self.fields: dict[str, str] = {}
        """Declarations by name."""
        self.methods: dict[tuple[str, tuple[Kinds, ...], bool], tuple[str, Kinds]] = {}
        """The method's name, and the kinds of its result."""
        self.sources: list[str] = []
        self.shows_texts = False
        self._by_value: dict[str, str] = {}
        self._path: list[str] = []

    def field(self, constant: Constant) -> str:
        value = constant.value
        kind = "map" if isinstance(value, dict) else "set" if isinstance(value, set | frozenset) else "list"
        parts: list[Any] = (
            [part for pair in value.items() for part in pair]
            if kind == "map"
            else sorted(value, key=repr)
            if kind == "set"
            else list(value)
        )
        java = {"map": "java.util.Map", "set": "java.util.Set", "list": "java.util.List"}[kind]
        code = f"PythonValues.{kind}(new Object[] {{{', '.join(map(boxed_literal, parts))}}})"
        return self._field(java, code)

    def characters(self, name: str) -> str:
        tables = [self._field("String", text_literal(table())) for table in _TABLES[name]]
        first = self._field("java.util.Map", f"PythonTexts.table({tables[0]})")
        return ", ".join((first, *tables[1:]))

    def _field(self, java: str, code: str) -> str:
        if code not in self._by_value:
            name = f"C{len(self.fields)}"
            self.fields[name] = f"static final {java} {name} = {code};"
            self._by_value[code] = name
        return self._by_value[code]

    def call(self, translator: ExpressionTranslator, node: ast.Call, called: ast.FunctionDef) -> JavaValue:
        names = _parameters(called)
        defaults = dict(zip(reversed(names), reversed(called.args.defaults), strict=False))
        values = self._arguments(translator, node, names, defaults)
        kinds = tuple(value.kinds for value in values)
        method, returned = self.method(called, kinds, wide=translator.code.wide)
        translator.code.record_line(node.lineno)
        arguments = ", ".join(value.code for value in values)
        return translator.code.temporary(returned, f"{method}({arguments})")

    def construct(self, translator: ExpressionTranslator, node: ast.Call, struct: StructClass) -> JavaValue:
        if struct.family == "typed dict" and node.args:
            raise ObstacleError(node, f"an argument of `{struct.name}` without a name")
        arguments = self._arguments(translator, node, struct.fields, struct.defaults)
        values = dict(zip(struct.fields, arguments, strict=True))
        return struct_value(
            translator, struct.kind({name: value.kinds for name, value in values.items()}), values
        )

    def _arguments(
        self,
        translator: ExpressionTranslator,
        node: ast.Call,
        names: list[str],
        defaults: Mapping[str, ast.expr],
    ) -> list[JavaValue]:
        called = f"`{ast.unparse(node.func)}`"
        arguments = {
            name: translator.any_value(argument) for name, argument in zip(names, node.args, strict=False)
        }
        if len(node.args) > len(names):
            raise ObstacleError(node, f"too many arguments of {called}")
        for keyword in node.keywords:
            if keyword.arg not in names or keyword.arg in arguments:
                raise ObstacleError(node, f"the argument `{keyword.arg}` of {called}")
            arguments[str(keyword.arg)] = translator.any_value(keyword.value)
        for name in names:
            if name not in arguments:
                if name not in defaults:
                    raise ObstacleError(node, f"a missing argument of {called}")
                arguments[name] = translator.default(defaults[name])
        return [arguments[name] for name in names]

    def method(self, function: ast.FunctionDef, kinds: tuple[Kinds, ...], *, wide: bool) -> tuple[str, Kinds]:
        key = (function.name, kinds, wide)
        if key not in self.methods:
            if function.name in self._path:
                raise ObstacleError(function, f"`{function.name}` calls itself")
            if len(self._path) > _DEEPEST:
                raise ObstacleError(function, "calls that are nested too deeply")
            self._path.append(function.name)
            try:
                self.methods[key] = self._method(function, kinds, wide=wide)
            finally:
                self._path.pop()
        return self.methods[key]

    def _method(
        self, function: ast.FunctionDef, kinds: tuple[Kinds, ...], *, wide: bool
    ) -> tuple[str, Kinds]:
        _check(function)
        names = _parameters(function)
        returned: Kinds = frozenset()
        while True:  # until the kinds of the result are known
            locals_ = {
                name: JavaVariable(java_type(parameter_kinds, wide=wide), parameter_kinds)
                for name, parameter_kinds in zip(names, kinds, strict=True)
            }
            code = JavaCode(locals_, wide=wide)
            walk = FunctionTranslator(self, code, frozenset(names) | assigned_names(function))
            statements = StatementTranslator(walk, returned)
            statements.body(function.body)
            if code.locals is not None:
                statements.give_back(JavaValue("null", frozenset(("NoneType",))))
            if statements.returned <= returned:
                break
            returned |= statements.returned
        if len(code.lines) > _MOST_LINES:
            raise ObstacleError(function, "a very long function")
        name = f"{function.name}_{len(self.methods) + len(self._path)}_{len(self.sources)}"
        parameters = ", ".join(
            f"{locals_[name].type} {code.slot(name, locals_[name].type)}" for name in names
        )
        self.sources.append(_written(name, java_type(returned, wide=wide), parameters, code, names, locals_))
        return name, returned


def _written(
    name: str,
    returned: str,
    parameters: str,
    code: JavaCode,
    names: list[str],
    locals_: Mapping[str, JavaVariable],
) -> str:
    parameter_slots = {code.slot(name, locals_[name].type) for name in names}
    declared = [
        declaration for declaration in code.declarations() if declaration.split()[1] not in parameter_slots
    ]
    lines = [
        f"static {returned} {name}({parameters}) {{",
        "  int line = 0;",
        *(f"  {declaration}" for declaration in declared),
        "  try {",
        *(f"    {line}" for line in code.lines),
        "  } catch (PythonError error) {",
        "    throw error.atLine(line);",
        "  }",
        '  throw new IllegalStateException("a function has no end");',
        "}",
    ]
    return "\n".join(lines)


def _parameters(function: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]


def _check(function: ast.FunctionDef) -> None:
    if function.decorator_list:
        raise ObstacleError(function.decorator_list[0], "a decorator")
    arguments = function.args
    if arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
        raise ObstacleError(function, f"the parameters of `{function.name}`")


class FunctionTranslator(ExpressionTranslator):
    def other(self, node: ast.expr) -> JavaValue:
        match node:
            case ast.Attribute(value=base, attr=name):
                value = self.any_value(base)
                return (time_part if value.is_time else translate_field)(self, node, value, name)
            case ast.Subscript(value=container, slice=index, ctx=ast.Load()):
                return translate_subscript(self, node, container, index)
            case ast.List(elts=parts):
                return list_display(self, [self.any_value(part) for part in parts])
            case ast.Dict(keys=keys, values=values):
                return dict_display(self, node, keys, values)
            case ast.ListComp():
                return list_comprehension(self, node)
            case ast.Call():
                return translate_call(self, node)
            case ast.JoinedStr(values=parts):
                return joined_text(self, parts)
        raise ObstacleError(node, _described(node))


def _described(node: ast.expr) -> str:
    names: Mapping[type[ast.expr], str] = {
        ast.Lambda: "a lambda", ast.SetComp: "a comprehension",
        ast.DictComp: "a comprehension", ast.GeneratorExp: "a generator", ast.NamedExpr: "`:=`",
        ast.Await: "`await`", ast.Starred: "`*`",
    }  # fmt: skip
    return names.get(type(node), f"`{ast.unparse(node)[:40]}`")
