"""Lists the files that a project is loaded from."""

from __future__ import annotations

from pathlib import Path

from millstream.core.errors import Diagnostic
from millstream.formats.registry import SCHEMA_SUFFIXES
from millstream.project.files import find_files
from millstream.project.selectors_file import FILE as SELECTORS
from millstream.project.settings import FILE
from millstream.project.values import Settings

SUFFIXES = (".sql", ".yml", ".yaml", ".py", ".csv")
"""Suffixes of the files that a project is loaded from."""


def project_files(root: Path, settings: Settings) -> tuple[list[str], list[Diagnostic]]:
    """Return the paths of all files that a project is loaded from, whether they exist or not.

    Also return why some can't be read.
    """
    diagnostics: list[Diagnostic] = []
    paths = [FILE, SELECTORS, *find_files(root, settings.folders, SUFFIXES, diagnostics)]
    return [*paths, *find_files(root, settings.schema_paths, SCHEMA_SUFFIXES, diagnostics)], diagnostics
