"""Which models of a shared query are rebuilt: those that would be if each had a query of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import structs

from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply, FullRefresh, Intent, Regroup, Update, accepted_by
from millstream.deploy.planning.query_splits import QuerySplit
from millstream.deploy.planning.records import Deployed
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.nodes import Output, TopicScan
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import traits_of
from millstream.queries.physical_plan import PhysicalPlan
from millstream.queries.query_cache import QueryCache
from millstream.queries.topology import Topology, groups_of, physical_of, topology_of
from millstream.queries.values import Query
from millstream.queries.verdict import Verdict, compare_signatures


def verdicts_alone(
    old: Catalog, new: Catalog, models: Collection[NodeId], cache: QueryCache | None
) -> dict[NodeId, Verdict]:
    """Return what would become of the state and rows of models in queries of their own."""
    both = frozenset(id_ for id_ in models if id_ in old.models and id_ in new.models)
    before, after = _queries_alone(old, both, cache), _queries_alone(new, both, cache)
    return {
        id_: compare_signatures(before[id_].signature, after[id_].signature)
        if id_ in before and id_ in after
        else Verdict("rebuild")
        for id_ in models
    }


def _queries_alone(
    catalog: Catalog, models: frozenset[NodeId], cache: QueryCache | None
) -> dict[NodeId, Query]:
    upstream = _upstream(catalog, models)
    specs = {id_: spec for id_, spec in catalog.models.items() if id_ in upstream}
    target = catalog.target | {"grouping": "off"}
    topology = topology_of(structs.replace(catalog, models=specs, target=target), models, cache)
    # Models upstream are planned only as far as these read them.
    names = [name for name, stored in groups_of(topology).models.items() if not models.isdisjoint(stored)]
    return {
        id_: query
        for query in physical_of(topology, only=names).queries
        for id_ in query.stored
        if id_ in models
    }


def _upstream(catalog: Catalog, models: Iterable[NodeId]) -> set[NodeId]:
    ids: set[NodeId] = set()
    waiting = list(models)
    while waiting:
        id_ = waiting.pop()
        if id_ in catalog.models and id_ not in ids:
            ids.add(id_)
            waiting += catalog.models[id_].reads
    return ids


def leaving_models(
    topology: Topology,
    physical: PhysicalPlan,
    deployed: Deployed,
    unfit: Collection[str],
    old: Catalog,
    new: Catalog,
    intent: Intent,
    selected: Collection[NodeId] | None,
) -> dict[str, frozenset[NodeId]]:
    """Return the models that are rebuilt while others of their query are not, by query.

    `new` has the models as they would run in queries of their own; `unfit` are the queries that don't fit.
    """
    homes = {model: name for name, record in deployed.records.items() for model in record.stored}
    rebuilt: set[NodeId] = set()
    match intent:
        case Update(rebuild=requested):
            rebuilt.update(requested)
        case FullRefresh():
            rebuilt.update(selected or ())
        case Apply():
            unfit_models = {model for name in unfit for model in deployed.records[name].stored}
            shared = {model for model in unfit_models if len(deployed.records[homes[model]].stored) > 1}
            verdicts = verdicts_alone(old, new, shared, topology.cache) if shared else {}
            accepted = accepted_by(intent)
            rebuilt.update(model for model in unfit_models - shared if model in new.models)
            rebuilt.update(id_ for id_, verdict in verdicts.items() if not accepted.covers(verdict))
        case Regroup():
            return {}
    rebuilt |= set(_readers(topology, rebuilt, homes)) if isinstance(intent, Apply) else set()
    leaving: dict[str, frozenset[NodeId]] = {}
    planned = {model for query in physical.queries for model in query.stored}
    for name, record in deployed.records.items():
        here = planned.intersection(record.stored)
        left = rebuilt.intersection(here)
        if left and left < here:
            leaving[name] = frozenset(left)
    return leaving


def _readers(
    topology: Topology, rebuilt: Collection[NodeId], homes: Mapping[NodeId, str]
) -> Iterator[NodeId]:
    """Yield models with state that would count records twice which rebuilt models send again."""
    outputs = {output.model: output for output in topology.plan.outputs}
    readers = _with_state(outputs.values()) if rebuilt else {}
    waiting, seen = list(rebuilt), set(rebuilt)
    while waiting:
        sender = outputs.get(waiting.pop())
        if sender is None or not sender.topic:
            continue
        if traits_of(sender.input).mode == "upsert":
            continue
        for model in readers.get(sender.model, ()):
            if model in homes and model not in seen:
                seen.add(model)
                waiting.append(model)
                yield model


def _with_state(outputs: Iterable[Output]) -> dict[NodeId, list[NodeId]]:
    """Return the models with state that read a topic, by its relation."""
    readers: dict[NodeId, list[NodeId]] = {}
    for output in outputs:
        order = in_order((output,))
        if any(node.stateful for node in order):
            for relation in {node.relation for node in order if isinstance(node, TopicScan)}:
                readers.setdefault(relation, []).append(output.model)
    return readers


def splits_of(
    leaving: Mapping[str, frozenset[NodeId]], topology: Topology, deployed: Deployed, used: Iterable[str]
) -> Iterator[QuerySplit]:
    """Yield splits: models that would share a query in a new deployment leave together."""
    names = {*used, *deployed.records}
    groups = groups_of(topology).models if leaving else {}
    for query, left in leaving.items():
        parts = [tuple(model for model in models if model in left) for models in groups.values()]
        for models in filter(None, parts):
            name = models[0].last_name
            while name in names:
                name += "_"
            names.add(name)
            yield QuerySplit(query, name, models)
