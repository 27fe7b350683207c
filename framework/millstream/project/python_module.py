"""A Python file, parsed with `ast`. It is never imported, since importing runs it."""

import ast
import builtins
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from millstream.core.errors import Diagnostic, diagnostic_at
from millstream.core.text import FileText, Location

Def: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_LINE_END = re.compile(r"\r\n?|\n")  # what Python's tokenizer takes for one
_NAME = re.compile(r"\w+")
_DEF = re.compile(r"(?:async[\s\\]+)?def[\s\\]+")


class Module(Struct, frozen=True):
    """A file's syntax tree, with the names that hints can use."""

    text: FileText
    starts: tuple[int, ...]
    body: list[ast.stmt]
    imports: dict[str, str]
    """Local name to what it stands for: `dt` → `datetime`, `Maybe` → `typing.Optional`."""
    classes: dict[str, ast.ClassDef]
    aliases: dict[str, ast.expr]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a position in the tree, whose columns count bytes of UTF-8 from 0."""
        start = self.starts[line - 1]
        head = self.text.content[start : start + column]
        return start + (column if head.isascii() else len(head.encode()[:column].decode(errors="ignore")))

    def span(self, node: ast.expr | ast.arg | ast.stmt) -> tuple[int, int]:
        """Return the span of a node; for a parameter, a function or a class, only of its name."""
        start = self.offset(node.lineno, node.col_offset)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            keyword = _DEF.match(self.text.content, start)
            start = keyword.end() if keyword else start
        elif not isinstance(node, ast.arg):
            return start, self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        name = _NAME.match(self.text.content, start)
        return start, name.end() if name else start + 1

    def source(self, node: ast.expr) -> str:
        start, stop = self.span(node)
        return self.text.content[start:stop]

    def location(self, node: ast.expr | ast.arg | ast.stmt) -> Location:
        return self.text.location(*self.span(node))

    def error(
        self, node: ast.expr | ast.arg | ast.stmt, code: str, message: str, remedy: str = ""
    ) -> Diagnostic:
        return diagnostic_at(self.text, *self.span(node), code, message, remedy)

    def qualified(self, node: ast.AST) -> str:
        """Return what a name means by the imports, such as `datetime.date`; otherwise an empty text."""
        match node:
            case ast.Name(id=name):
                if name in self.classes or name in self.aliases:
                    return ""
                imported = self.imports.get(name) or (f"builtins.{name}" if hasattr(builtins, name) else "")
                return imported.replace("typing_extensions", "typing")
            case ast.Attribute(value=value, attr=name):
                base = self.qualified(value)
                return f"{base}.{name}".replace("typing_extensions", "typing") if base else ""
            case _:
                return ""

    def functions(self) -> Iterator[Def]:
        """Yield the public functions of the top level."""
        for statement in self.body:
            if isinstance(statement, Def) and not statement.name.startswith("_"):
                yield statement


def parse_module(text: FileText) -> tuple[Module | None, list[Diagnostic]]:
    bom = text.content.startswith("\ufeff")
    starts = (int(bom), *(end.end() for end in _LINE_END.finditer(text.content)))
    if "\0" in text.content:
        message = "Python can't read this file: it contains a null character"
        return None, [diagnostic_at(text, text.content.index("\0"), None, "MS310", message, _SYNTAX_HELP)]
    try:
        with warnings.catch_warnings():  # '\d' in a text is the linter's business
            warnings.simplefilter("ignore")
            tree = ast.parse(text.content[bom:])
            # What only the compiler sees: `return` outside a function, two parameters of one name.
            compile(tree, text.path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return None, [_syntax_error(text, starts, error)]
    except (ValueError, RecursionError, MemoryError) as error:
        unreadable = isinstance(error, UnicodeEncodeError)
        offset = error.start + bom if isinstance(error, UnicodeEncodeError) else 0
        what = "this is an incomplete character" if unreadable else "it is nested too deeply"
        return None, [
            diagnostic_at(text, offset, None, "MS310", f"Python can't read this file: {what}", _SYNTAX_HELP)
        ]
    imports: dict[str, str] = {}
    classes: dict[str, ast.ClassDef] = {}
    aliases: dict[str, ast.expr] = {}
    for statement in _top_level(tree.body):
        _collect_names(statement, imports, classes, aliases)
    return Module(text, starts, tree.body, imports, classes, aliases), []


_SYNTAX_HELP = "fix the Python syntax here; the rest of the file was not read."


def _syntax_error(text: FileText, starts: tuple[int, ...], error: SyntaxError) -> Diagnostic:
    line = min(max(error.lineno or 1, 1), len(starts))
    first = starts[line - 1]
    after = starts[line] if line < len(starts) else len(text.content)
    last = first + len(text.content[first:after].rstrip("\r\n"))
    start = min(first + max((error.offset or 1) - 1, 0), last)  # never on the next line
    stop = start + 1
    if (error.end_lineno or line) == line and (error.end_offset or 0) > (error.offset or 1):
        stop = first + (error.end_offset or 1) - 1
    return diagnostic_at(text, start, stop, "MS310", f"Python syntax error: {error.msg}", _SYNTAX_HELP)


def is_main_guard(statement: ast.stmt) -> bool:
    match statement:
        case ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
            return True
        case _:
            return False


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that bind the module's names, also those under `if TYPE_CHECKING` or `try`."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try) and not is_main_guard(statement):
            yield from _top_level(statement.body)
            yield from _top_level(statement.orelse)
        if isinstance(statement, ast.Try):
            for handler in statement.handlers:
                yield from _top_level(handler.body)


def _collect_names(
    statement: ast.stmt,
    imports: dict[str, str],
    classes: dict[str, ast.ClassDef],
    aliases: dict[str, ast.expr],
) -> None:
    match statement:
        case ast.Import(names=names):
            for name in names:
                imported = name.name if name.asname else name.name.partition(".")[0]
                imports.setdefault(name.asname or imported, imported)
        case ast.ImportFrom(module=module, names=names, level=level):
            for name in names:
                imports.setdefault(name.asname or name.name, f"{'.' * level}{module or ''}.{name.name}")
        case ast.ClassDef(name=defined):
            classes[defined] = statement
        case ast.Assign(targets=[ast.Name(id=defined)], value=value):
            aliases[defined] = value
        case ast.AnnAssign(target=ast.Name(id=defined), value=ast.expr() as value):
            aliases[defined] = value
        case _ if type(statement).__name__ == "TypeAlias":  # `type X = ...`, from Python 3.12 on
            aliases[statement.name.id] = statement.value  # type: ignore[attr-defined]


def is_generator(function: Def) -> bool:
    """Return whether the function itself yields, not one that it defines."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, Def | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))
    return False


def first_paragraph(function: Def) -> str:
    """Return the first paragraph of the docstring as one line."""
    paragraph = (ast.get_docstring(function) or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split())


CACHES = ("functools.cache", "functools.lru_cache")


def check_plain(module: Module, function: Def, noun: str) -> Iterator[Diagnostic]:
    """Report what prevents a function from being called by name: `async`, or a decorator."""
    name = function.name
    if isinstance(function, ast.AsyncFunctionDef):
        message = f"{noun} '{name}' is async"
        yield module.error(function, "MS308", message, "write a plain `def`: rows are processed one by one.")
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        is_cache = module.qualified(called) in CACHES
        if is_cache and is_generator(function):
            message = f"'{name}' yields, and a cache would return a generator that is used up"
            yield module.error(decorator, "MS309", message, "remove the decorator.")
        elif not is_cache:
            message = f"{noun} '{name}' has a decorator, which may change what it takes and returns"
            remedy = (
                "remove it, or call what it returns in a plain function; only functools' caches may stay."
            )
            yield module.error(decorator, "MS309", message, remedy)
