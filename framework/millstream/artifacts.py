"""What a compile leaves behind: `compiled/**.sql` and `manifest.json` below the target folder."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from millstream import __version__
from millstream.atomic import replace_file
from millstream.errors import Diagnostic, MillstreamError
from millstream.manifest import Compiled, KeptPlan, Manifest

MANIFEST = "manifest.json"
_COMPILED = "compiled"
_PLAN = f"{__version__}-1"
"""Grows with every change of what a `Catalog` is made of."""


class Written(Struct, frozen=True):
    """Files by path relative to the project."""

    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0


def write_artifacts(
    root: Path, target_path: str, compiled: Compiled, only: Collection[str] | None = None
) -> Written:
    """Write what changed and remove what is stale; with `only`, write the SQL of these nodes and remove none.

    Every file is replaced as a whole, so that who reads meanwhile reads the old one or the new one.
    """
    target = root / target_path
    try:
        return _write(target, target_path, compiled, only)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        place = error.filename or target
        in_the_way = isinstance(error, NotADirectoryError | IsADirectoryError | FileExistsError)
        mend = f"move what is in the way of {place}" if in_the_way else f"make {place} writable"
        raise MillstreamError(
            Diagnostic(
                "MS702",
                f"results can't be written below {target_path}/: {reason}",
                None,
                f"{mend}, or set target-path in [tool.millstream]",
            )
        ) from None


def _write(target: Path, name: str, compiled: Compiled, only: Collection[str] | None) -> Written:
    files = {
        place_of(node.compiled_path): compiled.sql[id_]
        for id_, node in compiled.manifest.nodes.items()
        if node.compiled_path and id_ in compiled.sql and (only is None or id_ in only)
    }
    changed, folders = [], set()
    for path, sql in files.items():
        data = sql.encode() if sql.endswith("\n") else f"{sql}\n".encode()
        file = target / path
        if _read(file) == data:
            continue
        if file.parent not in folders:
            file.parent.mkdir(parents=True, exist_ok=True)
            folders.add(file.parent)
        replace_file(file, data, mode=0o644)
        changed.append(f"{name}/{path}")
    removed = [f"{name}/{path}" for path in _remove_stale(target, files)] if only is None else []
    # Last, so that a manifest names no file that is not there.
    target.mkdir(parents=True, exist_ok=True)
    data = manifest_file(compiled)
    if _read(target / MANIFEST) != data:
        replace_file(target / MANIFEST, data, mode=0o644)
    return Written(tuple(changed), tuple(removed), len(files) - len(changed))


def manifest_file(compiled: Compiled) -> bytes:
    """Return the text of `manifest.json`."""
    return msgspec.json.encode(with_plan(compiled), enc_hook=str) + b"\n"


def with_plan(compiled: Compiled) -> Manifest:
    """Return the manifest as it is written: with what the plan is made of."""
    if not compiled.catalog:
        return compiled.manifest
    plan = KeptPlan(_PLAN, zlib.compress(compiled.catalog, 6))
    return msgspec.structs.replace(compiled.manifest, plan=plan)


def kept_catalog(manifest: Manifest) -> bytes | None:
    """Return what the plan of a manifest is made of; None where it has none that this version can read."""
    if manifest.plan is None or manifest.plan.format != _PLAN:
        return None
    try:
        return zlib.decompress(manifest.plan.catalog)
    except zlib.error:
        return None


def place_of(compiled_path: str) -> str:
    """Return the path below the target folder; models of a folder beside the project stay inside it too."""
    parts = ["__" if part == ".." else part for part in PurePosixPath(compiled_path).parts if part != "/"]
    return "/".join(parts)


def _remove_stale(target: Path, files: Collection[str]) -> list[str]:
    removed = []
    for folder, _, names in os.walk(target / _COMPILED, topdown=False):
        below = Path(folder).relative_to(target).as_posix()
        stale = [name for name in names if name.endswith(".sql") and f"{below}/{name}" not in files]
        for name in stale:
            Path(folder, name).unlink(missing_ok=True)
            removed.append(f"{below}/{name}")
        if stale and not any(Path(folder).iterdir()):
            Path(folder).rmdir()
    return sorted(removed)


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
