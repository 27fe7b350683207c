"""Digests of Python functions: they change when the result may change, and only then.

A digest covers the function and every statement of its module that it could read, found by names,
transitively. When in doubt, a statement is included: a needless rebuild costs time, but a missed
change gives wrong numbers. The canonical text omits what is empty, so that Python versions agree.
"""

import ast
import builtins
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from msgspec import Struct

from millstream.project.python_module import Def, Module, is_main_guard

_DYNAMIC = frozenset(("globals", "eval", "exec", "vars", "locals", "__import__"))
"""A statement that calls these may read any name of the module."""
_MUTATORS = frozenset(
    (
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "appendleft", "popleft"),
        *("add", "discard", "update", "difference_update", "intersection_update", "popitem", "setdefault"),
    )
)
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_OPERATORS = (ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_SCOPES = frozenset((*_DEFS, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
_NAMELESS = frozenset(("ctx", "op", "ops", "attr", "id", "arg", "level", "conversion", "is_async", "simple"))
"""Fields that hold no name: not walking them takes a third less time."""
_LEAVES = frozenset((ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del))
_NAMING = frozenset(
    (
        *(ast.Name, ast.Global, ast.ExceptHandler, ast.alias, ast.MatchAs, ast.MatchStar, ast.MatchMapping),
        *(*_DEFS, ast.arg, ast.AnnAssign, ast.Call, ast.Subscript, ast.Attribute, ast.Expr),
    )
)


class StatementNames(Struct, frozen=True):
    """What a top-level statement reads, and what it binds or may change."""

    reads: frozenset[str]
    touches: frozenset[str]


class FunctionDigests:
    """Computes the digests of one module's functions; shared work is done once."""

    def __init__(self, module: Module) -> None:
        self._statements = [node for node in module.body if not _is_idle(node)]
        self._names = _with_calls(self._statements, [names_of(node) for node in self._statements])
        self._touchers: dict[str, list[int]] = defaultdict(list)
        self._dumps: dict[int, str] = {}
        for index, names in enumerate(self._names):
            for name in names.touches:
                self._touchers[name].append(index)

    def of(self, function: Def) -> tuple[str, list[ast.stmt]]:
        """Return the digest of a function, and the statements that it covers."""
        return self._digest(function.name, self._reachable(self._statements.index(function)))

    def of_name(self, name: str) -> tuple[str, list[ast.stmt]]:
        """Return the digest of a name of the module, or of all of it, and the statements that it covers."""
        touching = self._touchers.get(name, [])
        everything = set(range(len(self._statements)))
        chosen = set[int]().union(*map(self._reachable, touching)) if touching else everything
        return self._digest(name, chosen)

    def of_statements(self, first: Iterable[ast.stmt]) -> tuple[str, list[ast.stmt]]:
        """Return the digest of statements and all that they read, and the statements that it covers."""
        chosen = set[int]().union(
            *(self._reachable(self._statements.index(statement)) for statement in first)
        )
        return self._digest("", chosen)

    @property
    def statements(self) -> Sequence[ast.stmt]:
        """The statements that run when the module is imported."""
        return self._statements

    def _digest(self, name: str, reachable: set[int]) -> tuple[str, list[ast.stmt]]:
        chosen = sorted(reachable)
        dumps = [self._dump(index) for index in chosen]
        touched = [name for index in chosen for name in self._names[index].touches]
        if len(touched) == len(set(touched)):
            dumps.sort()  # each name is bound once, so the order of definitions is irrelevant
        content = "\n".join((name, *dumps))
        digest = blake2b(content.encode(errors="surrogatepass"), digest_size=16).hexdigest()
        return digest, [self._statements[index] for index in chosen]

    def _dump(self, index: int) -> str:
        if index not in self._dumps:
            self._dumps[index] = canonical_source(self._statements[index])
        return self._dumps[index]

    def _reachable(self, first: int) -> set[int]:
        chosen: set[int] = set()
        todo = [
            first,
            *self._touchers["*"],
            *(i for n in self._names[first].touches for i in self._touchers[n]),
        ]
        while todo:
            index = todo.pop()
            if index in chosen:
                continue
            chosen.add(index)
            names = self._names[index]
            if names.reads & _DYNAMIC:
                return set(range(len(self._statements)))
            for name in names.reads | names.touches:
                todo += self._touchers.get(name, ())
        return chosen


def _is_idle(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant()) | ast.Pass() | ast.ImportFrom(module="__future__"):
            return True
        case _:
            return is_main_guard(statement)


def names_of(statement: ast.stmt) -> StatementNames:
    if isinstance(statement, Def):
        return _names_of_function(statement)
    reads: set[str] = set()
    touches: set[str] = set()
    for node, _ in _walk([statement]):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reads.add(node.id)
            continue
        match node:
            case ast.Expr(value=value) if not isinstance(statement, ast.ClassDef):
                touches.update(n.id for n in ast.walk(value) if isinstance(n, ast.Name))
            case ast.Call(func=called, args=arguments) if not _is_builtin(called):
                touches.update(n.id for n in arguments if isinstance(n, ast.Name))
        reads.update(_quoted(node))
        touches.update(_bound(node))
        touches.update(_changed(node))
    return StatementNames(frozenset(reads), frozenset(touches))


def _with_calls(statements: list[ast.stmt], per_statement: list[StatementNames]) -> list[StatementNames]:
    """Let statements that run on import touch the functions they reach that change the module's values."""
    defs = {
        node.name: names
        for node, names in zip(statements, per_statement, strict=True)
        if isinstance(node, Def)
    }
    changing = {name for name, names in defs.items() if len(names.touches) > 1}
    if not changing:
        return per_statement
    result: list[StatementNames] = []
    for node, names in zip(statements, per_statement, strict=True):
        reached: set[str] = set()
        todo = [] if isinstance(node, Def) else [*names.reads]
        while todo:
            name = todo.pop()
            if name in defs and name not in reached:
                reached.add(name)
                todo += defs[name].reads
        result.append(StatementNames(names.reads, names.touches | (reached & changing)))
    return result


def _names_of_function(function: Def) -> StatementNames:
    reads: set[str] = set()
    changed: set[str] = set()
    declared: set[str] = set()
    arguments = function.args
    local = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    local |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a}
    for node, nested in _walk(function.body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            reads.add(node.id)
            continue
        match node:
            case ast.Global(names=names):
                declared.update(names)
            case _ if not nested:
                local.update(_bound(node))
        reads.update(_quoted(node))
        changed.update(_changed(node))
    local -= declared
    outside: list[ast.AST] = [*function.decorator_list, arguments]
    outside += [function.returns] if function.returns else []
    around = {n.id for node in outside for n, _ in _walk([node]) if isinstance(n, ast.Name)}
    around.update(name for node in (function, *ast.walk(arguments)) for name in _quoted(node))
    return StatementNames(
        reads=frozenset((reads - local) | around | declared),
        touches=frozenset((changed - local) | declared | {function.name}),
    )


def _bound(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds in the scope that it stands in."""
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.ExceptHandler(name=str(name)):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=local):
            yield local or name.partition(".")[0]
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
            yield name


def _walk(roots: Iterable[ast.AST]) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the nodes that bind, read or change names, and whether each is in a scope below the roots."""
    todo: list[tuple[ast.AST, bool]] = [(node, False) for node in roots]
    while todo:
        node, nested = todo.pop()
        kind = type(node)
        if kind in _NAMING:
            yield node, nested
        if kind in _LEAVES:
            continue
        below = nested or kind in _SCOPES
        for name in kind._fields:
            if name in _NAMELESS:
                continue
            value = getattr(node, name, None)
            if type(value) is list:
                todo += [(item, below) for item in value if isinstance(item, ast.AST)]
            elif isinstance(value, ast.AST):
                todo.append((value, below))


def _changed(node: ast.AST) -> Iterator[str]:
    """Yield the names whose values a node changes in place: `X[1] = 2`, `X.add(1)`."""
    match node:
        case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(ctx=ast.Store() | ast.Del()):
            root: ast.AST = node
        case ast.Call(func=ast.Attribute(value=value, attr=method)) if method in _MUTATORS:
            root = value
        case _:
            return
    while isinstance(root, ast.Subscript | ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name):
        yield root.id


def _quoted(node: ast.AST) -> Iterator[str]:
    """Yield the names in hints that are written as strings."""
    match node:
        case ast.arg(annotation=hint) | ast.AnnAssign(annotation=hint):
            pass
        case ast.FunctionDef(returns=hint) | ast.AsyncFunctionDef(returns=hint):
            pass
        case _:
            return
    for part in ast.walk(hint) if hint else ():
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            try:
                parsed = ast.parse(part.value.strip(), mode="eval")
            except (SyntaxError, ValueError):
                continue
            yield from (n.id for n in ast.walk(parsed) if isinstance(n, ast.Name))


def _is_builtin(called: ast.expr) -> bool:
    return isinstance(called, ast.Name) and hasattr(builtins, called.id)


def canonical_source(root: ast.AST) -> str:
    """Write a tree without positions, docstrings and empty fields."""
    out: list[str] = []
    todo: list[ast.AST | str] = [root]
    while todo:  # no recursion: a sum of a thousand terms is a thousand levels deep
        node = todo.pop()
        if isinstance(node, str):
            out.append(node)
            continue
        kind = type(node)
        parts: list[ast.AST | str] = [f"{kind.__name__}("]
        for name in kind._fields:
            value = getattr(node, name, None)
            if value is None or name == "ctx":
                continue
            if type(value) is not list:
                parts += (name, _leaf(value))
                continue
            if not value:
                continue
            parts.append(name)
            if name == "body" and isinstance(node, _DEFS):
                value = value[ast.get_docstring(node, clean=False) is not None :]
            if kind is ast.JoinedStr:  # Python 3.12 ends a format with an empty text
                value = [v for v in value if not (isinstance(v, ast.Constant) and v.value == "")]
            parts.append("[")
            parts += map(_leaf, value)
            parts.append("]")
        parts.append(")")
        todo += reversed(parts)
    return "".join(out)


def _leaf(value: Any) -> ast.AST | str:
    """Write a value without parts; return a node with parts as it is."""
    kind = type(value)
    if kind is ast.Name:
        return f"${value.id} "
    if kind is ast.Constant:
        return f"={value.value!r} "
    if isinstance(value, _OPERATORS):
        return f"{kind.__name__} "
    return value if isinstance(value, ast.AST) else f":{value!r} "
