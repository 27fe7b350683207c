"""Whether a run of a project's tests needs pytest's plugins that other packages have."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_CONFIGURATIONS = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "setup.cfg")
_VARIABLES = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS")


def may_use_plugins(root: Path, folders: Iterable[Path]) -> bool:
    """Return whether a project configures pytest, and so may use plugins for tests that are not in Python.

    A plugin that is merely installed, such as Hypothesis, changes nothing of them, and takes time to import.
    """
    if any(os.environ.get(name) for name in _VARIABLES):
        return True
    if any((root / name).exists() for name in _CONFIGURATIONS):
        return True
    if "[tool.pytest" in (root / "pyproject.toml").read_text(encoding="utf-8"):
        return True
    return (root / "conftest.py").exists() or any(
        "conftest.py" in files for folder in folders for _, _, files in os.walk(folder)
    )
