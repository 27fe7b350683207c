"""The folder of a project's own data, which git ignores: the local broker, checkpoints, tables and logs."""

from __future__ import annotations

from pathlib import Path

OWN_FOLDER = ".millstream"
_IGNORED = "# Written by Millstream; git ignores this folder.\n*\n"


def make_folder(folder: Path) -> None:
    """Create a folder; if it is below that of the project's own data, let git ignore that one."""
    folder.mkdir(parents=True, exist_ok=True)
    for parent in (folder, *folder.parents):
        if parent.name == OWN_FOLDER and not (file := parent / ".gitignore").exists():
            file.write_text(_IGNORED, encoding="utf-8")
