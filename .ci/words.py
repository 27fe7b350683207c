"""Fails on names that say nothing of a value: `uv run python .ci/words.py`.

These are the words that the glossary (docs/glossary.md) says to avoid in code, and a few more. No local,
parameter, attribute, function, class or file of Python, Java or JavaScript can be called by such a word
alone, and no two public classes of the package have one name, unless a comment `# name: ` (`// name: `) on
the line has the reason. Projects of users are not checked.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("framework", "benchmarks", ".ci", "macros")
PACKAGE = ROOT / "framework" / "millstream"
USERS = frozenset(("projects", "templates"))
EMPTY = frozenset(("each", "found", "own", "known", "given", "kept", "wanted", "listed", "made", "at"))
EMPTY |= {"stuff", "thing", "things", "problems", "places", "said", "told"}


def words_to_avoid(glossary: str) -> frozenset[str]:
    """Return the single words of the last column of the glossary's table for contributors."""
    rows = (line.strip("| ").split("|") for line in glossary.splitlines() if line.startswith("|"))
    cells = (row[2] for row in rows if len(row) == 3)
    words = (word.strip().lower() for cell in cells for word in cell.split(","))
    return EMPTY | {word for word in words if word.isidentifier() and word != "avoid"}


_JAVA = re.compile(
    r"""/\*.*?\*/|//[^\n]*|\"{3}.*?\"{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'"""
    r"""|(?:\.|::)\s*[A-Za-z_$][\w$]*|([A-Za-z_$][\w$]*)""",
    re.DOTALL,
)
"""Comments, texts and members of other objects are skipped; a name that is used here is also bound here."""


def names_outside_of_members(text: str, language: re.Pattern[str]) -> Iterator[tuple[int, str]]:
    """Yield each name of a file of Java or JavaScript, except members of other objects, with its line."""
    for match in language.finditer(text):
        if match[1]:
            yield text.count("\n", 0, match.start()) + 1, match[1]


_JAVASCRIPT = re.compile(
    r"""/\*.*?\*/|//[^\n]*|`(?:\\.|[^`\\])*`|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'"""
    r"""|(?<=[=(,:!&|?\[{;])\s*/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*"""
    r"""|(?<!\.)\??\.(?!\.)\s*[A-Za-z_$][\w$]*|([A-Za-z_$][\w$]*)""",
    re.DOTALL,
)
"""The same for JavaScript, with its templates and regular expressions."""


def names_bound_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each name that a file gives to something, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield node.lineno, name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield node.lineno, name
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
                | ast.ExceptHandler(name=str(name))
                | ast.MatchAs(name=str(name))
                | ast.MatchStar(name=str(name))
                | ast.MatchMapping(rest=str(name))
                | ast.alias(asname=str(name))
            ):
                yield node.lineno, name


def wrong_names(text: str, words: frozenset[str], suffix: str = ".py") -> Iterator[tuple[int, str]]:
    """Yield the names in a file that are one of the words, each with its line."""
    lines = text.splitlines()
    match suffix:
        case ".py":
            names = names_bound_in(ast.parse(text))
        case _:
            names = names_outside_of_members(text, _JAVA if suffix == ".java" else _JAVASCRIPT)
    for line, name in sorted(set(names)):
        if name.strip("_").lower() in words and " name: " not in lines[line - 1]:
            yield line, name


def class_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield the public classes of a file, each with its line."""
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.ClassDef)
            and not node.name.startswith("_")
            and " name: " not in lines[node.lineno - 1]
        ):
            yield node.lineno, node.name


def files_to_check() -> Iterator[Path]:
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.[pj]*")):
            if path.suffix in {".py", ".java", ".js"} and USERS.isdisjoint(path.parts):
                yield path


def main() -> int:
    words = words_to_avoid((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    messages: list[str] = []
    classes: dict[str, str] = {}
    for path in files_to_check():
        text, shown = path.read_text(encoding="utf-8"), path.relative_to(ROOT)
        for line, name in wrong_names(text, words, path.suffix):
            messages.append(f"{shown}:{line}: `{name}` does not say what it is")
        if path.stem.removeprefix("test_").lower() in words:
            messages.append(f"{shown}: the name of the file does not say what it is")
        for line, name in class_names(text) if PACKAGE in path.parents and path.suffix == ".py" else ():
            first = classes.setdefault(name, f"{shown}:{line}")
            if first != f"{shown}:{line}":
                messages.append(f"{shown}:{line}: `{name}` is also a class in {first}")
    print("\n".join(messages), end="\n" if messages else "")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
