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

from millstream.artifacts import PLAN_FORMAT
from millstream.decoding import from_msgpack
from millstream.deployment.records import Record
from millstream.manifest import Compiled, Manifest, ManifestFunction, ManifestNode
from millstream.plan.from_sql.catalog import Catalog, ModelSpec


class Definition(Struct, frozen=True):
    format: str
    nodes: dict[str, ManifestNode]
    functions: dict[str, ManifestFunction]
    catalog: Catalog

    def packed(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self), 6)


def definition_of(manifest: Manifest, catalog: Catalog, stored: Iterable[str]) -> Definition:
    """Return the definitions of some stored models, of the views that they read, and of what these read."""
    nodes: dict[str, ManifestNode] = {}
    waiting = [id_ for id_ in stored if id_ in manifest.nodes]
    own = frozenset(waiting)
    while waiting:
        id_ = waiting.pop()
        node = manifest.nodes.get(id_)
        if node is None or id_ in nodes:
            continue
        nodes[id_] = node
        model = catalog.models.get(id_)
        inlined = model is not None and model.materialization.inlined
        # No record defines what is read from production.
        if id_ in own or inlined or catalog.defers(id_):
            waiting += node.depends_on
    called = {name for node in nodes.values() for name in node.functions}
    return Definition(
        PLAN_FORMAT,
        dict(sorted(nodes.items())),
        {name: each for name, each in sorted(manifest.functions.items()) if name in called},
        replace(
            catalog,
            topics={id_: each for id_, each in catalog.topics.items() if id_ in nodes},
            seeds={id_: each for id_, each in catalog.seeds.items() if id_ in nodes},
            models={id_: each for id_, each in catalog.models.items() if id_ in nodes},
            functions={name: each for name, each in catalog.functions.items() if name in called},
        ),
    )


def is_same(old: bytes, new: bytes) -> bool:
    """Whether two packed definitions are equal; sets are written in any order."""
    return old == new or _unpacked(old) == _unpacked(new)


def running_catalog(records: Iterable[Record]) -> Catalog | None:
    """Return the models that run as they were written when their queries were started; None if unknown."""
    found = _running(records)
    return None if found is None else found.catalog


def _running(records: Iterable[Record]) -> Definition | None:
    parts = [(record, _unpacked(record.definition)) for record in sorted(records, key=lambda r: r.defined)]
    known = [(record, found) for record, found in parts if found is not None]
    return _merged(known) if known and len(known) == len(parts) else None


def what_runs(
    records: Iterable[Record], now: Manifest, saved: tuple[Manifest, Catalog] | None
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
    return Compiled(manifest, catalog=msgspec.msgpack.encode(running.catalog))


_DEFINED = frozenset(("model", "source", "seed"))
"""The kinds of nodes that queries are built from."""


def _merged(known: Sequence[tuple[Record, Definition]]) -> Definition | None:
    """Return all definitions as one, the newest last; None if they don't fit together."""
    nodes: dict[str, ManifestNode] = {}
    functions: dict[str, ManifestFunction] = {}
    models: dict[str, ModelSpec] = {}
    for _, each in known:
        nodes |= each.nodes
        functions |= each.functions
        models |= each.catalog.models
    for record, each in known:  # what a query stores is defined by no other one
        nodes |= {id_: each.nodes[id_] for id_ in record.stored if id_ in each.nodes}
        models |= {id_: each.catalog.models[id_] for id_ in record.stored if id_ in each.catalog.models}
    complete = all(parent in nodes for node in nodes.values() for parent in node.depends_on)
    fitting = all(
        _columns(node) <= _columns(nodes[id_]) for _, each in known for id_, node in each.nodes.items()
    )
    if not (complete and fitting):
        return None
    order = graphlib.TopologicalSorter({id_: nodes[id_].depends_on for id_ in models}).static_order()
    catalogs = [each.catalog for _, each in known]
    catalog = replace(
        catalogs[-1],
        topics={id_: topic for each in catalogs for id_, topic in each.topics.items()},
        seeds={id_: seed for each in catalogs for id_, seed in each.seeds.items()},
        models={id_: models[id_] for id_ in order if id_ in models},
        functions={name: function for each in catalogs for name, function in each.functions.items()},
    )
    return Definition(PLAN_FORMAT, nodes, functions, catalog)


def _columns(node: ManifestNode) -> set[tuple[str, str]]:
    return {(column.name.lower(), column.type) for column in node.columns}


def _with_unread(running: Definition, manifest: Manifest, catalog: Catalog) -> Definition:
    """Return what runs with the sources, seeds, functions and views that no query reads."""
    nodes = {id_: each for id_, each in manifest.nodes.items() if each.kind in {"source", "seed"}}
    nodes |= running.nodes
    models = dict(running.catalog.models)
    for id_, model in catalog.models.items():
        node = manifest.nodes[id_]
        unchanged = all(nodes.get(each) == manifest.nodes[each] for each in node.depends_on)
        if id_ not in nodes and model.materialization.inlined and unchanged:
            nodes[id_], models[id_] = node, model
    whole = replace(
        running.catalog,
        topics=catalog.topics | running.catalog.topics,
        seeds=catalog.seeds | running.catalog.seeds,
        models=models,
        functions=catalog.functions | running.catalog.functions,
    )
    return Definition(PLAN_FORMAT, nodes, manifest.functions | running.functions, whole)


def _unpacked(content: bytes) -> Definition | None:
    """Return a packed definition; None if there is none, or another version of Millstream wrote it."""
    try:
        found = from_msgpack(zlib.decompress(content), Definition)
    except (zlib.error, msgspec.DecodeError, ValueError):
        return None
    return found if found.format == PLAN_FORMAT else None
