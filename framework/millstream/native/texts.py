"""Texts: f-strings and the methods of str."""

from __future__ import annotations

import ast
import re

from millstream.native import characters, messages
from millstream.native.expressions import ExpressionTranslator
from millstream.native.iterations import list_value
from millstream.native.values import (
    BOOL,
    INT,
    NONE,
    NUMBERS,
    STR,
    Constant,
    JavaValue,
    ObstacleError,
    elements_of,
    java_type,
    list_of,
    to_java,
)

_FIXED = re.compile(r"\.(\d{1,2})f")
_STRIPS = {"strip": (True, True), "lstrip": (True, False), "rstrip": (False, True)}


def joined_text(translator: ExpressionTranslator, parts: list[ast.expr]) -> JavaValue:
    pieces = [_part(translator, part) for part in parts]
    if not pieces:
        return JavaValue('""', STR)
    return translator.code.temporary(STR, " + ".join(pieces) if len(pieces) > 1 else pieces[0])


def _part(translator: ExpressionTranslator, part: ast.expr) -> str:
    match part:
        case ast.Constant():
            return translator.value(part).code
        case ast.FormattedValue(value=value, conversion=-1 | 115, format_spec=None):
            return text_of(translator, translator.value(value))
        case ast.FormattedValue(
            value=value, conversion=-1, format_spec=ast.JoinedStr(values=[ast.Constant(value=str(spec))])
        ):
            return _formatted(translator, part, translator.value(value), spec)
    raise ObstacleError(part, "a format in an f-string")


def _formatted(translator: ExpressionTranslator, node: ast.expr, value: JavaValue, spec: str) -> str:
    fixed = _FIXED.fullmatch(spec)
    if fixed or spec == "d":
        value = translator.present(node, value, *messages.of_none("format"))
    if fixed and value.only(NUMBERS):
        return f"PythonTexts.fixed({translator.code.boxed(value)}, {int(fixed[1])})"
    if spec == "d" and value.only(INT):
        return text_of(translator, value)
    raise ObstacleError(node, f"the format `{spec}`")


def text_of(translator: ExpressionTranslator, value: JavaValue) -> str:
    """Return the Java expression of `str(value)`."""
    match java_type(value.kinds, wide=translator.code.wide):
        case "String":
            return value.code
        case "double":
            return f"PythonTexts.text({value.code})"
        case "long":
            return f"Long.toString({value.code})"
        case _:
            return f"PythonTexts.text({translator.code.boxed(value)})"


def translate_method(
    translator: ExpressionTranslator, node: ast.Call, receiver: JavaValue, name: str
) -> JavaValue:
    """Translate the call of a method of a text."""
    message = f"'NoneType' object has no attribute '{name}'"
    receiver = translator.present(node, receiver, "AttributeError", message)
    if receiver.kinds != STR:
        raise ObstacleError(node, f"`.{name}()` of something that is not a text")
    text = receiver.code
    match name:
        case "startswith" | "endswith":
            return _ends(translator, node, text, "startsWith" if name == "startswith" else "endsWith")
        case "strip" | "lstrip" | "rstrip":
            stripped = _stripped(translator, node)
            left, right = (to_java(is_stripped) for is_stripped in _STRIPS[name])
            return translator.code.temporary(STR, f"PythonTexts.strip({text}, {stripped}, {left}, {right})")
        case "removeprefix":
            (part,) = _texts(translator, node, exactly=1)
            cut = f"{text}.substring({part}.length())"
            return translator.code.temporary(STR, f"({text}.startsWith({part}) ? {cut} : {text})")
        case "removesuffix":
            (part,) = _texts(translator, node, exactly=1)
            cut = f"{text}.substring(0, {text}.length() - {part}.length())"
            return translator.code.temporary(STR, f"({text}.endsWith({part}) ? {cut} : {text})")
        case "replace":
            if not (node.args and isinstance(node.args[0], ast.Constant) and node.args[0].value):
                raise ObstacleError(node, "`.replace()` of anything but a constant text")
            old, new = _texts(translator, node, exactly=2)
            return translator.code.temporary(STR, f"{text}.replace({old}, {new})")
        case "find" | "count":
            (part,) = _texts(translator, node, exactly=1)
            return translator.code.integer(f"PythonTexts.{name}({text}, {part})")
        case "join" if len(node.args) == 1 and not node.keywords:
            return _joined(translator, node, text, node.args[0])
        case "split":
            return _split(translator, node, text)
        case "upper" | "lower":
            if node.args or node.keywords:
                raise ObstacleError(node, f"arguments of `.{name}()`")
            return translator.code.temporary(
                STR, f"PythonTexts.{name}({text}, {translator.program.characters(name)})"
            )
    raise ObstacleError(node, f"`.{name}()`")


def _joined(translator: ExpressionTranslator, node: ast.Call, text: str, argument: ast.expr) -> JavaValue:
    parts = list_value(translator, node, argument, messages.of_none_argument("join", 0, 1))
    if not elements_of(parts) <= STR | NONE:
        raise ObstacleError(node, "`.join()` of anything but texts")
    translator.code.record_line(node.lineno)
    return translator.code.temporary(STR, f"PythonTexts.join({text}, (java.util.List) {parts.code})")


def _split(translator: ExpressionTranslator, node: ast.Call, text: str) -> JavaValue:
    match node:
        case ast.Call(args=[], keywords=[]):
            code = f"PythonTexts.words({text}, {to_java(characters.whitespace())})"
        case ast.Call(args=[ast.Constant(value=str(part)), *most], keywords=[]) if part:
            match most:
                case []:
                    limit = -1
                case [ast.Constant(value=int(limit))]:
                    pass
                case _:
                    raise ObstacleError(node, "`.split()` into anything but a constant number of parts")
            code = f"PythonTexts.split({text}, {to_java(part)}, {int(limit)}L)"
        case _:
            raise ObstacleError(node, "`.split()` by anything but a constant text")
    return translator.code.temporary(list_of(STR), code)


def _ends(translator: ExpressionTranslator, node: ast.Call, text: str, java: str) -> JavaValue:
    constant = translator.collection(node.args[0]) if len(node.args) == 1 and not node.keywords else None
    if isinstance(constant, Constant):
        if not isinstance(constant.value, tuple) or not all(
            isinstance(affix, str) for affix in constant.value
        ):
            raise ObstacleError(node, "several prefixes or suffixes that are not a constant tuple of texts")
        tests = [f"{text}.{java}({to_java(affix)})" for affix in constant.value]
        return translator.code.temporary(BOOL, " || ".join(tests) or "false")
    (part,) = _texts(translator, node, exactly=1)
    return translator.code.temporary(BOOL, f"{text}.{java}({part})")


def _stripped(translator: ExpressionTranslator, node: ast.Call) -> str:
    """Return the characters that are stripped; without any, or with None, it is whitespace."""
    spaces = to_java(characters.whitespace())
    if len(node.args) > 1 or node.keywords:
        raise ObstacleError(node, f"the arguments of `{ast.unparse(node)[:40]}`")
    if not node.args:
        return spaces
    argument = translator.value(node.args[0])
    if not argument.only(STR | NONE):
        raise ObstacleError(node, f"an argument of `{ast.unparse(node)[:40]}` that may not be a text")
    return (
        argument.code
        if argument.kinds == STR
        else f"({argument.code} == null ? {spaces} : (String) {argument.code})"
    )


def _texts(translator: ExpressionTranslator, node: ast.Call, *, exactly: int) -> list[str]:
    count = len(node.args)
    if node.keywords or count != exactly:
        raise ObstacleError(node, f"the arguments of `{ast.unparse(node)[:40]}`")
    assert isinstance(node.func, ast.Attribute)
    arguments = [translator.value(argument) for argument in node.args]
    values = [
        translator.present(node, value, *messages.of_none_argument(node.func.attr, index, count))
        for index, value in enumerate(arguments)
    ]
    if not all(value.kinds == STR for value in values):
        raise ObstacleError(node, f"an argument of `{ast.unparse(node)[:40]}` that may not be a text")
    return [value.code for value in values]
