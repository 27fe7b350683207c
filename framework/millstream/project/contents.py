"""The files that queries execute or read: functions and seeds.

A run reads them once. Otherwise a query that restarts after a failure would execute what was edited since.
"""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

from millstream.project.imports import FunctionImports
from millstream.project.values import Project


def with_contents(project: Project) -> Project:
    """Return a project that no longer reads these files."""
    functions, seeds = project.functions.values(), project.seeds.values()
    paths = {*(declared.path for declared in functions), *(declared.path for declared in seeds)}
    return replace(project, contents={path: Path(project.root, path).read_bytes() for path in sorted(paths)})


def content_of(project: Project, path: str) -> bytes:
    content = project.contents.get(path)
    return Path(project.root, path).read_bytes() if content is None else content


def has_unchanged_imports(project: Project) -> bool:
    """Return whether the files and libraries that functions import are still those of the loaded project.

    Python's workers import them from the project's folder, whenever a worker starts.
    """
    return FunctionImports(project.imported, project.libraries).unchanged(Path(project.root))
