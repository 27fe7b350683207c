"""What functions import: modules and files of the project by their content, libraries by their version.

A module of the project is only parsed, never run. As in `digests`, what could be read counts.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import Diagnostic
from millstream.core.text import FileText
from millstream.project.changing_calls import changing_call
from millstream.project.digests import FunctionDigests
from millstream.project.effects import Effect, StatementEffects
from millstream.project.python_module import Def, parse_module
from millstream.project.unsaved import is_file, read_bytes
from millstream.project.values import Function, PythonImport
from millstream.project.written_paths import path_of

_OPENING = frozenset(("open", "read_text", "read_bytes", "read_csv", "read_json", "read_parquet", "Path"))
"""Calls whose first argument can be the path of a file."""
_READING = frozenset(("read_text", "read_bytes", "read_csv", "read_json", "read_parquet", "import_module"))
_METHODS = frozenset(("read_text", "read_bytes"))
"""Methods of a path; their arguments are none."""
_COMPUTING = frozenset(("exec", "eval", "__import__"))
_RUNNING = _COMPUTING | {"open"}
"""Built-in functions that do the same, or run code."""
_SOURCES = ("", "src")
"""The folders of a project that Python imports from."""


class FunctionImports(Struct, frozen=True):
    """The files that functions import, and the libraries."""

    files: dict[str, str] = {}
    """Digests by path, relative to the project's folder."""
    libraries: dict[str, str] = {}
    """Versions by name."""

    def unchanged(self, root: Path) -> bool:
        return all(_digest(_bytes(root / path)) == digest for path, digest in self.files.items()) and all(
            _version(name) == version for name, version in self.libraries.items()
        )


def imports_of(statements: Iterable[ast.stmt], file: str, package: str = "") -> Iterator[PythonImport]:
    """Yield what statements of a file import, also within functions.

    `package` is what relative imports start from.
    """
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case ast.Import(names=names):
                    yield from (PythonImport(alias.name) for alias in names)
                case ast.ImportFrom(module=module, names=names, level=level):
                    parents = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                    base = ".".join([*parents, *([module] if module else [])])
                    yield from (
                        PythonImport(base, "" if alias.name == "*" else alias.name) for alias in names
                    )
                case ast.Call() if (code := _code(node)) is not None:
                    yield from imports_of(code, file, package)
                case ast.Call() if (import_ := _argument(node, file)) is not None:
                    yield import_


def _code(call: ast.Call) -> list[ast.stmt] | None:
    """Return the statements that a call runs, if they are written there."""
    if _name(call.func) not in {"exec", "eval"} or (text := _text(call.args)) is None:
        return None
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def unknown_in(statements: Iterable[ast.stmt], file: str) -> Iterator[ast.Call]:
    """Yield the calls whose result no digest covers: of computed code, paths and modules."""
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and not _is_literal(node, file):
                name, is_name = _name(node.func), isinstance(node.func, ast.Name)
                if name in _READING or (is_name and name in _RUNNING):
                    yield node


def _argument(call: ast.Call, file: str) -> PythonImport | None:
    """Return the module or the file that a call reads, if it is written there."""
    name, first = _name(call.func), call.args[:1]
    if name in {"import_module", "__import__"}:
        text = _text(first)
        return None if text is None else PythonImport(text)
    if name not in _OPENING:
        return None
    receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    expressions = receiver if receiver and name in _METHODS else [*receiver, *first]
    path_read = next(
        (path for expression in expressions if (path := path_of(expression, file)) is not None), file
    )
    return PythonImport(path_read, file=True) if path_read != file else None


def _is_literal(call: ast.Call, file: str) -> bool:
    """Return whether the code that a call runs, or the module or file that it reads, is written there."""
    if _name(call.func) in _COMPUTING:
        return _text(call.args) is not None
    return _argument(call, file) is not None


def _text(arguments: Sequence[ast.expr]) -> str | None:
    match arguments:
        case [ast.Constant(value=str(text)), *_]:
            return text
    return None


def _name(called: ast.expr) -> str:
    match called:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def with_imports(
    functions: Mapping[str, Function], root: Path
) -> tuple[dict[str, Function], FunctionImports, list[Diagnostic]]:
    """Return functions whose digests cover what they import, all that they import, and its syntax errors."""
    files: dict[str, str] = {}
    libraries: dict[str, str] = {}
    updated: dict[str, Function] = {}
    modules = _Modules(root, {function.path.rpartition("/")[0] for function in functions.values()})
    for name, function in functions.items():
        reached = modules.of_function(function)
        contents = sorted(reached.contents)
        digest = _digest("\n".join([function.digest, *contents]).encode()) if contents else function.digest
        versions = {library: _version(library) for library in sorted(reached.libraries)}
        effect = min(reached.effects, default="")
        changing = function.changing or min(reached.changing, default="")
        updated[name] = replace(function, digest=digest, libraries=versions, effect=effect, changing=changing)
        files |= {path: _digest(_bytes(root / path)) for path in reached.files}
        libraries |= versions
    return updated, FunctionImports(files, libraries), modules.diagnostics


def paths_reached(root: Path, file: Path) -> Iterator[str]:
    """Yield where the modules can be that a file of the project imports, and the files that it reads."""
    path = file.relative_to(root).as_posix()
    module, _ = parse_module(FileText(path, _bytes(file).decode(errors="replace")))
    package = path.removeprefix("src/").rpartition("/")[0].replace("/", ".")
    for import_ in imports_of(module.body if module else (), path, package):
        if import_.file:
            yield import_.module
            continue
        parts = [*import_.module.split("."), *filter(None, [import_.name])]
        for end in range(1, len(parts) + 1):
            yield from _module_paths(".".join(parts[:end]))


def _module_paths(module: str, folders: Iterable[str] = _SOURCES) -> Iterator[str]:
    """Yield where a module of the project can be."""
    parts = module.replace(".", "/")
    for folder in folders:
        for file in (f"{parts}.py", f"{parts}/__init__.py"):
            yield f"{folder}/{file}" if folder else file


class _Reached(Struct):
    contents: set[str] = set()
    files: set[str] = set()
    libraries: set[str] = set()
    effects: set[str] = set()
    """Where code may change any name when it is imported."""
    changing: set[str] = set()
    """Calls of what they use that give another value each time."""


class _Modules:
    """The modules of a project; each is parsed once."""

    def __init__(self, root: Path, folders: Iterable[str] = ()) -> None:
        self._root = root
        self._folders = (*_SOURCES, *sorted(folders))
        self._parsed: dict[str, tuple[FunctionDigests | None, str]] = {}
        self._effects_of: dict[str, list[tuple[ast.stmt, Effect]]] = {}
        self.diagnostics: list[Diagnostic] = []
        """Why modules can't be parsed."""

    def of_function(self, function: Function) -> _Reached:
        return self._reached(function.imports, function.path, self._mode(function))

    def _reached(
        self, imports: Iterable[PythonImport], file: str, runs: Literal["module", "any"]
    ) -> _Reached:
        reached = _Reached(set(), set(), set(), set(), set())
        done: set[PythonImport] = set()
        waiting = [*imports, *self._run("", file, runs, reached)]
        reached.files.discard(file)
        while waiting:
            import_ = waiting.pop()
            if import_ not in done:
                done.add(import_)
                waiting += self._follow(import_, reached)
        return reached

    def _mode(self, function: Function) -> Literal["module", "any"]:
        """Return what may change what a function reads, of all that runs when its file is imported.

        Attributes of modules are only read by functions that read modules of the project.
        """
        reads = any(import_.file or self._is_own(import_.module) for import_ in function.imports)
        return "module" if reads else "any"

    def _is_own(self, module: str) -> bool:
        top = module.partition(".")[0]
        return self._path(top) is not None or self._is_folder(top)

    def _run(
        self, module: str, path: str, runs: Literal["module", "any"], reached: _Reached
    ) -> list[PythonImport]:
        """Add what a module changes elsewhere when it is imported, and return what it imports."""
        reached.files.add(path)
        digests, content = self._parse(path)
        if digests is None:
            reached.contents.add(f"{path} {content}")
            return []
        package = _package(module, path)
        imported = list(imports_of(_run_imports(digests.statements), path, package))
        waiting = [replace(import_, name="", runs=runs) for import_ in imported if not import_.file]
        waiting += [
            PythonImport(f"{import_.module}.{import_.name}", runs=runs)
            for import_ in imported
            if import_.name
        ]
        effects = self._effects(path, digests)
        reached.effects |= {f"{path}:{statement.lineno}" for statement, effect in effects if effect == "any"}
        counted = [statement for statement, effect in effects if effect in {"any", runs}]
        if counted:
            digest, statements = digests.of_statements(counted)
            reached.contents.add(f"{path} runs {digest}")
            waiting += imports_of(statements, path, package)
        return waiting

    def _effects(self, path: str, digests: FunctionDigests) -> list[tuple[ast.stmt, Effect]]:
        if path not in self._effects_of:
            effects = StatementEffects(digests.statements, self._is_own)
            pairs = [(statement, effects.of(statement)) for statement in digests.statements]
            self._effects_of[path] = [pair for pair in pairs if pair[1]]
        return self._effects_of[path]

    def _follow(self, import_: PythonImport, reached: _Reached) -> list[PythonImport]:
        """Add what an import reads to `reached`, and return what that imports."""
        if import_.file:
            if _is_file(self._root / import_.module):
                reached.files.add(import_.module)
                reached.contents.add(f"{import_.module} {_digest(_bytes(self._root / import_.module))}")
            return []
        path = self._path(import_.module)
        if import_.runs:
            parent = import_.module.rpartition(".")[0]
            above = [PythonImport(parent, runs=import_.runs)] if parent else []
            return [*above, *(self._run(import_.module, path, import_.runs, reached) if path else [])]
        submodule = f"{import_.module}.{import_.name}" if import_.name else ""
        if submodule and self._path(submodule):
            return [PythonImport(submodule), *([PythonImport(import_.module)] if path else [])]
        if path is None:
            top = import_.module.partition(".")[0]
            if top and top not in sys.stdlib_module_names and not self._is_folder(top):
                reached.libraries.add(top)
            return []
        reached.files.add(path)
        digests, content = self._parse(path)
        if digests is None:
            reached.contents.add(f"{path} {content}")
            return []
        digest, statements = digests.of_name(import_.name)
        reached.contents.add(f"{path} {import_.name} {digest}")
        reached.changing |= {*filter(None, [changing_call(statements)])}
        parent = import_.module.rpartition(".")[0]
        above = [PythonImport(parent)] if parent and self._path(parent) else []
        run = PythonImport(import_.module, runs="module")
        return [*above, run, *imports_of(statements, path, _package(import_.module, path))]

    def _path(self, module: str) -> str | None:
        """Return the file of a module of the project."""
        paths = _module_paths(module, self._folders) if module else ()
        return next((path for path in paths if _is_file(self._root / path)), None)

    def _is_folder(self, name: str) -> bool:
        return bool(name) and any((self._root / folder / name).is_dir() for folder in self._folders)

    def _parse(self, path: str) -> tuple[FunctionDigests | None, str]:
        if path not in self._parsed:
            data = _bytes(self._root / path)
            module, diagnostics = parse_module(FileText(path, data.decode(errors="replace")))
            self.diagnostics += diagnostics
            self._parsed[path] = (FunctionDigests(module) if module is not None else None, _digest(data))
        return self._parsed[path]


def _package(module: str, path: str) -> str:
    """Return what relative imports of a module start from."""
    return module if path.endswith("__init__.py") else module.rpartition(".")[0]


def _run_imports(statements: Iterable[ast.stmt]) -> list[ast.stmt]:
    """Return the imports that run with a module, also those under conditions."""
    imports: list[ast.stmt] = []
    todo: list[ast.AST] = list(statements)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append(node)
        elif not isinstance(node, Def | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))
    return imports


def _is_file(path: Path) -> bool:
    try:
        return is_file(path)
    except (OSError, ValueError):
        return False


def _bytes(path: Path) -> bytes:
    """Return a file's content; a file that can't be read has none, and gets some when it can."""
    try:
        return read_bytes(path)
    except OSError:
        return b""


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def python_version() -> str:
    """Return the version of Python without its patch, as Spark demands it of workers."""
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _version(module: str) -> str:
    """Return the version of the library that has a module; empty if it isn't installed here.

    The content of one that is not installed, such as from PYTHONPATH, or that is edited in place, counts too.
    """
    from importlib import metadata

    try:
        names = [metadata.distribution(module).name]
        version = metadata.version(module)
    except metadata.PackageNotFoundError:
        names = sorted(set(metadata.packages_distributions().get(module, [])))
        version = ", ".join(f"{name} {metadata.version(name)}" for name in names)
    if names and not any(map(_is_edited_in_place, names)):
        return version
    return f"{version}+{content}" if (content := _content(module)) else version


def _is_edited_in_place(distribution: str) -> bool:
    from importlib import metadata

    direct_url = metadata.distribution(distribution).read_text("direct_url.json")
    return direct_url is not None and '"editable"' in direct_url


def _content(module: str) -> str:
    """Return a digest of a module's files, which are not run for that; empty if there are none."""
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return ""
    if spec is None:
        return ""
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    files = [Path(spec.origin)] if spec.origin and not folders else []
    files += sorted(file for folder in folders for file in folder.rglob("*.py"))
    contents = [f"{file.name} {_digest(_bytes(file))}" for file in files if _is_file(file)]
    return _digest("\n".join(contents).encode())[:12] if contents else ""
