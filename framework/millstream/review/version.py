"""One of the two versions that a review compares, with all that is known about it."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.artifacts import stored_catalog
from millstream.compile.manifest import SCHEMA_VERSION, Compiled, Manifest, ManifestNode
from millstream.core.decoding import from_json
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.queries.query_cache import QueryCache
from millstream.queries.topology import Topology, compiled_topology
from millstream.review.plan_cache import load_plan, save_plan


class ReviewedVersion(Struct, frozen=True):
    name: str
    """A name for people: a branch, a file, `the working tree`."""
    compiled: Compiled
    commit: str = ""
    """Short id; empty if it is not a commit."""
    topology: Topology | None = None
    root: Path | None = None
    """The folder of its files; None: only the manifest exists."""
    less: str = ""
    """Why it has no plan."""
    cache: Path | None = None
    """The folder in which reviews may cache its plan and queries."""

    @property
    def manifest(self) -> Manifest:
        return self.compiled.manifest

    def nodes_of(self, kind: str) -> dict[NodeId, ManifestNode]:
        return {id_: node for id_, node in self.manifest.nodes.items() if node.kind == kind}


def version_of(
    name: str, compiled: Compiled, root: Path | None, *, commit: str = "", cache: Path | None = None
) -> ReviewedVersion:
    """Return a compiled version, without its plan (see `with_plan`)."""
    errors = sum(diagnostic.severity == "error" for diagnostic in compiled.diagnostics)
    if not compiled.catalog:
        less = f"it does not compile ({errors} errors)" if errors != 1 else "it does not compile (1 error)"
        less = less if errors else "the columns of a model are unknown"
        return ReviewedVersion(name, compiled, commit, root=root, less=less)
    return ReviewedVersion(name, compiled, commit, root=root, cache=cache)


def with_plan(
    version: ReviewedVersion,
    queries: QueryCache | None = None,
    *,
    use_cache: bool = False,
    other: ReviewedVersion | None = None,
) -> ReviewedVersion:
    """Return a version with its plan, if it can have one; `queries` are cached queries.

    With `use_cache`, the plan is loaded from the version's cache or saved there. The plan has the nodes of
    the `other` version's plan for models that are the same in both.
    """
    if version.less or version.topology:
        return version
    cache = version.cache if use_cache else None
    topology = load_plan(cache, version.compiled) if cache is not None else None
    if topology is None:
        # Without figures from builds, so that the review is the same on every machine.
        topology = compiled_topology(version.compiled, other=other.topology if other else None)
        if cache is not None:
            save_plan(cache, version.compiled, topology)
    return replace(version, topology=replace(topology, cache=queries))


def version_of_manifest(path: Path) -> ReviewedVersion:
    try:
        # A pipe has an end, and shells use them for the output of a command.
        if path.is_char_device() or path.is_block_device():
            raise MillstreamError(_unreadable(path, "it is a device"))
        return decode_version(path.name, path.read_bytes())
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MillstreamError(_unreadable(path, reason)) from None
    except ValueError as error:
        raise MillstreamError(_unreadable(path, str(error))) from None


def decode_version(name: str, content: bytes) -> ReviewedVersion:
    """Decode a version from a manifest; raise a ValueError with the reason if it can't be read."""
    try:
        manifest = from_json(content, Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ValueError(f"it is not a Millstream manifest: {error}") from None
    if manifest.schema_version != SCHEMA_VERSION:
        message = f"its schema_version is {manifest.schema_version}, but this version reads {SCHEMA_VERSION}"
        raise ValueError(message)
    catalog = stored_catalog(manifest)
    if catalog is None:
        writer = f"it was written by Millstream {manifest.millstream_version}"
        less = f"{writer}, whose plan this version can't read" if manifest.plan else "it contains no plan"
        return ReviewedVersion(name, Compiled(manifest), less=less)
    return ReviewedVersion(name, Compiled(manifest, catalog=catalog))


def _unreadable(path: Path, reason: str) -> Diagnostic:
    remedy = "name a manifest.json that `millstream compile` wrote, or a commit with --against"
    return Diagnostic("MS725", f"{path} can't be read: {reason}", None, remedy)
