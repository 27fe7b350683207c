"""Nothing changed: the whole compile of the last time, found by the digests of every file and setting."""

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


def made_from(root: Path, settings: Settings, target: Target, variables: Mapping[str, Any]) -> str:
    """Return a digest of all that a compile reads, but the environment."""
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


def recall(folder: Path, key: str) -> Compiled | None:
    """Return the last compile if it was made from the same, in the same environment."""
    found = read_snapshot(folder)
    if found is None or found.made_from != key:
        return None
    if any(os.environ.get(name) != value for name, value in found.environment.items()):
        return None
    try:
        return msgspec.msgpack.decode(found.compiled, type=Compiled)
    except (msgspec.DecodeError, ValueError):
        return None


def keep(folder: Path, key: str, environment: Mapping[str, str | None], compiled: Compiled) -> None:
    """Keep a compile without mistakes; one with mistakes is done again, so that all are told."""
    write_snapshot(
        folder,
        None
        if any(each.severity == "error" for each in compiled.diagnostics)
        else Snapshot(key, dict(environment), msgspec.Raw(msgspec.msgpack.encode(compiled))),
    )
