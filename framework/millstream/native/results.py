"""Results of a function that SQL calls: how Java checks that they fit their type."""

from __future__ import annotations

import ast

from millstream.core import types
from millstream.native.program import JavaProgram
from millstream.native.structs import struct_class
from millstream.native.values import (
    DATE,
    DATETIME,
    Kinds,
    ListKind,
    ObstacleError,
    StructKind,
    to_java,
    union_kinds,
)
from millstream.project.type_hints import Hint

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
