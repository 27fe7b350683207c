"""Caches a whole compile, by a digest of all files and settings, for when nothing has changed."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from millstream.compile.cache import Snapshot, digest_of, read_snapshot, write_snapshot
from millstream.manifest import Compiled
from millstream.project.load import project_files
from millstream.project.values import Settings, Target


def inputs_digest(root: Path, settings: Settings, target: Target, variables: Mapping[str, Any]) -> str:
    """Return a digest of everything that a compile reads, except the environment."""
    hashed = hashlib.blake2b(digest_size=16)
    for path in project_files(root, settings):
        try:
            with (root / path).open("rb") as file:
                data = file.read()
        except OSError as error:
            data = f"{type(error).__name__}".encode()
        hashed.update(f"{path}\0{len(data)}\0".encode())
        hashed.update(data)
    return digest_of(hashed.hexdigest(), target.profile, target.name, target.settings, variables)


def read_compiled(folder: Path, key: str) -> Compiled | None:
    """Return the last compile if its inputs and environment are the same."""
    found = read_snapshot(folder)
    if found is None or found.made_from != key:
        return None
    if any(os.environ.get(name) != value for name, value in found.environment.items()):
        return None
    try:
        return msgspec.msgpack.decode(found.compiled, type=Compiled)
    except (msgspec.DecodeError, ValueError):
        return None


def store_compiled(folder: Path, key: str, environment: Mapping[str, str | None], compiled: Compiled) -> None:
    """Store a compile without errors; one with errors is always repeated, to report them again."""
    write_snapshot(
        folder,
        None
        if any(each.severity == "error" for each in compiled.diagnostics)
        else Snapshot(key, dict(environment), msgspec.Raw(msgspec.msgpack.encode(compiled))),
    )
