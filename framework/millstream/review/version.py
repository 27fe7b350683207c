"""One of the two versions that a review compares, with as much as is known of it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.artifacts import stored_catalog
from millstream.errors import Diagnostic, MillstreamError
from millstream.manifest import SCHEMA_VERSION, Compiled, Manifest, ManifestNode
from millstream.physical.query_cache import KeptQueries
from millstream.review.plan_cache import keep_plan, recall_plan
from millstream.topology import Topology, compiled_topology


class Version(Struct, frozen=True):
    name: str
    """What people call it: a branch, a file, `the working tree`."""
    compiled: Compiled
    commit: str = ""
    """Short id; empty where it is none."""
    topology: Topology | None = None
    root: Path | None = None
    """Where its files are; None: there is a manifest only."""
    less: str = ""
    """Why there is no plan of it, as a sentence's end."""
    cache: Path | None = None
    """The folder where reviews may keep what they found of it."""

    @property
    def manifest(self) -> Manifest:
        return self.compiled.manifest

    def nodes_of(self, kind: str) -> dict[str, ManifestNode]:
        return {id_: node for id_, node in self.manifest.nodes.items() if node.kind == kind}


def version_of(
    name: str, compiled: Compiled, root: Path | None, *, commit: str = "", cache: Path | None = None
) -> Version:
    """Return a version that was compiled; its plan is made where it is asked for (`planned`)."""
    errors = sum(each.severity == "error" for each in compiled.diagnostics)
    if not compiled.catalog:
        less = f"it does not compile ({errors} errors)" if errors != 1 else "it does not compile (1 error)"
        less = less if errors else "the columns of a model are not known in it"
        return Version(name, compiled, commit, root=root, less=less)
    return Version(name, compiled, commit, root=root, cache=cache)


def planned(version: Version, queries: KeptQueries | None = None, *, kept: bool = False) -> Version:
    """Return a version with its plan, where there is one; `kept`: as it was kept, or else to be kept.

    `queries` were planned before.
    """
    if version.less or version.topology:
        return version
    # Figures of builds are of this machine only: without them the review says the same everywhere.
    found = None
    if kept and version.cache is not None:
        found = recall_plan(version.cache, version.compiled)
    if found is None:
        found = compiled_topology(version.compiled)
        if kept and version.cache is not None:
            keep_plan(version.cache, version.compiled, found)
    return replace(version, topology=replace(found, kept=queries))


def version_of_manifest(path: Path) -> Version:
    """Return what a manifest's file knows of a version."""
    try:
        return decoded(path.name, path.read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MillstreamError(_unreadable(path, reason)) from None
    except ValueError as error:
        raise MillstreamError(_unreadable(path, str(error))) from None


def decoded(name: str, content: bytes) -> Version:
    """Return what a manifest knows of a version; a ValueError says why it can't be read."""
    try:
        manifest = msgspec.json.decode(content, type=Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"it is no manifest of Millstream's: {error}") from None
    if manifest.schema_version != SCHEMA_VERSION:
        said = f"its schema_version is {manifest.schema_version}, and this version reads {SCHEMA_VERSION}"
        raise ValueError(said)
    catalog = stored_catalog(manifest)
    if catalog is None:
        said = f"it was written by Millstream {manifest.millstream_version}"
        less = f"{said}, whose plan this version can't read" if manifest.plan else "it holds no plan"
        return Version(name, Compiled(manifest), less=less)
    return Version(name, Compiled(manifest, catalog=catalog))


def _unreadable(path: Path, reason: str) -> Diagnostic:
    remedy = "name the manifest.json that `millstream compile` wrote, or a commit with --against"
    return Diagnostic("MS725", f"{path} can't be read: {reason}", None, remedy)
