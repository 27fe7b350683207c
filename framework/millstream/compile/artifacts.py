"""Writes the results of a compile: `compiled/**.sql` and `manifest.json` below the target folder."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from millstream import __version__
from millstream.compile.manifest import Compiled, Manifest, StoredPlan
from millstream.core.atomic import replace_file
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.target_folder import claim_folder, is_below
from millstream.project.files import SpecialFileError, open_regular

MANIFEST = "manifest.json"
_COMPILED = "compiled"
PLAN_FORMAT = f"{__version__}-6"
"""Must increase with every change of `Catalog`'s format."""


class WrittenFiles(Struct, frozen=True):
    """Files by path relative to the project."""

    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0


def write_artifacts(
    root: Path, target_path: str, compiled: Compiled, node_ids: Collection[NodeId] | None = None
) -> WrittenFiles:
    """Write changed files and remove stale ones; with `node_ids`, write only their SQL and remove none.

    Every file is replaced as a whole, so that a concurrent reader sees the old file or the new one.
    """
    claim_folder(root, target_path)
    target = root / target_path
    try:
        return _write(target, target_path, compiled, node_ids)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        path = error.filename or target
        obstructed = isinstance(error, NotADirectoryError | IsADirectoryError | FileExistsError)
        remedy = f"move what obstructs {path}" if obstructed else f"make {path} writable"
        message = f"results can't be written below {target_path}/: {reason}"
        remedy += ", or set target-path in [tool.millstream]"
        raise MillstreamError(Diagnostic("MS702", message, None, remedy)) from None


def _write(target: Path, name: str, compiled: Compiled, node_ids: Collection[NodeId] | None) -> WrittenFiles:
    files = {
        artifact_path(node.compiled_path): compiled.sql[id_]
        for id_, node in compiled.manifest.nodes.items()
        if node.compiled_path and id_ in compiled.sql and (node_ids is None or id_ in node_ids)
    }
    changed, folders = [], set()
    for path, sql in files.items():
        data = sql.encode() if sql.endswith("\n") else f"{sql}\n".encode()
        file = target / path
        if _read(file) == data:
            continue
        if file.parent not in folders:
            _check_below(file.parent, target)
            file.parent.mkdir(parents=True, exist_ok=True)
            folders.add(file.parent)
        replace_file(file, data, mode=0o644)
        changed.append(f"{name}/{path}")
    removed = [f"{name}/{path}" for path in _remove_stale(target, files)] if node_ids is None else []
    # Last, so that a manifest never names a missing file; models with errors are not described by one.
    if not compiled.invalid:
        target.mkdir(parents=True, exist_ok=True)
        data = manifest_file(compiled)
        if _read(target / MANIFEST) != data:
            replace_file(target / MANIFEST, data, mode=0o644)
    return WrittenFiles(tuple(changed), tuple(removed), len(files) - len(changed))


def _check_below(folder: Path, target: Path) -> None:
    if not is_below(folder, target):
        remedy = f"remove the link, or {target.name}/ as a whole"
        raise MillstreamError(Diagnostic("MS710", f"{folder} is outside of {target.name}/", None, remedy))


def manifest_file(compiled: Compiled) -> bytes:
    """Return the text of `manifest.json`."""
    return msgspec.json.encode(with_plan(compiled), enc_hook=str) + b"\n"


def with_plan(compiled: Compiled) -> Manifest:
    """Return the manifest with the encoded plan, as it is written to the file."""
    if not compiled.catalog:
        return compiled.manifest
    plan = StoredPlan(PLAN_FORMAT, zlib.compress(compiled.catalog, 6))
    return msgspec.structs.replace(compiled.manifest, plan=plan)


def stored_catalog(manifest: Manifest) -> bytes | None:
    """Return the encoded catalog of a manifest's plan; None if this version can't read it."""
    if manifest.plan is None or manifest.plan.format != PLAN_FORMAT:
        return None
    try:
        return zlib.decompress(manifest.plan.catalog)
    except zlib.error:
        return None


def artifact_path(compiled_path: str) -> str:
    """Return the path below the target folder, also for models of a folder outside the project."""
    parts = ["__" if part == ".." else part for part in PurePosixPath(compiled_path).parts if part != "/"]
    return "/".join(parts)


def _remove_stale(target: Path, files: Collection[str]) -> list[str]:
    removed = []
    _check_below(target / _COMPILED, target)
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
        with open_regular(file) as stream:
            return stream.readall()
    except (FileNotFoundError, NotADirectoryError, SpecialFileError):
        return None
