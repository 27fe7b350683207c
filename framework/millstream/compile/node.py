"""A model during compilation, and its node in the manifest."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from millstream.compile.cache import CachedModel
from millstream.compile.manifest import Influence, ManifestColumn, ManifestNode
from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.outputs.registry import Materialization, materialization_of
from millstream.plan.traits import Traits
from millstream.project.load import model_folders
from millstream.project.values import DeclaredColumn, NodeReference, Project, SqlFile, TemplateUses
from millstream.sql.values import Analysis, InputRelation, RelationColumn, Source

if TYPE_CHECKING:
    from millstream.project.templates import Rendered


class Model(Struct):
    """A model during compilation: its results so far."""

    file: SqlFile
    config: dict[str, Any]
    references: tuple[NodeReference, ...]
    uses: TemplateUses
    rendered_from: str
    sql: str = ""
    rendered: Rendered | None = None
    entry: CachedModel | None = None
    """The cache entry, while it may still be valid."""
    made_from: str = ""
    node: ManifestNode | None = None
    spec: bytes = b""
    """An encoded `ModelSpec`; empty if there are errors."""
    traits: Traits | None = None
    diagnostics: list[Diagnostic] = []
    broken: bool = False
    """There are errors in its template, its options, or in which relations it may read."""
    warnings: list[Diagnostic] = []
    """Warnings, which don't affect readers of the model."""

    _stored: tuple[dict[str, Any], Materialization] | None = None

    @property
    def id(self) -> NodeId:
        return _model_id(self.file.name)

    @property
    def stored(self) -> Materialization:
        """What it stores; `config` is replaced, never changed."""
        if self._stored is None or self._stored[0] is not self.config:
            self._stored = self.config, materialization_of(self.file.name, self.config)
        return self._stored[1]


@lru_cache(maxsize=1 << 14)
def _model_id(name: str) -> NodeId:
    return NodeId("model", name)


def model_node(
    project: Project, model: Model, relation: InputRelation, analysis: Analysis, macros: Container[str]
) -> ManifestNode:
    """Return a model's node in the manifest."""
    file = model.file
    properties = project.properties.get(file.name)
    described = {column.name.lower(): column for column in properties.columns} if properties else {}
    stored = model.stored
    return ManifestNode(
        id=model.id,
        kind="model",
        name=file.name,
        path=file.path,
        fqn=(project.settings.name, *model_folders(file, project.settings), file.name),
        tags=tuple(model.config.get("tags") or ()),
        config={key: value for key, value in model.config.items() if value not in (None, [], {}, ())},
        depends_on=tuple(sorted({reference.id for reference in model.references})),
        description=properties.description if properties else "",
        owner=model.config.get("owner") or (properties.owner if properties else None),
        meta=model.config.get("meta") or {},
        columns=_model_columns(analysis, relation, described),
        influences=_influences(analysis.rows),
        opaque=analysis.opaque,
        functions=tuple(dict.fromkeys((*analysis.functions, *stored.functions))),
        macros=tuple(sorted(name for name in model.uses.names if name in macros)),
        compiled_path=f"compiled/{file.path}",
        checksum=file.digest,
    )


def _model_columns(
    analysis: Analysis, relation: InputRelation, described: Mapping[str, DeclaredColumn]
) -> tuple[ManifestColumn, ...]:
    sources = {column.name.lower(): column.sources for column in analysis.columns}
    return tuple(
        column_of(column, described.get(column.name.lower()), sources.get(column.name.lower(), frozenset()))
        for column in relation.columns
    )


def column_of(
    column: RelationColumn, described: DeclaredColumn | None, sources: frozenset[Source]
) -> ManifestColumn:
    return ManifestColumn(
        column.name,
        str(column.type),
        column.nullable,
        described.description if described else "",
        _influences(sources),
        tuple(test.name for test in described.tests) if described else (),
    )


def _influences(sources: frozenset[Source]) -> tuple[Influence, ...]:
    return tuple(Influence(*source) for source in sorted(sources)) if sources else ()
