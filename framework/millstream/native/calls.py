"""Calls: builtins, `math`, methods of texts and constant dicts, and other functions of the file."""

from __future__ import annotations

import ast

from millstream.native import messages
from millstream.native.aggregates import AGGREGATES, aggregate
from millstream.native.expressions import Expressions
from millstream.native.structs import struct_class
from millstream.native.texts import method, text_of
from millstream.native.times import time_method
from millstream.native.values import (
    BOOL,
    FLOAT,
    INT,
    NONE,
    NULL,
    NUMBERS,
    STR,
    Constant,
    ObstacleError,
    Value,
    java_type,
    kind_of,
    union,
)

_DIGITS = 300
"""Decimal places of `round`: no float has more that matter."""

_OF_NUMBERS = frozenset(
    (
        *("builtins.float", "builtins.int", "builtins.round", "math.fabs", "math.trunc"),
        *("math.floor", "math.ceil", "math.isnan", "math.isinf", "math.isfinite"),
    )
)


def call(walk: Expressions, node: ast.Call) -> Value:
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        k.arg is None for k in node.keywords
    ):
        raise ObstacleError(node, "`*` or `**` in a call")
    match node.func:
        case ast.Name(id=name) if walk.code.read(name) is None and name not in walk.local_names:
            called = walk.names.function(name)
            if called is not None:
                return walk.program.call(walk, node, called)
            struct = struct_class(walk.names, name)
            if struct is not None:
                return walk.program.construct(walk, node, struct)
    qualified_name = walk.qualified_name(node.func)
    if qualified_name.startswith(("builtins.", "math.")):
        return _builtin_call(walk, node, qualified_name)
    match node.func:
        case ast.Attribute(value=receiver, attr=name):
            constant = walk.collection(receiver)
            if constant is not None:
                return _method_of_constant(walk, node, constant, name)
            value = walk.any_value(receiver)
            if value.is_time:
                return time_method(walk, node, value, name)
            return method(walk, node, walk.scalar(receiver, value), name)
    raise ObstacleError(node, f"a call of `{ast.unparse(node.func)[:40]}`")


def _builtin_call(walk: Expressions, node: ast.Call, name: str) -> Value:
    if node.keywords and name != "builtins.sorted":
        raise ObstacleError(node, f"named arguments of `{ast.unparse(node.func)}`")
    arguments = node.args
    if len(arguments) == 1 and name in AGGREGATES:
        return aggregate(walk, node, name, arguments[0])
    match name, len(arguments):
        case "builtins.len", 1:
            return _length(walk, node, arguments[0])
        case "builtins.min" | "builtins.max", count if count > 1:
            return _extreme(
                walk, node, [walk.value(argument) for argument in arguments], least=name.endswith("min")
            )
        case "builtins.round", 2:
            return _rounded(walk, node, walk.value(arguments[0]), arguments[1])
        case "builtins.bool", 1:
            return walk.code.temporary(BOOL, walk.truth(walk.any_value(arguments[0])))
        case _, 1:
            return _of_one(walk, node, name, walk.value(arguments[0]))
    raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")


def _of_one(walk: Expressions, node: ast.Call, name: str, value: Value) -> Value:
    if name in _OF_NUMBERS:
        value = walk.present(node, value, *messages.of_none(name))
    walk.code.record_line(node.lineno)
    match name:
        case "builtins.str":
            return walk.code.temporary(STR, text_of(walk, value))
        case "builtins.abs":
            return _absolute(walk, value)
        case "builtins.float" | "math.fabs" if _is_number(value):
            number = walk.double(value)
            return walk.code.temporary(FLOAT, f"Math.abs({number})" if name == "math.fabs" else number)
        case "builtins.int" | "math.trunc" if _is_number(value):
            return _to_integer(walk, value, "truncate")
        case "builtins.round" if _is_number(value):
            return _to_integer(walk, value, "round")
        case "math.floor" | "math.ceil" if _is_number(value):
            return _to_integer(walk, value, name.partition(".")[2])
        case "math.isnan" if _is_number(value):
            return walk.code.temporary(BOOL, f"Double.isNaN({walk.double(value)})")
        case "math.isinf" if _is_number(value):
            return walk.code.temporary(BOOL, f"Double.isInfinite({walk.double(value)})")
        case "math.isfinite" if _is_number(value):
            return walk.code.temporary(BOOL, f"(Math.abs({walk.double(value)}) <= Double.MAX_VALUE)")
    raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")


def _is_number(value: Value) -> bool:
    return value.only(NUMBERS)


def _absolute(walk: Expressions, value: Value) -> Value:
    if value.kinds == FLOAT:
        return walk.code.temporary(FLOAT, f"Math.abs({value.code})")
    if value.kinds in {INT, BOOL} and not walk.code.wide:
        return walk.code.temporary(INT, f"PythonNumbers.absolute({walk.long(value)})")
    kinds = frozenset("int" if kind == "bool" else kind for kind in value.kinds & NUMBERS) or NONE
    return walk.code.temporary(kinds, f"PythonValues.absolute({walk.code.boxed(value)})", "Object")


def _to_integer(walk: Expressions, value: Value, name: str) -> Value:
    if walk.code.wide:
        return walk.code.temporary(INT, f"PythonValues.{name}({walk.code.boxed(value)})")
    match java_type(value.kinds, wide=False):
        case "double":
            return walk.code.temporary(INT, f"PythonNumbers.{name}({value.code})")
        case "Object":
            return walk.code.temporary(INT, f"PythonValues.toLong(PythonValues.{name}({value.code}))")
        case _:
            return walk.code.temporary(INT, walk.long(value))


def _length(walk: Expressions, node: ast.Call, argument: ast.expr) -> Value:
    constant = walk.collection(argument)
    if constant is not None:
        return walk.value(ast.copy_location(ast.Constant(len(constant.value)), node))
    text = walk.present(node, walk.any_value(argument), *messages.of_none("builtins.len"))
    if text.is_list:
        return walk.code.integer(f"(long) ((java.util.List) {text.code}).size()")
    if text.kinds != STR:
        raise ObstacleError(node, "`len()` of something that may not be a text or a list")
    return walk.code.integer(f"PythonTexts.length({text.code})")


def _extreme(walk: Expressions, node: ast.Call, values: list[Value], *, least: bool) -> Value:
    """Translate `min` and `max`: a later value is taken only if it is less, or greater."""
    best, *rest = values
    for value in rest:
        walk.code.record_line(node.lineno)
        taken = walk.compared(node, ast.Lt() if least else ast.Gt(), value, best)
        kinds = best.kinds | value.kinds
        java = java_type(kinds, wide=walk.code.wide)
        if java == "Object":
            # Without the casts, Java would make both of them floats.
            first, second = (f"(Object) {walk.code.boxed(operand)}" for operand in (value, best))
        else:
            first, second = value.code, best.code
        best = walk.code.temporary(kinds, f"({taken} ? {first} : {second})")
    return best


def _rounded(walk: Expressions, node: ast.Call, value: Value, digits: ast.expr) -> Value:
    match digits:
        case ast.Constant(value=int(count)) if not isinstance(count, bool) and 0 <= count <= _DIGITS:
            pass
        case ast.Name() if walk.code.read(digits.id) is None:
            count = walk.constant(digits)
            if type(count) is not int or not 0 <= count <= _DIGITS:
                raise ObstacleError(digits, "`round()` to anything but a constant number of digits")
        case _:
            raise ObstacleError(digits, "`round()` to anything but a constant number of digits")
    value = walk.present(node, value, *messages.of_none("digits"))
    walk.code.record_line(node.lineno)
    if value.kinds == FLOAT:
        return walk.code.temporary(FLOAT, f"PythonNumbers.round({value.code}, {count})")
    if not value.only(NUMBERS):
        raise ObstacleError(node, "`round()` of something that may not be a number")
    kinds = frozenset("int" if kind == "bool" else kind for kind in value.kinds)
    return walk.code.temporary(kinds, f"PythonValues.round({walk.code.boxed(value)}, {count})", "Object")


def _method_of_constant(walk: Expressions, node: ast.Call, constant: Constant, name: str) -> Value:
    if not isinstance(constant.value, dict) or name != "get" or node.keywords or len(node.args) not in {1, 2}:
        raise ObstacleError(node, f"`.{name}()` of a constant collection")
    key, *default = (walk.value(argument) for argument in node.args)
    otherwise = default[0] if default else NULL
    kinds = otherwise.kinds | union(map(kind_of, constant.value.values()))
    field = walk.program.field(constant)
    code = f"PythonValues.get({field}, {walk.code.boxed(key)}, {walk.code.boxed(otherwise)})"
    return walk.code.temporary(kinds, code, "Object")
