"""The three projects that mistakes are put into, and the mistakes by number."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

from mutants.everyday import everyday
from mutants.lines import csv, toml, yaml
from mutants.python import python
from mutants.sql import sql
from support.dependent_models import FILES

ROOT = Path(__file__).resolve().parents[3]
PROJECTS = ("example", "new", "dependent")
OPERATORS: dict[str, Callable[[str, Random], tuple[str, str]]] = {
    ".sql": sql,
    ".yml": yaml,
    ".toml": toml,
    ".py": python,
    ".csv": csv,
}
"""What makes mistakes in the files of a suffix."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A project with one mistake in one file."""

    number: int
    project: str
    path: str
    mutation: str
    text: str
    former: str
    """The path before a mistake that renames the file; otherwise the same path."""


def write_project(name: str, folder: Path) -> None:
    match name:
        case "example":
            folder.mkdir(parents=True)
            for part in ("pyproject.toml", "profiles.yml"):
                shutil.copy(ROOT / part, folder / part)
            for part in ("models", "macros", "seeds", "tests"):
                shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        case "new":
            folder.parent.mkdir(parents=True, exist_ok=True)
            command = [sys.executable, "-m", "millstream", "init", name]
            subprocess.run(command, cwd=folder.parent, check=True, capture_output=True)
        case _:
            for path, text in FILES.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text, encoding="utf-8")


def files_of(root: Path) -> list[Path]:
    """Return the files that mistakes are put into, in a fixed order."""
    folders = ("models", "macros", "seeds", "tests")
    paths = [root / "pyproject.toml", root / "profiles.yml"]
    paths += [
        path
        for folder in folders
        for path in sorted((root / folder).rglob("*"))
        if "__pycache__" not in path.parts
    ]
    return [path for path in paths if path.suffix in OPERATORS and path.is_file()]


def mutant(number: int, roots: dict[str, Path]) -> Mutant:
    """Return a mutant by its number; each project gets its share, and each language in it.

    Odd numbers are mistakes that people make as they edit, even ones those of random tokens and characters.
    """
    random = Random(number)
    project = random.choice(PROJECTS)
    root = roots[project]
    files = files_of(root)
    shares = [10, 5, 2, 1, 1] if number % 2 == 0 else [8, 8, 4, 1, 2]
    suffix = random.choices([".sql", ".yml", ".py", ".toml", ".csv"], shares)[0]
    path = random.choice([file for file in files if file.suffix == suffix] or files)
    text = path.read_text(encoding="utf-8")
    former = path.relative_to(root).as_posix()
    if number % 2:
        name, renamed, changed = everyday(former, text, random)
        return Mutant(number, project, renamed, f"{path.suffix[1:]}_{name}", changed, former)
    if path.suffix == ".toml":
        # What is outside of the project's own tables means nothing to Millstream.
        start = text.index("[tool.millstream")
        name, changed = OPERATORS[path.suffix](text[start:], random)
        changed = text[:start] + changed
    else:
        name, changed = OPERATORS[path.suffix](text, random)
    return Mutant(number, project, former, f"{path.suffix[1:]}_{name}", changed, former)


def mutants(numbers: range, roots: dict[str, Path]) -> Iterator[Mutant]:
    return (mutant(number, roots) for number in numbers)
