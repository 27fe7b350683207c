"""Keeps the SQL that runs where new SQL means the same, so that state fits it by construction."""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, structs

from millstream.deployment.definitions import running_catalog
from millstream.deployment.newer_models import newer_models
from millstream.deployment.records import Deployed
from millstream.deployment.stages import fit
from millstream.expressions import Read
from millstream.physical.plan import Physical
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.same_rows import same_rows
from millstream.sql.query import Scan
from millstream.topology import Topology, physical_of, topology_of, with_apart, with_figures, written_models


class Kept(Struct, frozen=True):
    """A plan, some of whose models run as they were written before."""

    topology: Topology
    physical: Physical
    models: tuple[str, ...] = ()
    """Ids of the models whose new SQL means the same as the SQL that runs."""


def with_kept(
    topology: Topology, physical: Physical, running: Deployed, rebuilt: Collection[str] = ()
) -> Kept:
    """Return the plan in which queries that would not fit their state keep the SQL that runs, if it is equal.

    The other models are planned as they are written, also if the SQL that runs has the same rows, and those
    that are `rebuilt`.
    """
    if newer := _newer(physical, running):
        topology = with_apart(topology, newer)
        physical = physical_of(topology, running.lock)
    unfit = _unfit(physical, running)
    old = running_catalog(running.records.values()) if unfit else None
    if old is None:
        return Kept(topology, physical)
    return kept_form(topology, physical, running, old, rebuilt)


def kept_form(
    topology: Topology,
    physical: Physical,
    running: Deployed,
    old: Catalog,
    rebuilt: Collection[str] = (),
    only: Collection[str] | None = None,
) -> Kept:
    """Return the same for a known version that runs; `only` are the names of the planned queries."""
    unfit = _unfit(physical, running)
    models = {model for query in physical.queries if query.name in unfit for model in query.stored}
    found = _kept(old, topology, models.difference(rebuilt)) if models else {}
    if not found:
        return Kept(topology, physical)
    catalog = _with_models(topology.catalog, found)
    kept = with_figures(topology_of(catalog, topology.apart), topology.measured)
    planned = physical_of(kept, running.lock, only)
    # What was kept must not change how other queries fit.
    if not _unfit(planned, running) < unfit:
        return Kept(topology, physical)
    return Kept(kept, planned, tuple(found))


def _newer(physical: Physical, running: Deployed) -> frozenset[str]:
    records = running.records.items()
    started = [(name, record) for name, record in records if name not in running.never_started]
    homes = {model: name for name, record in started for model in record.stored}
    return newer_models({query.name: query.stored for query in physical.queries}, running.lock, homes)


def _unfit(physical: Physical, running: Deployed) -> set[str]:
    """Return the names of queries whose state or stored rows are not those of their SQL."""
    return {
        query.name
        for query in physical.queries
        if (record := running.records.get(query.name)) is not None
        and fit(query, record, running).kind != "same"
    }


def _kept(old: Catalog, new: Topology, models: Iterable[str]) -> dict[str, ModelSpec]:
    """Return the old SQL of models, and of the views that it reads, if all of them have the same rows."""
    read = {id_: tuple(_views(old, old.models[id_])) for id_ in models if id_ in old.models}
    candidates = {*read, *(view for views in read.values() for view in views)}
    equal = same_rows((old, written_models(old).roots), (new.catalog, new.roots), sorted(candidates))
    kept = [
        each
        for id_, views in read.items()
        if equal.issuperset((id_, *views)) and all(_can_read(old, new.catalog, m) for m in (id_, *views))
        for each in (id_, *views)
    ]
    specs = new.catalog.models
    found = {id_: _in_form_of(specs[id_], old.models[id_]) for id_ in dict.fromkeys(kept)}
    return {id_: each for id_, each in found.items() if each != specs[id_]}


def _can_read(old: Catalog, new: Catalog, id_: str) -> bool:
    """Return whether old SQL finds all columns of what it reads: some may not count for its rows."""
    return all(
        _columns(old, relation) <= _columns(new, relation) for relation in _relations(old.models[id_].query)
    )


def _columns(catalog: Catalog, relation: str) -> frozenset[tuple[str, str]]:
    topic = catalog.topics.get(relation)
    if topic is not None:
        fields = (*topic.fields, topic.key) if topic.key else topic.fields
        derived = {(name.lower(), str(expression.type)) for name, expression in topic.derived}
        return frozenset(derived.union((field.name.lower(), str(field.type)) for field in fields))
    spec = catalog.seeds.get(relation) or catalog.models.get(relation)
    columns = spec.columns if spec is not None else ()
    return frozenset((column.name.lower(), str(column.type)) for column in columns)


def _in_form_of(new: ModelSpec, old: ModelSpec) -> ModelSpec:
    return structs.replace(
        new, query=old.query, columns=old.columns, emit=old.emit, dedupe=old.dedupe, watermark=old.watermark
    )


def _views(catalog: Catalog, model: ModelSpec) -> Iterator[str]:
    """Yield the views that a model reads, and those that they read."""
    for id_ in dict.fromkeys(_relations(model.query)):
        read = catalog.models.get(id_)
        if read is not None and read.materialization.inlined:
            yield id_
            yield from _views(catalog, read)


def _with_models(catalog: Catalog, kept: Mapping[str, ModelSpec]) -> Catalog:
    """Return a catalog with other SQL of some models, in topological order."""
    models = {**catalog.models, **kept}
    reads = {
        id_: [read for read in _relations(model.query) if read in models] for id_, model in models.items()
    }
    order = graphlib.TopologicalSorter(reads).static_order()
    return structs.replace(catalog, models={id_: models[id_] for id_ in order})


def _relations(value: object) -> Iterator[str]:
    """Yield the relations that SQL reads, at any depth."""
    match value:
        case Scan(relation=relation) | Read(relation=relation):
            yield relation
        case Struct():
            for name in value.__struct_fields__:
                yield from _relations(getattr(value, name))
        case dict():
            for each in value.values():
                yield from _relations(each)
        case tuple() | list():
            for each in value:
                yield from _relations(each)
