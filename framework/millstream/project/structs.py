"""Classes of a Python file that are structs in SQL: dataclasses, TypedDicts, NamedTuples."""

import ast
from typing import Literal

from millstream.core.errors import Diagnostic
from millstream.project.python_module import Module

Family = Literal["dataclass", "typed dict", "named tuple"]

_HELP = "write `@dataclass` above it, or make it a TypedDict or a NamedTuple."
_DATACLASS = ("dataclasses.dataclass",)
_HARMLESS = ("builtins.object", "abc.ABC", "typing.TypedDict", "typing.NamedTuple")


def family_of(module: Module, node: ast.ClassDef, seen: tuple[str, ...] = ()) -> Family | None:
    """Return which kind of struct a class is; a subclass of a dataclass must itself be decorated."""
    for decorator in node.decorator_list:
        if module.qualified(decorator.func if isinstance(decorator, ast.Call) else decorator) in _DATACLASS:
            return "dataclass"
    for base in node.bases:
        match module.qualified(base):
            case "typing.TypedDict":
                return "typed dict"
            case "typing.NamedTuple":
                return "named tuple"
        parent = module.classes.get(base.id) if isinstance(base, ast.Name) else None
        if (
            parent
            and parent.name not in seen
            and family_of(module, parent, (*seen, node.name)) == "typed dict"
        ):
            return "typed dict"
    return None


def fields_of(module: Module, use: ast.Name, errors: list[Diagnostic]) -> dict[str, ast.expr]:
    """Return the fields of the class that `use` names and their hints, in order, parents first."""
    node = module.classes[use.id]
    if family_of(module, node) is None:
        enum = any(module.qualified(base).startswith("enum.") for base in node.bases)
        remedy = "use `str` and check the values in SQL, or `Literal['a', 'b']`." if enum else _HELP
        message = f"the class '{use.id}' is not a dataclass, TypedDict or NamedTuple"
        errors.append(module.error(use, "MS314", message, remedy))
        return {}
    fields = _fields(module, node, errors, ())
    folded: dict[str, str] = {}
    for name in fields:
        other = folded.setdefault(name.lower(), name)
        if other != name:
            message = f"the fields '{other}' and '{name}' of '{use.id}' are the same name in SQL"
            errors.append(module.error(use, "MS314", message, "rename one: SQL ignores case."))
    if not fields:
        message = f"the class '{use.id}' has no fields"
        errors.append(
            module.error(use, "MS314", message, "give it fields with hints, such as `count: int = 0`.")
        )
    return fields


def _fields(
    module: Module, node: ast.ClassDef, errors: list[Diagnostic], below: tuple[str, ...]
) -> dict[str, ast.expr]:
    hints: dict[str, ast.expr] = {}
    for base in reversed(node.bases):
        parent = module.classes.get(base.id) if isinstance(base, ast.Name) else None
        if parent and parent.name not in (*below, node.name):
            if family_of(module, parent):
                hints |= _fields(module, parent, errors, (*below, node.name))
        elif module.qualified(base) not in _HARMLESS:
            message = f"'{node.name}' inherits from `{ast.unparse(base)}`, whose fields are unknown here"
            errors.append(module.error(base, "MS314", message, "define all of its fields in this file."))
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=hint) if not _is_not_field(module, hint):
                hints[name] = hint
    return hints


def _is_not_field(module: Module, hint: ast.expr) -> bool:
    written = hint.value if isinstance(hint, ast.Subscript) else hint
    return module.qualified(written) in {"typing.ClassVar", "dataclasses.KW_ONLY"}
