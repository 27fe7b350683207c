"""Finds imports of modules and names that the project does not have: they would fail at the first call."""

import ast
from collections.abc import Iterable, Iterator
from importlib.machinery import PathFinder
from pathlib import Path

from millstream.core.errors import Diagnostic, did_you_mean
from millstream.core.text import FileText
from millstream.project.python_module import Module, parse_module
from millstream.project.unsaved import is_file, read_bytes

_SOURCES = ("", "src")
"""The folders of a project that Python imports from."""


def missing_modules(root: Path, text: FileText) -> Iterator[Diagnostic]:
    """Yield the imports of a file that name nothing; libraries and optional imports are not checked."""
    if "import" not in text.content:
        return
    module, _ = parse_module(text)
    for node in _imports(module.body if module else ()):
        assert module is not None
        if isinstance(node, ast.ImportFrom):
            if node.level:
                yield _relative(module, node)
            elif node.module:
                yield from _from(root, module, node, node.module)
        else:
            yield from (
                _missing(module, node, alias.name) for alias in node.names if not _exists(root, alias.name)
            )


def _imports(statements: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the imports that run; one that is tried, or only made for hints, may fail."""
    for node in statements:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif not isinstance(node, ast.Try | ast.If):
            yield from _imports(ast.iter_child_nodes(node))


def _from(root: Path, module: Module, node: ast.ImportFrom, name: str) -> Iterator[Diagnostic]:
    if not _exists(root, name):
        yield _missing(module, node, name)
        return
    file = _file(root, name)
    names = _names(root / file) if file else set[str]()
    if not _is_own(root, name.partition(".")[0]) or names is None:
        return
    for alias in node.names:
        if alias.name != "*" and alias.name not in names and not _exists(root, f"{name}.{alias.name}"):
            message = f"'{name}' has no '{alias.name}'"
            remedy = did_you_mean(
                alias.name, names, f"define it in {file}" if file else f"add {_new(name, alias.name)}"
            )
            yield module.error(node, "MS324", message, remedy)


def _relative(module: Module, node: ast.ImportFrom) -> Diagnostic:
    """Functions and generators run in modules without a package."""
    name = ".".join([*module.text.path.split("/")[: -node.level], *([node.module] if node.module else [])])
    remedy = f"write from {name} import {', '.join(ast.unparse(alias) for alias in node.names)}"
    return module.error(node, "MS324", "a relative import does not work in this file", remedy)


def _missing(module: Module, node: ast.stmt, name: str) -> Diagnostic:
    return module.error(
        node, "MS324", f"the project has no module '{name}'", f"add {_new(name)}, or fix the name"
    )


def _new(*names: str) -> str:
    return ".".join(names).replace(".", "/") + ".py"


def _exists(root: Path, name: str) -> bool:
    """Return whether a module exists in the project, or is one of a library."""
    return (
        not _is_own(root, name.partition(".")[0]) or _file(root, name) is not None or _is_folder(root, name)
    )


def _is_own(root: Path, top: str) -> bool:
    """Return whether Python finds a name in the project; a library hides a folder without `__init__.py`."""
    if _file(root, top) is not None:
        return True
    library = PathFinder.find_spec(top) if _is_folder(root, top) else None
    return _is_folder(root, top) and (library is None or library.origin is None)


def _file(root: Path, name: str) -> str | None:
    parts = name.replace(".", "/")
    files = (f"{folder}{parts}{end}" for folder in ("", "src/") for end in (".py", "/__init__.py"))
    return next((candidate for candidate in files if is_file(root / candidate)), None)


def _is_folder(root: Path, name: str) -> bool:
    return any((root / folder / name.replace(".", "/")).is_dir() for folder in _SOURCES)


def _names(file: Path) -> set[str] | None:
    """Return what a module may define; None if only running it would tell."""
    try:
        tree = ast.parse(read_bytes(file))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = {"__name__", "__doc__", "__file__"}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name="__getattr__"):
                return None
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case ast.alias(name="*"):
                return None
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
            case ast.Call(func=ast.Name(id="globals" | "exec" | "setattr")):
                return None
    return names
