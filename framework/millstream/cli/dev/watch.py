"""Hears of saved files: every file of the project that a compile could read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from watchfiles import DefaultFilter, watch

from millstream.core.own_folder import OWN_FOLDER
from millstream.core.target_folder import MARKER
from millstream.formats.registry import SCHEMA_SUFFIXES

_NAMES = frozenset({"pyproject.toml"})
_SUFFIXES = frozenset({".sql", ".yml", ".yaml", ".py", ".csv", *SCHEMA_SUFFIXES})
_TOGETHER = 50
"""Milliseconds: files that are saved within this time of each other are one change."""
_LONGEST = 500
"""Milliseconds after which a change is told, although files are still being saved."""
_PATIENCE = 200
"""Milliseconds without a change after which the watcher says that it still watches."""


class _ProjectFiles(DefaultFilter):
    """Leaves out what commands write, and what editors write next to a file before they rename it."""

    def __init__(self, root: Path, profiles: Path) -> None:
        super().__init__(ignore_dirs=(*DefaultFilter.ignore_dirs, OWN_FOLDER))
        self._root, self._profiles = root, profiles

    def __call__(self, change: object, path: str) -> bool:
        file = Path(path)
        if not super().__call__(change, path):  # type: ignore[arg-type]  # the base class says what it is
            return False
        if file.parent == self._profiles and not file.is_relative_to(self._root):
            return file.name == "profiles.yml"
        return (file.name in _NAMES or file.suffix in _SUFFIXES) and not self._is_result(file)

    def _is_result(self, file: Path) -> bool:
        folders = (folder for folder in file.parents if folder.is_relative_to(self._root))
        return any((folder / MARKER).is_file() for folder in folders)


def saved_files(root: Path, profiles: Path, stop: threading.Event) -> Iterator[tuple[str, ...]]:
    """Yield the files of each change, relative to the project; nothing, first, once files are watched."""
    folders = {root, profiles}
    changes = watch(
        *(folder for folder in folders if not any(folder != o and folder.is_relative_to(o) for o in folders)),
        watch_filter=_ProjectFiles(root, profiles),
        debounce=_LONGEST,
        step=_TOGETHER,
        stop_event=stop,
        rust_timeout=_PATIENCE,
        yield_on_timeout=True,
        raise_interrupt=False,
    )
    watching = False
    for change in changes:
        if change or not watching:
            yield tuple(sorted(_relative(Path(path), root) for _, path in change))
        watching = True


def _relative(file: Path, root: Path) -> str:
    return file.relative_to(root).as_posix() if file.is_relative_to(root) else str(file)
