"""Structs, lists and dicts: what builds them, and their parts."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from millstream.native import messages
from millstream.native.expressions import ExpressionTranslator
from millstream.native.values import (
    BOOL,
    INT,
    NONE,
    NULL,
    STR,
    Constant,
    JavaValue,
    ObstacleError,
    StructKind,
    elements_of,
    kind_of,
    list_of,
    struct_kind,
    to_java,
    union_kinds,
)


def struct_value(
    translator: ExpressionTranslator, kind: StructKind, values: Mapping[str, JavaValue]
) -> JavaValue:
    """Write a struct: an array of its fields."""
    fields = ", ".join(translator.code.boxed(values[name]) for name, _ in kind.fields)
    return translator.code.temporary(frozenset((kind,)), f"new Object[] {{{fields}}}")


def list_display(translator: ExpressionTranslator, parts: list[JavaValue]) -> JavaValue:
    arguments = ", ".join(map(translator.code.boxed, parts))
    kinds = list_of(union_kinds(part.kinds for part in parts))
    return translator.code.temporary(kinds, f"PythonValues.list(new Object[] {{{arguments}}})")


def dict_display(
    translator: ExpressionTranslator, node: ast.expr, keys: Sequence[ast.expr | None], values: list[ast.expr]
) -> JavaValue:
    """Translate a dict whose keys are constant: it can be that of a TypedDict."""
    fields: dict[str, JavaValue] = {}
    for key, value in zip(keys, values, strict=True):
        match key:
            case ast.Constant(value=str(name)) if name not in fields:
                fields[name] = translator.any_value(value)
            case _:
                raise ObstacleError(node, "a dict whose keys are not constant, different texts")
    if not fields:
        raise ObstacleError(node, "an empty dict")
    return struct_value(
        translator, struct_kind("", {name: value.kinds for name, value in fields.items()}), fields
    )


def translate_field(
    translator: ExpressionTranslator, node: ast.Attribute | ast.Subscript, base: JavaValue, name: str
) -> JavaValue:
    """Translate the field of an object, or the item of a dict."""
    structs = [kind for kind in base.kinds if isinstance(kind, StructKind)]
    is_item = isinstance(node, ast.Subscript)
    positions = {[field for field, _ in struct.fields].index(name) for struct in structs if name in struct}
    if (
        len(positions) != 1
        or not (base.kinds - NONE).issubset(structs)
        or not all(name in struct and (struct.name == "") == is_item for struct in structs)
        or node.value.end_lineno != node.end_lineno
    ):
        raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")
    missing = "AttributeError", f"'NoneType' object has no attribute '{name}'"
    base = translator.present(node, base, *(messages.of_none("subscript") if is_item else missing))
    kinds = union_kinds(dict(struct.fields)[name] for struct in structs)
    return translator.code.temporary(kinds, f"((Object[]) {base.code})[{positions.pop()}]", "Object")


def translate_subscript(
    translator: ExpressionTranslator, node: ast.Subscript, container: ast.expr, index: ast.expr
) -> JavaValue:
    constant = translator.collection(container)
    if constant is not None and not isinstance(index, ast.Slice):
        return _item(translator, node, constant, translator.value(index))
    text = translator.any_value(container)
    match index:
        case ast.Constant(value=str(name)) if not text.is_scalar:
            return translate_field(translator, node, text, name)
    if not text.is_list and (not text.only(NONE | STR) or text.kinds == NONE):
        raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`: not of a text, a list or a dict")
    if isinstance(index, ast.Slice):
        if index.step is not None:
            raise ObstacleError(node, "a slice with a step")
        bounds = [NULL if bound is None else translator.value(bound) for bound in (index.lower, index.upper)]
        if not all(bound.only(NONE | INT | BOOL) for bound in bounds):
            raise ObstacleError(node, "a slice by anything but integers")
        text = translator.present(node, text, *messages.of_none("subscript"))
        translator.code.record_line(node.lineno)
        start, stop = map(translator.code.boxed, bounds)
        if text.is_list:
            code = f"PythonValues.slice((java.util.List) {text.code}, {start}, {stop})"
            return translator.code.temporary(text.kinds, code)
        return translator.code.temporary(STR, f"PythonTexts.slice({text.code}, {start}, {stop})")
    position = translator.value(index)
    text = translator.present(node, text, *messages.of_none("subscript"))
    position = translator.present(
        node, position, *messages.of_none(f"index of {'list' if text.is_list else 'str'}")
    )
    if not position.only(INT | BOOL):
        raise ObstacleError(node, "a position that is not an integer")
    translator.code.record_line(node.lineno)
    if text.is_list:
        code = f'PythonValues.item((java.util.List) {text.code}, {translator.code.boxed(position)}, "list")'
        return translator.code.temporary(elements_of(text), code, "Object")
    return translator.code.temporary(STR, f"PythonTexts.item({text.code}, {translator.code.boxed(position)})")


def _item(
    translator: ExpressionTranslator, node: ast.expr, collection: Constant, index: JavaValue
) -> JavaValue:
    constant = translator.program.field(collection)
    translator.code.record_line(node.lineno)
    if isinstance(collection.value, dict):
        kinds = union_kinds(map(kind_of, collection.value.values())) or NONE
        translator.program.shows_texts |= "str" in index.kinds
        code = f"PythonValues.item({constant}, {translator.code.boxed(index)}, UNPRINTABLE)"
        return translator.code.temporary(kinds, code, "Object")
    name = type(collection.value).__name__
    if name in {"list", "tuple"}:
        index = translator.present(node, index, *messages.of_none(f"index of {name}"))
    if name not in {"list", "tuple"} or not index.only(INT | BOOL):
        raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")
    kinds = union_kinds(map(kind_of, collection.value)) or NONE
    return translator.code.temporary(
        kinds, f"PythonValues.item({constant}, {translator.code.boxed(index)}, {to_java(name)})", "Object"
    )
