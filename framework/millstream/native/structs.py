"""The classes of structs: dataclasses, NamedTuples and TypedDicts that do nothing but keep their fields."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from msgspec import Struct

from millstream.native.constants import ModuleNames
from millstream.native.values import Kinds, ObstacleError, StructKind, struct_kind
from millstream.project.structs import Family

_HARMLESS = frozenset(("frozen", "slots", "eq", "order", "repr", "match_args", "unsafe_hash"))
"""Arguments of `@dataclass` that change nothing about what is translated."""
_BASES: Mapping[str, Family] = {"typing.NamedTuple": "named tuple", "typing.TypedDict": "typed dict"}
_NOT_FIELDS = ("typing.ClassVar", "typing.NotRequired", "dataclasses.InitVar", "dataclasses.KW_ONLY")


class StructClass(Struct, frozen=True):
    name: str
    family: Family
    hints: Mapping[str, ast.expr]
    """Of its fields, in the order of their definition."""
    defaults: Mapping[str, ast.expr]

    @property
    def fields(self) -> list[str]:
        return list(self.hints)

    def kind(self, fields: Mapping[str, Kinds]) -> StructKind:
        return struct_kind("" if self.family == "typed dict" else self.name, fields)


def struct_class(names: ModuleNames, name: str) -> StructClass | None:
    """Return the class of a name, if it is one of this file."""
    node = names.class_(name)
    if node is None:
        return None
    family = _family(names, node)
    hints: dict[str, ast.expr] = {}
    defaults: dict[str, ast.expr] = {}
    methods: set[str] = set()
    for statement in node.body:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.AnnAssign(target=ast.Name(id=field), annotation=hint, value=default) if (
                _form(names, hint) not in _NOT_FIELDS
            ):
                hints[field] = hint
                if default is not None:
                    names.constant(default)  # not `field()`, which can change how the class is called
                    defaults[field] = default
            case ast.FunctionDef(name=method, decorator_list=[]) if not method.startswith("__"):
                methods.add(method)
            case _:
                raise ObstacleError(statement, f"`{ast.unparse(statement).splitlines()[0][:40]}` in a class")
    if methods & hints.keys() or not hints:
        raise ObstacleError(node, f"the fields of `{name}`")
    return StructClass(name, family, hints, defaults)


def _family(names: ModuleNames, node: ast.ClassDef) -> Family:
    match node:
        case ast.ClassDef(decorator_list=[], bases=[base], keywords=[]) if (
            names.qualified_name(base) in _BASES
        ):
            return _BASES[names.qualified_name(base)]
        case ast.ClassDef(decorator_list=[decorator], bases=[], keywords=[]):
            called = decorator
            match decorator:
                case ast.Call(func=function, args=[], keywords=keywords) if all(
                    keyword.arg in _HARMLESS for keyword in keywords
                ):
                    called = function
            if names.qualified_name(called) == "dataclasses.dataclass":
                return "dataclass"
    raise ObstacleError(
        node, f"the class `{node.name}`, which is not a plain dataclass, NamedTuple or TypedDict"
    )


def _form(names: ModuleNames, hint: ast.expr) -> str:
    """Return what a hint is, such as `typing.ClassVar`, without what its brackets contain."""
    node = names.hints.resolve(hint)
    return names.module.qualified(node.value if isinstance(node, ast.Subscript) else node)
