"""Statements that change something besides the names of their module when that is imported.

When in doubt, a statement has an effect: a call of code that this module does not define may change anything.
What a statement changes of its own module is followed by names (`digests`).
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct

from millstream.project.python_module import Def

Effect = Literal["", "module", "any"]
"""`module`: attributes of imported modules, and what is within them; `any`: what can't be told."""

_DYNAMIC = frozenset(
    ("globals", "locals", "vars", "exec", "eval", "setattr", "delattr", "__import__", "__builtins__")
)
"""Names by which code can change any name; not only where they are called."""
_HARMLESS = frozenset(("logging", "warnings", "typing", "typing_extensions", "dataclasses", "enum", "abc"))
"""Modules of which no call changes a value that a function gets."""
_CHANGING = (
    *("set", "seed", "put", "register", "install", "patch", "add", "update", "insert", "append", "extend"),
    *(
        "clear",
        "pop",
        "remove",
        "discard",
        "del",
        "enable",
        "disable",
        "use",
        "import_module",
        "reload",
        "run",
    ),
)
"""How the names of functions begin that change something, of libraries and of values."""
_ON_CREATION = frozenset(("__init__", "__new__", "__post_init__", "__call__"))
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


class _Names(Struct, frozen=True):
    """What names stand for."""

    imports: dict[str, str]
    """The modules of imported names."""
    defs: dict[str, list[Def | ast.ClassDef]]
    values: dict[str, list[ast.expr]]
    """What is assigned to each other name."""

    def within(self, function: Def) -> _Names:
        """Return what names stand for in a function, whose parameters and variables hide those outside."""
        inner = _names_in(function.body)
        parameters = {argument.arg for argument in ast.walk(function.args) if isinstance(argument, ast.arg)}
        declared = {name for e in ast.walk(function) if isinstance(e, ast.Global) for name in e.names}
        hidden = parameters | (inner.values.keys() - declared)
        return _Names(
            {name: module for name, module in self.imports.items() if name not in hidden} | inner.imports,
            {name: definitions for name, definitions in self.defs.items() if name not in hidden} | inner.defs,
            {name: values for name, values in self.values.items() if name not in hidden} | inner.values,
        )


class StatementEffects:
    """The effects of one module's statements; `of_project` says whether a module is one of the project."""

    def __init__(self, statements: Iterable[ast.stmt], of_project: Callable[[str], bool]) -> None:
        self._of_project = of_project
        self._names = _names_in(statements)
        self._seen: set[int] = set()
        """The `id`s of the definitions that are followed."""

    def of(self, statement: ast.stmt) -> Effect:
        self._seen.clear()
        return self._statement(statement)

    # -- statements

    def _statement(self, node: ast.stmt) -> Effect:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                outside = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
                return _strongest((*map(self._applied, node.decorator_list), *map(self._expression, outside)))
            case ast.ClassDef():
                bases = [*node.bases, *(keyword.value for keyword in node.keywords)]
                effects = (
                    *map(self._applied, node.decorator_list),
                    *(self._inherited(base) for base in bases),
                    *map(self._statement, node.body),
                )
                return _strongest(effects)
            case ast.Assign(targets=targets, value=value):
                return _strongest((self._expression(value), *map(self._target, targets)))
            case ast.AnnAssign(target=target, value=value):
                return _strongest((self._expression(value) if value else "", self._target(target)))
            case ast.AugAssign(target=target, value=value):
                return _strongest((self._expression(value), self._target(target)))
            case ast.Delete(targets=targets):
                return _strongest(map(self._target, targets))
            case ast.Expr(value=ast.Call() as call):
                return _strongest((self._call(call, result=False), self._expression(call)))
            case _:
                return _strongest(self._part(child) for child in ast.iter_child_nodes(node))

    def _part(self, node: ast.AST) -> Effect:
        match node:
            case ast.stmt():
                return self._statement(node)
            case ast.expr():
                return self._expression(node)
            case _:
                return _strongest(self._part(child) for child in ast.iter_child_nodes(node))

    def _applied(self, decorator: ast.expr) -> Effect:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        return _strongest((self._called(called, result=True), self._expression(decorator)))

    def _inherited(self, base: ast.expr) -> Effect:
        """Return the effect of a base class, which can be notified of its subclasses."""
        name = _root(base)
        module = self._names.imports.get(name.id) if name is not None else None
        return "any" if module is not None and self._is_own(module) else self._expression(base)

    def _target(self, node: ast.expr) -> Effect:
        match node:
            case ast.Attribute() | ast.Subscript():
                return self._changed(node)
            case ast.Name():
                return ""
            case _:
                return _strongest(
                    map(self._target, (e for e in ast.iter_child_nodes(node) if isinstance(e, ast.expr)))
                )

    def _changed(self, node: ast.expr) -> Effect:
        """Return the effect of a change of a value or its parts."""
        name = _root(node)
        if name is None or _is_dynamic(node):
            return "any"
        if name.id in self._names.imports:
            return "module" if self._is_own(self._names.imports[name.id]) else "any"
        if name.id in self._names.defs:
            return ""
        values = self._names.values.get(name.id)
        return "any" if values is None or not all(map(self._is_new, values)) else ""

    def _is_new(self, value: ast.expr) -> bool:
        """Return whether nothing else has a value: changing it changes no other module."""
        match value:
            case ast.Constant() | ast.List() | ast.Dict() | ast.Set() | ast.Tuple():
                return not any(
                    isinstance(part, ast.Name) and part.id in self._names.imports for part in ast.walk(value)
                )
            case ast.ListComp() | ast.DictComp() | ast.SetComp():
                return True
            case ast.Call(func=ast.Name(id=name)):
                return name in {"dict", "list", "set", "bytearray"} or name in self._names.defs
            case _:
                return False

    # -- expressions

    def _expression(self, root: ast.expr) -> Effect:
        effects: list[Effect] = ["any"] if _is_dynamic(root) else []
        for node in ast.walk(root):
            if isinstance(node, ast.Call):
                effects.append(self._call(node, result=True))
            elif isinstance(node, ast.NamedExpr):
                effects.append(self._target(node.target))
        return _strongest(effects)

    def _call(self, call: ast.Call, *, result: bool) -> Effect:
        return self._called(call.func, result=result)

    def _called(self, called: ast.expr, *, result: bool) -> Effect:
        """Return what a call can change; calls of libraries whose `result` is used rarely change anything."""
        match called:
            case ast.Name(id=name) if name in self._names.imports:
                return self._imported(name, name, result=result)
            case ast.Name(id=name) if name in self._names.defs:
                return self._defined(name)
            case ast.Name(id=name):
                return "" if hasattr(builtins, name) and name not in _DYNAMIC else "any"
            case ast.Attribute(value=value, attr=attr):
                root = _root(value)
                if root is not None and root.id in self._names.imports:
                    return self._imported(root.id, attr, result=result)
                if attr.startswith(_CHANGING) or not result:
                    return self._changed(value)
                return ""
            case _:
                return "any"

    def _imported(self, name: str, attr: str, *, result: bool) -> Effect:
        module = self._names.imports[name]
        if module.partition(".")[0] in _HARMLESS:
            return ""
        if self._is_own(module):
            return "any"
        return "" if result and not attr.startswith(_CHANGING) else "any"

    def _is_own(self, module: str) -> bool:
        top = module.partition(".")[0]
        return not top or (top not in sys.stdlib_module_names and self._of_project(top))

    def _defined(self, name: str) -> Effect:
        """Return what a call of a function, or the creation of an object, of this module changes."""
        effects: list[Effect] = []
        for definition in self._names.defs[name]:
            if id(definition) in self._seen:
                continue
            self._seen.add(id(definition))
            if isinstance(definition, ast.ClassDef):
                methods = [e for e in definition.body if isinstance(e, Def) and e.name in _ON_CREATION]
                effects += [self._body(method) for method in methods]
            else:
                effects.append(self._body(definition))
        return _strongest(effects)

    def _body(self, function: Def) -> Effect:
        """Return the effect of a function's statements."""
        outside = self._names
        self._names = outside.within(function)
        try:
            return _strongest(map(self._statement, function.body))
        finally:
            self._names = outside


def _names_in(statements: Iterable[ast.stmt]) -> _Names:
    names_in_scope = _Names({}, {}, {})
    for node in (node for statement in statements for node in _within(statement)):
        match node:
            case ast.Import(names=names):
                names_in_scope.imports.update((e.asname or e.name.partition(".")[0], e.name) for e in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                names_in_scope.imports.update(
                    (e.asname or e.name, "." if level else module or "") for e in names
                )
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names_in_scope.defs.setdefault(node.name, []).append(node)
            case ast.Assign(targets=targets, value=value):
                for name in (target for target in targets if isinstance(target, ast.Name)):
                    names_in_scope.values.setdefault(name.id, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names_in_scope.values.setdefault(name, []).append(value)
    return names_in_scope


def _within(root: ast.AST) -> Iterator[ast.AST]:
    """Yield nodes that run when a module is imported: not those within functions and classes."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, _SCOPES):
            todo.extend(ast.iter_child_nodes(node))


def _root(node: ast.AST) -> ast.Name | None:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _is_dynamic(root: ast.AST) -> bool:
    """Return whether code can reach names that it does not write."""
    for node in ast.walk(root):
        match node:
            case ast.Name(id=name) if name in _DYNAMIC:
                return True
            case ast.Attribute(attr="__dict__" | "modules" | "__globals__" | "__builtins__"):
                return True
    return False


def _strongest(effects: Iterable[Effect]) -> Effect:
    kinds = set(effects)
    return "any" if "any" in kinds else "module" if "module" in kinds else ""
