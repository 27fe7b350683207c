"""A project's functions as Java code, or why they run in Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, diagnostic_at
from millstream.core.text import FileText
from millstream.native import Obstacle, Translation
from millstream.native import translate_function as translate
from millstream.project.functions import read_functions
from millstream.project.imports import with_imports
from millstream.project.unsaved import read_text
from millstream.project.values import Function


def translate_function(function: Function, text: str) -> Translation | Obstacle:
    """Translate a function of a file with this text, or return what prevents that."""
    if function.runs == "python":
        return Obstacle("`runs: python`", 0)
    if function.effect:
        return Obstacle(f"code that may change any name when it is imported, at {function.effect}", 0)
    if function.table or function.keyed:
        return Obstacle("a function that yields rows", function.location.line)
    translated = _translated(function.name, function.path, text)
    if isinstance(translated, Obstacle) and not translated.line:
        return replace(translated, line=function.location.line)
    return translated


@lru_cache(maxsize=1024)
def _translated(name: str, path: str, text: str) -> Translation | Obstacle:
    """Return a translation: for what functions cost, for those that have to run natively, and for queries."""
    return translate(name, FileText(path, text))


def find_obstacles(root: Path, functions: Mapping[str, tuple[str, str]]) -> dict[str, Obstacle]:
    """Return why functions run in Python; each is given with its file and what YAML says of how it `runs`."""
    by_file: dict[str, set[str]] = defaultdict(set)
    for name, (path, _) in functions.items():
        by_file[path].add(name)
    obstacles: dict[str, Obstacle] = {}
    for path, names in by_file.items():
        text = read_text(root / path)
        read = {function.name: function for function in read_functions(FileText(path, text))[0]}
        for function in with_imports(read, root)[0].values():
            if function.name in names:
                translated = translate_function(replace(function, runs=functions[function.name][1]), text)
                if isinstance(translated, Obstacle):
                    obstacles[function.name] = translated
    return obstacles


def not_native(root: Path, functions: Iterable[Function]) -> Iterator[Diagnostic]:
    """Yield errors of functions that YAML wants to run natively, and can't."""
    for function in functions:
        if function.runs != "native":
            continue
        text = read_text(root / function.path)
        obstacle = translate_function(function, text)
        if isinstance(obstacle, Obstacle):
            lines = text.splitlines(keepends=True)[: (obstacle.line or function.location.line) - 1]
            start = sum(map(len, lines))
            start += len(text[start:]) - len(text[start:].lstrip(" \t"))
            message = f"'{function.name}' can't run natively: {obstacle.what}"
            remedy = "write it in another way, or remove `runs: native` of the function."
            yield diagnostic_at(FileText(function.path, text), start, None, "MS325", message, remedy)
