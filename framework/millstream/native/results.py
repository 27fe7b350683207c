"""Results of a function that SQL calls: how Java checks that they fit their type."""

from __future__ import annotations

import ast

from millstream import types
from millstream.native.program import Program
from millstream.native.structs import struct_class
from millstream.native.values import Kinds, ListKind, ObstacleError, StructKind, literal, union
from millstream.project.hints import Hint

_SCALARS = (types.BOOLEAN, types.STRING, types.FLOAT, types.DOUBLE, *types.INTEGERS)


def fit(program: Program, node: ast.AST, hint: Hint, kinds: Kinds) -> str:
    """Return the Java expression of the check that `runner/python/fitting.py` does."""
    structs = [each for each in kinds if isinstance(each, StructKind)]
    lists = [each for each in kinds if isinstance(each, ListKind)]
    optional = literal(hint.nullable)
    program.shows_texts |= "str" in kinds and hint.type != types.STRING
    if hint.type in _SCALARS and not structs and not lists:
        return f"Fit.scalar({literal(str(hint.type))}, {optional})"
    if hint.python in {"list", "tuple"} and not structs:
        element = fit(program, node, hint.parts[0], union(each.elements for each in lists))
        return f"Fit.list({optional}, {element})"
    struct = struct_class(program.names, hint.python)
    if (
        struct is None
        or lists
        or not all(sorted(struct.fields) == [f for f, _ in each.fields] for each in structs)
    ):
        raise ObstacleError(node, f"a result of type {hint.type}")
    given = {name: union(dict(each.fields)[name] for each in structs) for name in struct.fields}
    parts = [
        fit(program, node, part, given[name]) for name, part in zip(struct.fields, hint.parts, strict=True)
    ]
    fields = ", ".join(map(literal, struct.fields))
    return f"Fit.struct({optional}, new String[] {{{fields}}}, new Fit[] {{{', '.join(parts)}}})"
