"""A file with what is needed to reproduce an internal error, without secrets."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from types import FrameType

from msgspec import Struct

from millstream import __version__
from millstream.core.text import FileText
from millstream.project.secrets import mask_secrets, secrets_of_environment
from millstream.project.settings import FILE, find_project
from millstream.review.edited_lines import without_secrets

_STEPS = {
    "project": "reading",
    "compile": "compiling",
    "sql": "analyzing",
    "plan": "planning",
    "plan.optimizer": "optimizing",
    "queries": "planning the queries of",
    "explain": "explaining",
    "review": "reviewing",
    "docs": "documenting",
    "testing": "testing",
    "engine": "running",
    "kafka": "reading and writing records of",
}
_PACKAGES = ("jinja2", "msgspec", "pyspark", "pyyaml", "sqlglot", "deltalake", "confluent-kafka")
_LARGEST = 200_000
"""Characters shown of a file."""


class CrashLocation(Struct, frozen=True):
    """What Millstream did when it failed; either part may be empty."""

    step: str = ""
    path: str = ""

    def __str__(self) -> str:
        return f" while {self.step} {self.path or 'the project'}" if self.step else ""


def crash_location(error: BaseException) -> CrashLocation:
    """Find the package that failed, and the innermost file that it worked on."""
    step = path = ""
    for frame in reversed([*_frames(error)]):
        package = str(frame.f_globals.get("__name__", "")).split(".")
        if package[0] == "millstream":
            step = step or _STEPS.get(".".join(package[1:3])) or _STEPS.get("".join(package[1:2]), "")
            path = path or next(_paths(frame), "")
    return CrashLocation(step, path)


def _frames(error: BaseException) -> Iterator[FrameType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame
        trace = trace.tb_next


def _paths(frame: FrameType) -> Iterator[str]:
    """Yield the paths of files and models in a function's variables."""
    for value in list(frame.f_locals.values()):
        if type(value).__module__.startswith(("py4j.", "pyspark.")):
            continue  # an attribute of it asks the JVM, which may be gone
        for candidate in (value, getattr(value, "file", None), getattr(value, "text", None)):
            path = getattr(candidate, "path", None)
            if isinstance(candidate, Struct | FileText) and isinstance(path, str) and Path(path).suffix:
                yield path


def write_report(error: BaseException, arguments: Sequence[str], location: CrashLocation) -> Path | None:
    """Write a report, readable only by its owner; None if it can't be written."""
    try:
        handle, name = tempfile.mkstemp(prefix="millstream-report-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(mask_quoted("\n\n".join(_sections(error, arguments, location))))
    except OSError:
        return None
    return Path(name)


def _sections(error: BaseException, arguments: Sequence[str], location: CrashLocation) -> Iterator[str]:
    yield f"millstream {__version__}, Python {sys.version.split()[0]}, {platform.platform()}"
    yield "\n".join(f"{name} {_version(name)}" for name in _PACKAGES)
    yield f"command: millstream {' '.join(arguments)}"
    yield f"failed{location}"
    yield "".join(traceback.format_exception(error)).rstrip()
    root = _project(arguments)
    if root is None:
        return
    for path in dict.fromkeys((FILE, location.path)):
        if path and (root / path).is_file():
            yield f"--- {path}\n{without_secrets(_content(root / path))}"


def _project(arguments: Sequence[str]) -> Path | None:
    named = [value for name, value in pairwise(arguments) if name == "--project-dir"]
    try:
        return find_project(Path(named[0] if named else "."))
    except Exception:  # noqa: BLE001 - a report about one error must not end with another
        return None


def _content(path: Path) -> str:
    with path.open(encoding="utf-8", errors="backslashreplace") as file:
        return file.read(_LARGEST)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "is not installed"


def mask_quoted(text: str) -> str:
    """Mask what an exception quotes of secrets."""
    return mask_secrets(text, secrets_of_environment())
