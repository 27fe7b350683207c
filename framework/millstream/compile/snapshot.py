"""Caches a whole compile, by a digest of all files and settings, for when nothing has changed."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from millstream.compile.cache_files import FORMAT, digest_of, read_file, write_file
from millstream.compile.manifest import Compiled
from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.project.file_list import project_files
from millstream.project.files import read_data
from millstream.project.imports import FunctionImports
from millstream.project.values import Settings, Target

_FILE = "cache/snapshot.msgpack"


class _Snapshot(Struct, frozen=True):
    """A whole compile without errors."""

    made_from: str
    environment: dict[str, str | None]
    """The environment variables that templates read, with their values."""
    imported: FunctionImports
    """What Python functions import."""
    compiled: msgspec.Raw
    """A `Compiled`, only decoded if the rest matches."""
    checked: bool = False
    """A further check had nothing to report."""
    format: str = FORMAT


def inputs_digest(root: Path, settings: Settings, target: Target, variables: Mapping[str, Any]) -> str:
    """Return a digest of everything that a compile reads, except the environment."""
    hashed = hashlib.blake2b(digest_size=16)
    paths, diagnostics = project_files(root, settings)
    for path in paths:
        try:
            data = read_data(os.path.join(root, path))  # noqa: PTH118 - three times as fast as Path
        except OSError as error:
            data = f"{type(error).__name__}".encode()
        hashed.update(f"{path}\0{len(data)}\0".encode())
        hashed.update(data)
    inputs = (target.profile, target.name, target.settings, variables)
    return digest_of(hashed.hexdigest(), *inputs, diagnostics)


def read_compiled(root: Path, folder: Path, key: str, *, checked: bool) -> Compiled | None:
    """Return the last compile if its inputs and environment are the same, and it is checked if it must be."""
    snapshot = read_file(folder / _FILE, _Snapshot)
    if snapshot is None or (snapshot.format, snapshot.made_from) != (FORMAT, key):
        return None
    if checked and not snapshot.checked:
        return None
    if any(os.environ.get(name) != value for name, value in snapshot.environment.items()):
        return None
    if not snapshot.imported.unchanged(root):
        return None
    try:
        return from_msgpack(snapshot.compiled, Compiled)
    except (msgspec.DecodeError, ValueError):
        return None


def store_compiled(
    folder: Path,
    key: str,
    environment: dict[str, str | None],
    imported: FunctionImports,
    compiled: Compiled,
    *,
    checked: bool,
) -> None:
    """Store a compile without errors; one with errors is always repeated, to report them again."""
    if any(diagnostic.severity == "error" for diagnostic in compiled.diagnostics):
        with contextlib.suppress(OSError):
            (folder / _FILE).unlink(missing_ok=True)
    else:
        encoded = msgspec.Raw(to_msgpack(compiled))
        write_file(folder / _FILE, _Snapshot(key, environment, imported, encoded, checked))
