"""What queries were started with: the definitions of their models, and of all that these read.

Each record has that of its own query, so what runs is known whatever command started it, and whichever
queries failed or were not selected.
"""

from __future__ import annotations

import graphlib
import zlib
from collections.abc import Iterable, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.artifacts import PLAN_FORMAT
from millstream.compile.manifest import Compiled, Manifest, ManifestFunction, ManifestNode
from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.core.node_id import NodeId
from millstream.deploy.planning.records import QueryRecord
from millstream.plan.from_sql.catalog import Catalog, ModelSpec


class ModelDefinitions(Struct, frozen=True):
    format: str
    nodes: dict[NodeId, ManifestNode]
    functions: dict[str, ManifestFunction]
    catalog: Catalog

    def packed(self) -> bytes:
        return zlib.compress(to_msgpack(self), 6)


def definition_of(manifest: Manifest, catalog: Catalog, stored: Iterable[NodeId]) -> ModelDefinitions:
    """Return the definitions of some stored models, of the views that they read, and of what these read."""
    nodes: dict[NodeId, ManifestNode] = {}
    waiting = [id_ for id_ in stored if id_ in manifest.nodes]
    requested = frozenset(waiting)
    while waiting:
        id_ = waiting.pop()
        node = manifest.nodes.get(id_)
        if node is None or id_ in nodes:
            continue
        nodes[id_] = node
        spec = catalog.models.get(id_)
        inlined = spec is not None and spec.materialization.inlined
        # No record defines what is read from production.
        if id_ in requested or inlined or catalog.defers(id_):
            waiting += node.depends_on
    called = {name for node in nodes.values() for name in node.functions}
    return ModelDefinitions(
        PLAN_FORMAT,
        dict(sorted(nodes.items())),
        {name: function for name, function in sorted(manifest.functions.items()) if name in called},
        replace(
            catalog,
            # Which topics match a pattern is not part of the project.
            topics={
                id_: replace(topic, matching=()) for id_, topic in catalog.topics.items() if id_ in nodes
            },
            seeds={id_: seed for id_, seed in catalog.seeds.items() if id_ in nodes},
            row_sources={id_: source for id_, source in catalog.row_sources.items() if id_ in nodes},
            models={id_: model for id_, model in catalog.models.items() if id_ in nodes},
            functions={name: function for name, function in catalog.functions.items() if name in called},
        ),
    )


def is_same(old: bytes, new: bytes) -> bool:
    """Whether two packed definitions are equal; sets are written in any order."""
    return old == new or _unpacked(old) == _unpacked(new)


def running_catalog(records: Iterable[QueryRecord]) -> Catalog | None:
    """Return the models that run as they were written when their queries were started; None if unknown."""
    definition = _running(records)
    return None if definition is None else definition.catalog


def _running(records: Iterable[QueryRecord]) -> ModelDefinitions | None:
    parts = [
        (record, _unpacked(record.definition))
        for record in sorted(records, key=lambda record: record.defined)
    ]
    definitions = [(record, definition) for record, definition in parts if definition is not None]
    return _merged(definitions) if definitions and len(definitions) == len(parts) else None


def running_project(
    records: Iterable[QueryRecord], now: Manifest, saved: tuple[Manifest, Catalog] | None
) -> Compiled | None:
    """Return the models that run as one compiled project; None if that is unknown.

    What no query reads, and tests, exposures and metrics are those of the project that was `saved` when all
    of its models were started, or of the project as it is `now`.
    """
    running = _running(records)
    if running is None:
        return None
    if saved is not None:
        running = _with_unread(running, *saved)
    nodes = dict(running.nodes)
    others = (saved[0] if saved else now).nodes
    missing = others.keys() - nodes.keys()
    for id_, node in others.items():
        if node.kind not in _DEFINED and missing.isdisjoint(node.depends_on):
            nodes.setdefault(id_, node)
    manifest = replace(now, nodes=dict(sorted(nodes.items())), functions=running.functions, plan=None)
    return Compiled(manifest, catalog=to_msgpack(running.catalog))


_DEFINED = frozenset(("model", "source", "seed"))
"""The kinds of nodes that queries are built from."""


def _merged(definitions: Sequence[tuple[QueryRecord, ModelDefinitions]]) -> ModelDefinitions | None:
    """Return all definitions as one, the newest last; None if they don't fit together."""
    nodes: dict[NodeId, ManifestNode] = {}
    functions: dict[str, ManifestFunction] = {}
    models: dict[NodeId, ModelSpec] = {}
    for _, definition in definitions:
        nodes |= definition.nodes
        functions |= definition.functions
        models |= definition.catalog.models
    for record, definition in definitions:  # what a query stores is defined by no other one
        nodes |= {id_: definition.nodes[id_] for id_ in record.stored if id_ in definition.nodes}
        models |= {
            id_: definition.catalog.models[id_] for id_ in record.stored if id_ in definition.catalog.models
        }
    complete = all(parent in nodes for node in nodes.values() for parent in node.depends_on)
    fitting = all(
        _columns(node) <= _columns(nodes[id_])
        for _, definition in definitions
        for id_, node in definition.nodes.items()
    )
    if not (complete and fitting):
        return None
    order = graphlib.TopologicalSorter({id_: nodes[id_].depends_on for id_ in models}).static_order()
    catalogs = [definition.catalog for _, definition in definitions]
    catalog = replace(
        catalogs[-1],
        topics={id_: topic for catalog in catalogs for id_, topic in catalog.topics.items()},
        row_sources={id_: source for catalog in catalogs for id_, source in catalog.row_sources.items()},
        seeds={id_: seed for catalog in catalogs for id_, seed in catalog.seeds.items()},
        models={id_: models[id_] for id_ in order if id_ in models},
        functions={name: function for catalog in catalogs for name, function in catalog.functions.items()},
    )
    return ModelDefinitions(PLAN_FORMAT, nodes, functions, catalog)


def _columns(node: ManifestNode) -> set[tuple[str, str]]:
    return {(column.name.lower(), column.type) for column in node.columns}


def _with_unread(running: ModelDefinitions, manifest: Manifest, catalog: Catalog) -> ModelDefinitions:
    """Return what runs with the sources, seeds, functions and views that no query reads."""
    nodes = {id_: node for id_, node in manifest.nodes.items() if node.kind in {"source", "seed"}}
    nodes |= running.nodes
    models = dict(running.catalog.models)
    for id_, spec in catalog.models.items():
        node = manifest.nodes[id_]
        unchanged = all(nodes.get(parent) == manifest.nodes[parent] for parent in node.depends_on)
        if id_ not in nodes and not spec.materialization.stored_as and unchanged:
            nodes[id_], models[id_] = node, spec
    merged = replace(
        running.catalog,
        topics=catalog.topics | running.catalog.topics,
        row_sources=catalog.row_sources | running.catalog.row_sources,
        seeds=catalog.seeds | running.catalog.seeds,
        models=models,
        functions=catalog.functions | running.catalog.functions,
    )
    return ModelDefinitions(PLAN_FORMAT, nodes, manifest.functions | running.functions, merged)


def _unpacked(content: bytes) -> ModelDefinitions | None:
    """Return a packed definition; None if there is none, or another version of Millstream wrote it."""
    try:
        definition = from_msgpack(zlib.decompress(content), ModelDefinitions)
    except (zlib.error, msgspec.DecodeError, ValueError):
        return None
    return definition if definition.format == PLAN_FORMAT else None
