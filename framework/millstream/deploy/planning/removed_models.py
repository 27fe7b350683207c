"""Keeps the SQL of former models: of those that left a query whose checkpoint still has their state."""

from __future__ import annotations

import graphlib
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

import msgspec
from msgspec import Struct, structs

from millstream.compile.artifacts import PLAN_FORMAT
from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.core.expressions import Expression, Read, Ref
from millstream.core.node_id import NodeId
from millstream.deploy.planning.records import QueryRecord
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.queries.removed_models import former_id
from millstream.sql.query import GeneratedRows, Scan

Columns = dict[str, str]
"""Types of columns by name."""


class RemovedModels(Struct, frozen=True):
    """The former models of a query, as they were written when they left it."""

    format: str
    stored: tuple[NodeId, ...] = ()
    models: dict[NodeId, ModelSpec] = {}
    """Also the views that they read."""
    reads: dict[NodeId, Columns] = {}
    """The columns of sources, seeds and other models that they read."""
    calls: dict[str, str] = {}
    """The functions that they call, with the types that these return."""

    def packed(self) -> bytes:
        return zlib.compress(to_msgpack(self), 6) if self.stored else b""


def former_in(record: QueryRecord) -> RemovedModels | None:
    """Return the former models of a query; None if another version of Millstream wrote them."""
    if not record.former:
        return RemovedModels(PLAN_FORMAT)
    try:
        former = from_msgpack(zlib.decompress(record.former), RemovedModels)
    except (zlib.error, msgspec.DecodeError, ValueError):
        return None
    return former if former.format == PLAN_FORMAT else None


def with_models(former: RemovedModels, catalog: Catalog, stored: Iterable[NodeId]) -> RemovedModels:
    """Return the former models of a query after more models have left it."""
    left = tuple(stored)
    views = (view for id_ in left for view in views_of(catalog, catalog.models[id_]))
    added = {id_: catalog.models[id_] for id_ in dict.fromkeys((*left, *views))}
    reads: dict[NodeId, Columns] = dict(former.reads)
    for spec in added.values():
        names = {ref.column.lower() for ref in _refs(spec)}
        for relation in spec.reads:
            if relation not in added:
                read = {name: type_ for name, type_ in columns_of(catalog, relation) if name in names}
                reads[relation] = reads.get(relation, {}) | read
    calls = former.calls | {name: _returns(catalog, name) for spec in added.values() for name in _calls(spec)}
    return RemovedModels(PLAN_FORMAT, (*former.stored, *left), former.models | added, reads, calls)


def former_models(query: str, former: RemovedModels, catalog: Catalog) -> dict[NodeId, ModelSpec] | None:
    """Return the former models of a query under ids of their own; None if what they read is gone."""
    relations = {*catalog.sources, *catalog.seeds, *catalog.models}
    for relation, columns in former.reads.items():
        if relation not in relations or not columns.items() <= dict(columns_of(catalog, relation)).items():
            return None
    if any(_returns(catalog, name) != type_ for name, type_ in former.calls.items()):
        return None
    names = {id_: former_id(query, id_) for id_ in former.models}
    specs: dict[NodeId, ModelSpec] = {}
    for id_, spec in former.models.items():
        renamed = _renamed(spec, names)
        assert isinstance(renamed, ModelSpec)
        if id_ in former.stored:  # it stores no rows, but its keys are those that its tests promise
            renamed = structs.replace(renamed, checks=(), promised=(*spec.checks, *spec.promised))
        specs[names[id_]] = structs.replace(renamed, id=names[id_])
    return specs


def with_specs(catalog: Catalog, specs: Mapping[NodeId, ModelSpec]) -> Catalog:
    """Return a catalog with other or more models, in topological order."""
    if not specs:
        return catalog
    models = {**catalog.models, **specs}
    reads = {id_: [read for read in spec.reads if read in models] for id_, spec in models.items()}
    order = graphlib.TopologicalSorter(reads).static_order()
    return structs.replace(catalog, models={id_: models[id_] for id_ in order})


def views_of(catalog: Catalog, spec: ModelSpec) -> Iterable[NodeId]:
    """Return the views that a model reads, and those that they read."""
    return upstream_of(catalog, (spec,), lambda read: read.materialization.inlined)


def upstream_of(
    catalog: Catalog, models: Iterable[ModelSpec], counts: Callable[[ModelSpec], bool] = lambda _: True
) -> dict[NodeId, ModelSpec]:
    """Return the models that some models read, and those that they read, as far as they count."""
    upstream: dict[NodeId, ModelSpec] = {}
    left = [id_ for spec in models for id_ in spec.reads]
    while left:
        id_ = left.pop()
        read = catalog.models.get(id_)
        if id_ not in upstream and read is not None and counts(read):
            upstream[id_] = read
            left += read.reads
    return upstream


def columns_of(catalog: Catalog, relation: NodeId) -> frozenset[tuple[str, str]]:
    topic = catalog.topics.get(relation)
    if topic is not None:
        fields = (*topic.fields, topic.key) if topic.key else topic.fields
        derived = {(name.lower(), str(expression.type)) for name, expression in topic.derived}
        return frozenset(derived.union((field.name.lower(), str(field.type)) for field in fields))
    spec = catalog.row_sources.get(relation) or catalog.seeds.get(relation) or catalog.models.get(relation)
    columns = spec.columns if spec is not None else ()
    return frozenset((column.name.lower(), str(column.type)) for column in columns)


def _calls(value: object) -> Iterator[str]:
    """Yield the Python functions that SQL calls, at any depth."""
    match value:
        case Expression(functions=functions):
            yield from functions
        case GeneratedRows(function=function, python=True):
            yield function
    for part in _within(value):
        yield from _calls(part)


def _returns(catalog: Catalog, function: str) -> str:
    spec = catalog.functions.get(function)
    if spec is None:
        return "nothing: it was removed"
    return spec.digest if spec.keyed else str(spec.returns)  # only the former's code says what its state is


def _refs(value: object) -> Iterator[Ref]:
    """Yield the references to columns within a value, at any depth."""
    if isinstance(value, Ref):
        yield value
        return
    for part in _within(value):
        yield from _refs(part)


def _within(value: object) -> Collection[object]:
    match value:
        case Struct():
            return [getattr(value, name) for name in value.__struct_fields__]
        case dict():
            return value.values()
        case tuple() | list():
            return value
        case _:
            return ()


def _renamed(value: object, names: Mapping[NodeId, NodeId]) -> object:
    """Return a value in which SQL reads relations by other names."""
    match value:
        case Scan(relation=relation) | Read(relation=relation) if relation in names:
            return structs.replace(value, relation=names[relation])
        case Struct():
            fields = {name: getattr(value, name) for name in value.__struct_fields__}
            new = {name: _renamed(part, names) for name, part in fields.items()}
            changed = {name: part for name, part in new.items() if part is not fields[name]}
            return structs.replace(value, **changed) if changed else value
        case dict():
            items = {key: _renamed(part, names) for key, part in value.items()}
            return items if any(items[key] is not value[key] for key in items) else value
        case tuple():
            parts = tuple(_renamed(part, names) for part in value)
            return parts if any(one is not two for one, two in zip(parts, value, strict=True)) else value
        case _:
            return value
