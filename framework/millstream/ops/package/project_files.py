"""Chooses the files of a project that it runs with: no hidden files, no results, no secrets."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import FileText
from millstream.project.files import File, read_file
from millstream.project.profiles import FILE as PROFILES
from millstream.project.profiles import profiles_file, written_secrets
from millstream.project.settings import FILE as SETTINGS
from millstream.project.values import Project
from millstream.project.yaml import parse_yaml

_ALONE = (SETTINGS, "selectors.yml", "README.md")


def project_files(project: Project, included: Iterable[str], profiles_dir: Path | None) -> dict[str, Path]:
    """Return the files to package, by their paths in the project."""
    root, settings = Path(project.root), project.settings
    files = {name: root / name for name in _ALONE if (root / name).is_file()}
    for folder in (*settings.folders, *settings.schema_paths):
        files |= _below(root, folder)
    # Modules that functions import.
    files |= {path: root / path for path in project.imported}
    for pattern in included:
        files |= _matching(root, pattern)
    if profiles := _profiles(root, profiles_dir):
        files[PROFILES] = profiles
    return dict(sorted(files.items()))


def _below(root: Path, folder: str) -> dict[str, Path]:
    paths: dict[str, Path] = {}
    for base, folders, files in os.walk(root / folder):
        folders[:] = sorted(name for name in folders if _is_shown(name))
        for name in files:
            path = Path(base, name)
            if _is_shown(name) and path.is_file():
                paths[path.relative_to(root).as_posix()] = path
    return paths


def _is_shown(name: str) -> bool:
    return not name.startswith(".") and name != "__pycache__" and not name.endswith(".pyc")


def _matching(root: Path, pattern: str) -> dict[str, Path]:
    """Return the files of --include: a file, a folder or a pattern."""
    pure = PurePosixPath(pattern)
    if pure.is_absolute() or ".." in pure.parts:
        message = f"--include {pattern} is outside of the project"
        remedy = "name files relative to the project's folder, or copy them there"
        raise MillstreamError(Diagnostic("MS667", message, None, remedy))
    paths: dict[str, Path] = {}
    for path in sorted(root.glob(pattern)):
        if path.is_dir():
            paths |= _below(root, path.relative_to(root).as_posix())
        elif path.is_file():
            paths[path.relative_to(root).as_posix()] = path
    if not paths:
        message = f"--include {pattern} names no file of the project"
        remedy = (
            "name a file, a folder or a pattern such as certificates/*.pem, relative to the project's folder"
        )
        raise MillstreamError(Diagnostic("MS667", message, None, remedy))
    return paths


def _profiles(root: Path, profiles_dir: Path | None) -> Path | None:
    """Return the file of profiles, which must not contain a secret of any target."""
    path = profiles_file(root, profiles_dir)
    if not isinstance(path, str):
        return None
    file = read_file(root, path)
    if isinstance(file, File):
        node, _ = parse_yaml(FileText(path, file.content))
        if written_secrets(node):
            message = f"{path} contains a secret in plain text, which would be readable in the package"
            remedy = "read it from the environment: \"{{ env_var('KAFKA_PASSWORD') }}\""
            raise MillstreamError(Diagnostic("MS666", message, None, remedy))
    return root / path
