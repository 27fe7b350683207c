"""The names of a module that functions can read: constants, other functions, builtins and `math`."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from millstream.native.values import Constant, ObstacleError, is_translatable
from millstream.project.digests import names_of
from millstream.project.python_module import Def, Module, is_main_guard
from millstream.project.type_hints import HintReader

_COLLECTIONS = {"frozenset": frozenset, "set": set, "tuple": tuple, "list": list, "dict": dict}
_LARGEST = 2**40
"""Operands of constants: no calculation of these takes long."""


class ModuleNames:
    """What the names of a module stand for, if nothing in it can change that."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.hints = HintReader(module)
        self._touching: dict[str, list[ast.stmt]] = defaultdict(list)
        for statement in module.body:
            for name in names_of(statement).touches - _fields(statement):
                self._touching[name].append(statement)

        self._shared = _possibly_changed(module.body)
        self.changing = next(filter(_changes_any_name, _running(module)), None)
        """Code by which a call of another function can change what names stand for."""

    def function(self, name: str) -> ast.FunctionDef | None:
        match self._touching.get(name):
            case [ast.FunctionDef(name=defined) as node] if defined == name:
                return node
            case _:
                return None

    def class_(self, name: str) -> ast.ClassDef | None:
        match self._touching.get(name):
            case [ast.ClassDef(name=defined) as node] if defined == name:
                return node
            case _:
                return None

    def qualified_name(self, node: ast.expr) -> str:
        """Return the qualified name of a builtin or of a part of `math`, such as `builtins.min`."""
        match node:
            case ast.Name(id=name) if name not in self._touching:
                return self.module.qualified(node)
            case ast.Name(id=name) | ast.Attribute(value=ast.Name(id=name)):
                match self._touching.get(name):
                    case [ast.Import() | ast.ImportFrom()]:
                        return self.module.qualified(node)
        return ""

    def constant(self, node: ast.expr) -> Any:
        """Return the value of a constant; a collection is a `Constant`."""
        constant = self._value(node, 0)
        if isinstance(constant, list | tuple | set | frozenset):
            parts = list(constant)
        elif isinstance(constant, dict):
            parts = [*constant.keys(), *constant.values()]
        else:
            if not is_translatable(constant):
                raise ObstacleError(node, "a constant that needs more than 64 bits, or a very long text")
            return constant
        if not all(map(is_translatable, parts)):
            raise ObstacleError(node, "a constant collection of other values than numbers and texts")
        return Constant(constant)

    def _value(self, node: ast.expr, depth: int) -> Any:
        if depth > 50:
            raise ObstacleError(node, "a deeply nested constant")
        below = depth + 1
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=parts):
                return tuple(self._value(part, below) for part in parts)
            case ast.List(elts=parts):
                return [self._value(part, below) for part in parts]
            case ast.Set(elts=parts):
                return {self._value(part, below) for part in parts}
            case ast.Dict(keys=keys, values=values) if all(keys):
                pairs = zip(keys, values, strict=True)
                return {self._value(k, below): self._value(v, below) for k, v in pairs if k is not None}
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._number(operand, below)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
                return _calculated(node, op, self._number(left, below), self._number(right, below))
            case ast.Call(func=ast.Name(id=name) as called, args=arguments, keywords=[]) if (
                name in _COLLECTIONS
                and self.qualified_name(called) == f"builtins.{name}"
                and len(arguments) <= 1
            ):
                return _COLLECTIONS[name](*(self._value(argument, below) for argument in arguments))
            case ast.Name(id=name):
                constant = self._value(self._assigned(node, name), below)
                if isinstance(constant, list | set | dict) and name in self._shared:
                    raise ObstacleError(node, f"`{name}`, which other code of this file might change")
                return constant
            case ast.Attribute() if self.qualified_name(node).startswith("math."):
                return _of_math(node)
        raise ObstacleError(node, f"`{ast.unparse(node)[:60]}`")

    def _number(self, node: ast.expr, depth: int) -> Any:
        number = self._value(node, depth)
        if isinstance(number, bool) or not isinstance(number, int | float) or abs(number) > _LARGEST:
            raise ObstacleError(node, f"the constant `{ast.unparse(node)[:60]}`")
        return number

    def _assigned(self, node: ast.expr, name: str) -> ast.expr:
        match self._touching.get(name):
            case [ast.Assign(targets=[ast.Name()], value=value)] | [ast.AnnAssign(value=ast.expr() as value)]:
                return value
            case None:
                raise ObstacleError(node, f"`{name}`, which this file does not define")
            case _:
                raise ObstacleError(node, f"`{name}`, which is not a constant of this file")


def _running(module: Module) -> Iterator[ast.AST]:
    return (node for statement in module.body if not is_main_guard(statement) for node in ast.walk(statement))


def _changes_any_name(node: ast.AST) -> bool:
    match node:
        case ast.Name(id="globals" | "exec" | "eval" | "__builtins__"):
            return True
        case ast.Attribute(attr="__globals__" | "__builtins__"):
            return True
        case ast.Attribute(value=ast.Name(id="sys"), attr="modules"):
            return True
        case _:
            return False


def _fields(statement: ast.stmt) -> set[str]:
    """Return the fields of a class without methods: they are no names of the module."""
    if not isinstance(statement, ast.ClassDef) or any(isinstance(member, Def) for member in statement.body):
        return set()
    return {
        member.target.id
        for member in statement.body
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name)
    }


def _calculated(node: ast.expr, op: ast.operator, left: Any, right: Any) -> Any:
    match op:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
    if right == 0:
        raise ObstacleError(node, "a constant that is divided by zero")
    return left / right


def _of_math(node: ast.Attribute) -> float:
    import math

    if node.attr not in {"pi", "e", "tau", "inf", "nan"}:
        raise ObstacleError(node, f"`{ast.unparse(node)}`")
    constant: float = getattr(math, node.attr)
    return constant


_READERS = frozenset(("get", "items", "keys", "values", "copy", "index", "count"))
_BUILTIN_READERS = frozenset(("len", "sorted", "min", "max", "sum", "any", "all", *_COLLECTIONS))


def _possibly_changed(body: list[ast.stmt]) -> set[str]:
    """Return the names that are read in places where their values get other names, or are passed on."""
    names: set[str] = set()
    todo: list[ast.AST] = list(body)
    while todo:
        node = todo.pop()
        safe: list[ast.expr] = []
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right]):
                safe = [right]
            case ast.Subscript(value=value, ctx=ast.Load()):
                safe = [value]
            case ast.Attribute(value=value, attr=attr) if attr in _READERS:
                safe = [value]
            case ast.Call(func=ast.Name(id=name), args=arguments) if name in _BUILTIN_READERS:
                safe = arguments
            case ast.For(iter=value) | ast.comprehension(iter=value):
                safe = [value]
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.Name):
                if isinstance(part.ctx, ast.Load) and part not in safe:
                    names.add(part.id)
            else:
                todo.append(part)
    return names
