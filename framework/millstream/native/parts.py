"""Structs, lists and dicts: what builds them, and their parts."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from millstream.native import messages
from millstream.native.expressions import Expressions
from millstream.native.values import (
    BOOL,
    INT,
    NONE,
    NULL,
    STR,
    Constant,
    ObstacleError,
    StructKind,
    Value,
    elements_of,
    kind_of,
    list_of,
    literal,
    struct_kind,
    union,
)


def struct_value(walk: Expressions, kind: StructKind, values: Mapping[str, Value]) -> Value:
    """Write a struct: an array of its fields."""
    fields = ", ".join(walk.code.boxed(values[name]) for name, _ in kind.fields)
    return walk.code.temporary(frozenset((kind,)), f"new Object[] {{{fields}}}")


def list_display(walk: Expressions, parts: list[Value]) -> Value:
    arguments = ", ".join(map(walk.code.boxed, parts))
    kinds = list_of(union(part.kinds for part in parts))
    return walk.code.temporary(kinds, f"PythonValues.list(new Object[] {{{arguments}}})")


def dict_display(
    walk: Expressions, node: ast.expr, keys: Sequence[ast.expr | None], values: list[ast.expr]
) -> Value:
    """Translate a dict whose keys are constant: it can be that of a TypedDict."""
    fields: dict[str, Value] = {}
    for key, value in zip(keys, values, strict=True):
        match key:
            case ast.Constant(value=str(name)) if name not in fields:
                fields[name] = walk.any_value(value)
            case _:
                raise ObstacleError(node, "a dict whose keys are not constant, different texts")
    if not fields:
        raise ObstacleError(node, "an empty dict")
    return struct_value(walk, struct_kind("", {name: value.kinds for name, value in fields.items()}), fields)


def field(walk: Expressions, node: ast.Attribute | ast.Subscript, base: Value, name: str) -> Value:
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
    base = walk.present(node, base, *(messages.of_none("subscript") if is_item else missing))
    kinds = union(dict(struct.fields)[name] for struct in structs)
    return walk.code.temporary(kinds, f"((Object[]) {base.code})[{positions.pop()}]", "Object")


def subscript(walk: Expressions, node: ast.Subscript, container: ast.expr, index: ast.expr) -> Value:
    constant = walk.collection(container)
    if constant is not None and not isinstance(index, ast.Slice):
        return _item(walk, node, constant, walk.value(index))
    text = walk.any_value(container)
    match index:
        case ast.Constant(value=str(name)) if not text.is_scalar:
            return field(walk, node, text, name)
    if not text.is_list and (not text.only(NONE | STR) or text.kinds == NONE):
        raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`: not of a text, a list or a dict")
    if isinstance(index, ast.Slice):
        if index.step is not None:
            raise ObstacleError(node, "a slice with a step")
        bounds = [NULL if bound is None else walk.value(bound) for bound in (index.lower, index.upper)]
        if not all(bound.only(NONE | INT | BOOL) for bound in bounds):
            raise ObstacleError(node, "a slice by anything but integers")
        text = walk.present(node, text, *messages.of_none("subscript"))
        walk.code.record_line(node.lineno)
        start, stop = map(walk.code.boxed, bounds)
        if text.is_list:
            code = f"PythonValues.slice((java.util.List) {text.code}, {start}, {stop})"
            return walk.code.temporary(text.kinds, code)
        return walk.code.temporary(STR, f"PythonTexts.slice({text.code}, {start}, {stop})")
    position = walk.value(index)
    text = walk.present(node, text, *messages.of_none("subscript"))
    position = walk.present(
        node, position, *messages.of_none(f"index of {'list' if text.is_list else 'str'}")
    )
    if not position.only(INT | BOOL):
        raise ObstacleError(node, "a position that is not an integer")
    walk.code.record_line(node.lineno)
    if text.is_list:
        code = f'PythonValues.item((java.util.List) {text.code}, {walk.code.boxed(position)}, "list")'
        return walk.code.temporary(elements_of(text), code, "Object")
    return walk.code.temporary(STR, f"PythonTexts.item({text.code}, {walk.code.boxed(position)})")


def _item(walk: Expressions, node: ast.expr, collection: Constant, index: Value) -> Value:
    constant = walk.program.field(collection)
    walk.code.record_line(node.lineno)
    if isinstance(collection.value, dict):
        kinds = union(map(kind_of, collection.value.values())) or NONE
        walk.program.shows_texts |= "str" in index.kinds
        code = f"PythonValues.item({constant}, {walk.code.boxed(index)}, UNPRINTABLE)"
        return walk.code.temporary(kinds, code, "Object")
    name = type(collection.value).__name__
    if name in {"list", "tuple"}:
        index = walk.present(node, index, *messages.of_none(f"index of {name}"))
    if name not in {"list", "tuple"} or not index.only(INT | BOOL):
        raise ObstacleError(node, f"`{ast.unparse(node)[:40]}`")
    kinds = union(map(kind_of, collection.value)) or NONE
    return walk.code.temporary(
        kinds, f"PythonValues.item({constant}, {walk.code.boxed(index)}, {literal(name)})", "Object"
    )
