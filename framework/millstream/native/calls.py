"""Calls: builtins, `math`, methods of texts and constant dicts, and other functions of the file."""

from __future__ import annotations

import ast

from millstream.native import messages
from millstream.native.aggregates import AGGREGATES, translate_aggregate
from millstream.native.expressions import ExpressionTranslator
from millstream.native.structs import struct_class
from millstream.native.texts import text_of, translate_method
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
    JavaValue,
    ObstacleError,
    java_type,
    kind_of,
    union_kinds,
)

_DIGITS = 300
"""Decimal places of `round`: no float has more that matter."""

_OF_NUMBERS = frozenset(
    (
        *("builtins.float", "builtins.int", "builtins.round", "math.fabs", "math.trunc"),
        *("math.floor", "math.ceil", "math.isnan", "math.isinf", "math.isfinite"),
    )
)


def translate_call(translator: ExpressionTranslator, node: ast.Call) -> JavaValue:
    if any(isinstance(argument, ast.Starred) for argument in node.args) or any(
        k.arg is None for k in node.keywords
    ):
        raise ObstacleError(node, "`*` or `**` in a call")
    match node.func:
        case ast.Name(id=name) if translator.code.read(name) is None and name not in translator.local_names:
            called = translator.names.function(name)
            if called is not None:
                return translator.program.call(translator, node, called)
            struct = struct_class(translator.names, name)
            if struct is not None:
                return translator.program.construct(translator, node, struct)
    qualified_name = translator.qualified_name(node.func)
    if qualified_name.startswith(("builtins.", "math.")):
        return _builtin_call(translator, node, qualified_name)
    match node.func:
        case ast.Attribute(value=receiver, attr=name):
            constant = translator.collection(receiver)
            if constant is not None:
                return _method_of_constant(translator, node, constant, name)
            value = translator.any_value(receiver)
            if value.is_time:
                return time_method(translator, node, value, name)
            return translate_method(translator, node, translator.scalar(receiver, value), name)
    raise ObstacleError(node, f"a call of `{ast.unparse(node.func)[:40]}`")


def _builtin_call(translator: ExpressionTranslator, node: ast.Call, name: str) -> JavaValue:
    if node.keywords and name != "builtins.sorted":
        raise ObstacleError(node, f"named arguments of `{ast.unparse(node.func)}`")
    arguments = node.args
    if len(arguments) == 1 and name in AGGREGATES:
        return translate_aggregate(translator, node, name, arguments[0])
    match name, len(arguments):
        case "builtins.len", 1:
            return _length(translator, node, arguments[0])
        case "builtins.min" | "builtins.max", count if count > 1:
            return _extreme(
                translator,
                node,
                [translator.value(argument) for argument in arguments],
                least=name.endswith("min"),
            )
        case "builtins.round", 2:
            return _rounded(translator, node, translator.value(arguments[0]), arguments[1])
        case "builtins.bool", 1:
            return translator.code.temporary(BOOL, translator.truth(translator.any_value(arguments[0])))
        case _, 1:
            return _of_one(translator, node, name, translator.value(arguments[0]))
    raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")


def _of_one(translator: ExpressionTranslator, node: ast.Call, name: str, value: JavaValue) -> JavaValue:
    if name in _OF_NUMBERS:
        value = translator.present(node, value, *messages.of_none(name))
    translator.code.record_line(node.lineno)
    match name:
        case "builtins.str":
            return translator.code.temporary(STR, text_of(translator, value))
        case "builtins.abs":
            return _absolute(translator, value)
        case "builtins.float" | "math.fabs" if _is_number(value):
            number = translator.double(value)
            return translator.code.temporary(FLOAT, f"Math.abs({number})" if name == "math.fabs" else number)
        case "builtins.int" | "math.trunc" if _is_number(value):
            return _to_integer(translator, value, "truncate")
        case "builtins.round" if _is_number(value):
            return _to_integer(translator, value, "round")
        case "math.floor" | "math.ceil" if _is_number(value):
            return _to_integer(translator, value, name.partition(".")[2])
        case "math.isnan" if _is_number(value):
            return translator.code.temporary(BOOL, f"Double.isNaN({translator.double(value)})")
        case "math.isinf" if _is_number(value):
            return translator.code.temporary(BOOL, f"Double.isInfinite({translator.double(value)})")
        case "math.isfinite" if _is_number(value):
            return translator.code.temporary(
                BOOL, f"(Math.abs({translator.double(value)}) <= Double.MAX_VALUE)"
            )
    raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")


def _is_number(value: JavaValue) -> bool:
    return value.only(NUMBERS)


def _absolute(translator: ExpressionTranslator, value: JavaValue) -> JavaValue:
    if value.kinds == FLOAT:
        return translator.code.temporary(FLOAT, f"Math.abs({value.code})")
    if value.kinds in {INT, BOOL} and not translator.code.wide:
        return translator.code.temporary(INT, f"PythonNumbers.absolute({translator.long(value)})")
    kinds = frozenset("int" if kind == "bool" else kind for kind in value.kinds & NUMBERS) or NONE
    return translator.code.temporary(
        kinds, f"PythonValues.absolute({translator.code.boxed(value)})", "Object"
    )


def _to_integer(translator: ExpressionTranslator, value: JavaValue, name: str) -> JavaValue:
    if translator.code.wide:
        return translator.code.temporary(INT, f"PythonValues.{name}({translator.code.boxed(value)})")
    match java_type(value.kinds, wide=False):
        case "double":
            return translator.code.temporary(INT, f"PythonNumbers.{name}({value.code})")
        case "Object":
            return translator.code.temporary(INT, f"PythonValues.toLong(PythonValues.{name}({value.code}))")
        case _:
            return translator.code.temporary(INT, translator.long(value))


def _length(translator: ExpressionTranslator, node: ast.Call, argument: ast.expr) -> JavaValue:
    constant = translator.collection(argument)
    if constant is not None:
        return translator.value(ast.copy_location(ast.Constant(len(constant.value)), node))
    text = translator.present(node, translator.any_value(argument), *messages.of_none("builtins.len"))
    if text.is_list:
        return translator.code.integer(f"(long) ((java.util.List) {text.code}).size()")
    if text.kinds != STR:
        raise ObstacleError(node, "`len()` of something that may not be a text or a list")
    return translator.code.integer(f"PythonTexts.length({text.code})")


def _extreme(
    translator: ExpressionTranslator, node: ast.Call, values: list[JavaValue], *, least: bool
) -> JavaValue:
    """Translate `min` and `max`: a later value is taken only if it is less, or greater."""
    best, *rest = values
    for value in rest:
        translator.code.record_line(node.lineno)
        taken = translator.compared(node, ast.Lt() if least else ast.Gt(), value, best)
        kinds = best.kinds | value.kinds
        java = java_type(kinds, wide=translator.code.wide)
        if java == "Object":
            # Without the casts, Java would make both of them floats.
            first, second = (f"(Object) {translator.code.boxed(operand)}" for operand in (value, best))
        else:
            first, second = value.code, best.code
        best = translator.code.temporary(kinds, f"({taken} ? {first} : {second})")
    return best


def _rounded(
    translator: ExpressionTranslator, node: ast.Call, value: JavaValue, digits: ast.expr
) -> JavaValue:
    match digits:
        case ast.Constant(value=int(count)) if not isinstance(count, bool) and 0 <= count <= _DIGITS:
            pass
        case ast.Name() if translator.code.read(digits.id) is None:
            count = translator.constant(digits)
            if type(count) is not int or not 0 <= count <= _DIGITS:
                raise ObstacleError(digits, "`round()` to anything but a constant number of digits")
        case _:
            raise ObstacleError(digits, "`round()` to anything but a constant number of digits")
    value = translator.present(node, value, *messages.of_none("digits"))
    translator.code.record_line(node.lineno)
    if value.kinds == FLOAT:
        return translator.code.temporary(FLOAT, f"PythonNumbers.round({value.code}, {count})")
    if not value.only(NUMBERS):
        raise ObstacleError(node, "`round()` of something that may not be a number")
    kinds = frozenset("int" if kind == "bool" else kind for kind in value.kinds)
    return translator.code.temporary(
        kinds, f"PythonValues.round({translator.code.boxed(value)}, {count})", "Object"
    )


def _method_of_constant(
    translator: ExpressionTranslator, node: ast.Call, constant: Constant, name: str
) -> JavaValue:
    if not isinstance(constant.value, dict) or name != "get" or node.keywords or len(node.args) not in {1, 2}:
        raise ObstacleError(node, f"`.{name}()` of a constant collection")
    key, *default = (translator.value(argument) for argument in node.args)
    otherwise = default[0] if default else NULL
    kinds = otherwise.kinds | union_kinds(map(kind_of, constant.value.values()))
    field = translator.program.field(constant)
    code = f"PythonValues.get({field}, {translator.code.boxed(key)}, {translator.code.boxed(otherwise)})"
    return translator.code.temporary(kinds, code, "Object")
