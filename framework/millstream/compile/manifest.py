"""The result of a compile as one value: written to `target/manifest.json`, read by every other command."""

from typing import Any, Literal

from msgspec import Struct

from millstream.compile.graph import GraphNode
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId

SCHEMA_VERSION = 1

InfluenceKind = Literal["direct", "computed", "filter", "join", "group", "order"]


class Influence(Struct, frozen=True, order=True):
    """A column of another relation that a column, or every row, depends on."""

    relation: NodeId
    """The node's id."""
    column: str
    kind: InfluenceKind


class ManifestColumn(Struct, frozen=True):
    name: str
    type: str
    nullable: bool = True
    description: str = ""
    influences: tuple[Influence, ...] = ()
    """The columns that its value comes from: `direct` or `computed`."""
    tests: tuple[str, ...] = ()


class ManifestNode(GraphNode, frozen=True, kw_only=True):
    description: str = ""
    owner: str | None = None
    meta: dict[str, Any] = {}
    columns: tuple[ManifestColumn, ...] = ()
    influences: tuple[Influence, ...] = ()
    """The columns that decide which rows exist, and their order: filter, join, group, order."""
    opaque: tuple[str, ...] = ()
    """Why the SQL is opaque, sentence by sentence; empty if it is not."""
    functions: tuple[str, ...] = ()
    """The Python functions that the SQL calls."""
    macros: tuple[str, ...] = ()
    compiled_path: str | None = None
    checksum: str = ""
    """A digest of the file as written."""
    deferred: bool = False
    """In an environment: it is not built there; its topic or table is read from production."""


class ManifestFunction(Struct, frozen=True):
    name: str
    path: str
    line: int
    signature: str
    description: str = ""
    table: bool = False


class StoredPlan(Struct, frozen=True):
    """The encoded plan, for `review` and `state:` selectors; only usable by the version that wrote it."""

    format: str
    """The version of Millstream that wrote it, and that of the format."""
    catalog: bytes
    """A `Catalog`, compressed."""


class Manifest(Struct, frozen=True):
    schema_version: int
    millstream_version: str
    project: str
    target: str
    nodes: dict[NodeId, ManifestNode]
    functions: dict[str, ManifestFunction]
    selectors: dict[str, Any] = {}
    plan: StoredPlan | None = None
    """Only in the file, and only if the columns of all models are known."""
    environment: str = ""
    """The environment that the models are built in; empty for production."""


class Compiled(Struct, frozen=True):
    """A manifest and its diagnostics; with errors, the manifest is as complete as possible."""

    manifest: Manifest
    diagnostics: tuple[Diagnostic, ...] = ()
    sql: dict[NodeId, str] = {}
    """Rendered SQL by node id."""
    catalog: bytes = b""
    """The encoded `Catalog` that the plan is built from; empty if there are errors."""
    from_cache: int = 0
    """The number of models taken from the cache."""
    invalid: frozenset[NodeId] = frozenset()
    """The ids of models with errors."""
    errors_elsewhere: bool = False
    """Whether there are errors that are not those of single models, such as wrong YAML."""
    tests: dict[NodeId, str] = {}
    """Rendered SQL of data tests that are files or macros of the project, by node id."""
