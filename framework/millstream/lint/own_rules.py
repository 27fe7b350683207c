"""Imports the rules that a project writes in Python."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from msgspec.structs import replace

from millstream.core.errors import Diagnostic
from millstream.core.text import Location
from millstream.lint.rule import Rule
from millstream.project.files import find_files
from millstream.project.values import Settings


def read_rules(root: Path, settings: Settings) -> tuple[list[Rule], list[Diagnostic]]:
    """Return the rules in the folders of `lint-paths`, and why files can't be imported."""
    rules: list[Rule] = []
    diagnostics: list[Diagnostic] = []
    for path in find_files(root, settings.lint_paths, (".py",)):
        try:
            module = _import(root, path)
        except Exception as error:  # noqa: BLE001 - any failure is its author's
            message = f"the file can't be imported: {type(error).__name__}: {error}"
            diagnostics.append(failure(path, line_in(error, root / path), message))
            continue
        rules += [replace(rule, path=path) for rule in _rules_in(module)]
    return rules, diagnostics


def failure(path: str, line: int, message: str) -> Diagnostic:
    remedy = "fix the rule: it is a function that yields `model.finding(…)`"
    return Diagnostic("MS737", message, Location(path, line, 1, 2), remedy)


def line_in(error: BaseException, path: Path) -> int:
    """Return the last line of a file that an exception passed; that of a syntax error."""
    if isinstance(error, SyntaxError) and error.lineno:
        return error.lineno
    line, frame = 1, error.__traceback__
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == str(path):
            line = frame.tb_lineno
        frame = frame.tb_next
    return line


def _import(root: Path, path: str) -> ModuleType:
    name = f"millstream_lint_rules.{path.removesuffix('.py').replace('/', '.')}"
    spec = spec_from_file_location(name, root / path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.path.insert(0, str(root))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(root))
    return module


def _rules_in(module: ModuleType) -> Iterator[Rule]:
    yield from dict.fromkeys(value for value in vars(module).values() if isinstance(value, Rule))
