"""What a compile found, as one value: written to `target/manifest.json`, read by every other command."""

from typing import Any, Literal

from msgspec import Struct

from millstream.errors import Diagnostic
from millstream.graph import Node

SCHEMA_VERSION = 1

InfluenceKind = Literal["direct", "computed", "filter", "join", "group", "order"]


class Influence(Struct, frozen=True, order=True):
    """A column of another relation that a column, or every row, depends on."""

    relation: str
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


class ManifestNode(Node, frozen=True, kw_only=True):
    description: str = ""
    owner: str | None = None
    meta: dict[str, Any] = {}
    columns: tuple[ManifestColumn, ...] = ()
    influences: tuple[Influence, ...] = ()
    """The columns that decide which rows there are and in what order: filter, join, group, order."""
    opaque: tuple[str, ...] = ()
    """Why the SQL was not understood, sentence by sentence; empty when it was."""
    functions: tuple[str, ...] = ()
    """The Python functions that the SQL calls."""
    macros: tuple[str, ...] = ()
    compiled_path: str | None = None
    checksum: str = ""
    """Of the file as written."""


class ManifestFunction(Struct, frozen=True):
    name: str
    path: str
    line: int
    signature: str
    description: str = ""
    table: bool = False


class KeptPlan(Struct, frozen=True):
    """What the plan is made of, for `review` and `state:` selectors: of this very format, or of no use."""

    format: str
    """The version of Millstream that wrote it, and of its shape."""
    catalog: bytes
    """A `Catalog`, compressed."""


class Manifest(Struct, frozen=True):
    schema_version: int
    millstream_version: str
    project: str
    target: str
    nodes: dict[str, ManifestNode]
    functions: dict[str, ManifestFunction]
    selectors: dict[str, Any] = {}
    plan: KeptPlan | None = None
    """Only in the file, and not where the columns of a model are unknown."""


class Compiled(Struct, frozen=True):
    """A manifest and what is wrong; with errors the manifest holds what could be understood."""

    manifest: Manifest
    diagnostics: tuple[Diagnostic, ...] = ()
    sql: dict[str, str] = {}
    """Rendered SQL by node id."""
    catalog: bytes = b""
    """What the plan is made of, a `Catalog`, still encoded; empty where something is wrong."""
    from_cache: int = 0
    """How many models were taken from the cache."""
    tests: dict[str, str] = {}
    """Rendered SQL of data tests that are files or macros of the project, by node id."""
