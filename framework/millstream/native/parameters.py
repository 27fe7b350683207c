"""Parameters of a function that SQL calls: what its arguments are in Python."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from millstream.core import types
from millstream.core.types import Type
from millstream.native.constants import ModuleNames
from millstream.native.structs import struct_class
from millstream.native.values import (
    BOOL,
    DATE,
    DATETIME,
    FLOAT,
    INT,
    NONE,
    STR,
    Kinds,
    ObstacleError,
    list_of,
)
from millstream.project.type_hints import Hint

_KINDS: Mapping[Type, Kinds] = {
    types.BOOLEAN: BOOL, types.STRING: STR, types.DOUBLE: FLOAT, types.FLOAT: FLOAT,
    **dict.fromkeys(types.INTEGERS, INT),
}  # fmt: skip
_TIMES: Mapping[tuple[Type, str], Kinds] = {
    (types.DATE, "date"): DATE, (types.TIMESTAMP, "datetime"): DATETIME,
}  # fmt: skip


def kinds_of(names: ModuleNames, node: ast.AST, hint: Hint, *, optional: bool) -> Kinds:
    """Return the kinds of an argument; `optional` ones, and their parts, may be None."""
    none = NONE if optional else frozenset()
    if hint.type in _KINDS:
        return _KINDS[hint.type] | none
    if (hint.type, hint.python) in _TIMES:
        return _TIMES[hint.type, hint.python] | none
    if isinstance(hint.type, types.Array) and hint.python == "list":
        return list_of(kinds_of(names, node, hint.parts[0], optional=optional)) | none
    struct = struct_class(names, hint.python)
    if struct is None:
        raise ObstacleError(node, f"a parameter of type {hint.type}")
    parts = zip(struct.fields, hint.parts, strict=True)
    fields = {name: kinds_of(names, node, part, optional=optional) for name, part in parts}
    return frozenset((struct.kind(fields),)) | none


def hint_signature(hint: Hint) -> str:
    """Return what `NativeFunction` compares with the types of a call's arguments."""
    match hint.type:
        case types.Row(fields=fields):
            parts = zip(fields, hint.parts, strict=True)
            return f"{{{','.join(f'{field.name}:{hint_signature(part)}' for field, part in parts)}}}"
        case types.Array():
            return f"[{hint_signature(hint.parts[0])}]"
        case types.DATE | types.TIMESTAMP:
            return hint.python
        case scalar:
            return next(str(kind) for kind in _KINDS[scalar])
