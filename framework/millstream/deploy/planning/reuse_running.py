"""Keeps what runs, so that state fits by construction: equal SQL, and the states of former models."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, structs

from millstream.core.node_id import NodeId
from millstream.deploy.planning.definitions import running_catalog
from millstream.deploy.planning.intents import (
    CONTINUE,
    Apply,
    FullRefresh,
    Intent,
    Regroup,
    Update,
    accepted_by,
)
from millstream.deploy.planning.newer_models import newer_models
from millstream.deploy.planning.query_splits import QuerySplit, after_splits, stored_models, without_removed
from millstream.deploy.planning.records import Deployed, QueryRecord
from millstream.deploy.planning.removed_models import (
    columns_of,
    former_in,
    former_models,
    upstream_of,
    views_of,
    with_specs,
)
from millstream.deploy.planning.stages import judge_checkpoint, rebuild_verdict
from millstream.deploy.planning.standalone_verdicts import leaving_models, splits_of, verdicts_alone
from millstream.plan.from_sql.catalog import Catalog, ModelSpec
from millstream.plan.from_sql.plan import build_models
from millstream.queries.lock import Lock, restart_groups
from millstream.queries.physical_plan import PhysicalPlan
from millstream.queries.removed_models import is_former
from millstream.queries.topology import (
    Topology,
    physical_of,
    topology_of,
    with_apart,
    with_figures,
    written_models,
)
from millstream.sameness.unchanged_models import SameRows


class ReusedPlan(Struct, frozen=True):
    """A plan that keeps what runs as far as it can."""

    topology: Topology
    physical: PhysicalPlan
    running: Deployed
    """What runs once the splits are done."""
    models: tuple[NodeId, ...] = ()
    """Ids of the models whose new SQL means the same as the SQL that runs."""
    splits: tuple[QuerySplit, ...] = ()
    removed: Mapping[str, tuple[NodeId, ...]] = {}
    """The models that no longer exist, and are former models of their queries from now on."""
    reasons: Mapping[str, tuple[str, ...]] = {}
    """Why models of a split must be rebuilt, by the name of their new query; none if that was requested."""
    misfits: Mapping[str, tuple[NodeId, ...]] = {}
    """The models because of which a query that they share with others can't continue."""


def reuse_running_state(
    topology: Topology,
    physical: PhysicalPlan,
    deployed: Deployed,
    intent: Intent = CONTINUE,
    selected: Collection[NodeId] | None = None,
) -> ReusedPlan:
    """Return the plan of a project on what runs: each query keeps what its state needs.

    Queries that would not fit their state keep the SQL that runs, if it is equal. Models that an intent
    rebuilds leave the queries of others. `selected` are the models to build; None for all.
    """
    if newer := _newer(physical, deployed):
        topology = with_apart(topology, newer)
        physical = physical_of(topology, deployed.lock)
    if not _must_keep(physical, deployed, intent, selected):
        return ReusedPlan(topology, physical, deployed)
    old = running_catalog(deployed.records.values())
    return plan_on_running(topology, physical, deployed, old, intent, selected=selected)


def plan_on_running(
    topology: Topology,
    physical: PhysicalPlan,
    deployed: Deployed,
    old: Catalog | None,
    intent: Intent = CONTINUE,
    *,
    selected: Collection[NodeId] | None = None,
    only: Collection[str] | None = None,
    same_rows: SameRows | None = None,
) -> ReusedPlan:
    """Return the same for the version that runs, if it is known; `only` are names of the planned queries.

    `same_rows` are the models with the same rows in the two versions, if they were compared before.
    """
    written = _Written(topology, physical, deployed.lock, only, same_rows)
    if old is None:
        return _without_outdated(written, written.plan(deployed), intent, selected)
    before, deployed = deployed, without_removed(deployed, old, stored_models(topology.catalog))
    plan = written.plan(deployed)
    same = written.same_sql(old, plan, intent)
    if same:
        reused = written.plan(deployed, same)
        # What was kept must not change how other queries fit.
        if incompatible_queries(reused.physical, deployed) < incompatible_queries(plan.physical, deployed):
            plan = reused
    if isinstance(intent, Regroup):
        return plan
    plan = _with_splits(written, plan, old, same, intent, selected)
    plan = _without_outdated(written, plan, intent, selected)
    removed = {name: _gone(before.records[name], record) for name, record in deployed.records.items()}
    misfits = dict(_models_that_prevent(written, plan, old, same, intent))
    return structs.replace(plan, misfits=misfits, removed=removed)


def _gone(old: QueryRecord, new: QueryRecord) -> tuple[NodeId, ...]:
    return tuple(model for model in old.stored if model not in new.stored)


def _models_that_prevent(
    written: _Written, plan: ReusedPlan, old: Catalog, same: Mapping[NodeId, ModelSpec], intent: Intent
) -> Iterator[tuple[str, tuple[NodeId, ...]]]:
    """Yield the queries that an update refuses, with those of several models that don't fit."""
    if not isinstance(intent, Update):
        return
    new, accepted = with_specs(written.topology.catalog, same), accepted_by(intent)
    for name in incompatible_queries(plan.physical, plan.running):
        stored = plan.running.records[name].stored
        if len(stored) > 1 and not _fits(plan, name, intent):
            verdicts = verdicts_alone(old, new, stored, plan.topology.cache)
            yield name, tuple(id_ for id_, verdict in verdicts.items() if not accepted.covers(verdict))


def incompatible_queries(physical: PhysicalPlan, deployed: Deployed) -> set[str]:
    """Return the names of queries whose state or stored rows are not those of their SQL."""
    homes = {model: query.name for query in physical.queries for model in query.stored}
    queries = {query.name: query for query in physical.queries}
    return {
        name
        for name, record in deployed.records.items()
        if (name in queries and judge_checkpoint(queries[name], record, deployed).kind != "same")
        or any(homes.get(model, name) != name for model in record.stored)
    }


class _Written(Struct, frozen=True):
    """A project as it is written, which is planned with what is kept."""

    topology: Topology
    physical: PhysicalPlan
    """Its queries on what runs, without anything that is kept."""
    lock: Lock | None
    only: Collection[str] | None
    same_rows: SameRows | None = None
    """The models that have the same rows as those that run, if they were compared before."""

    def plan(
        self,
        deployed: Deployed,
        same: Mapping[NodeId, ModelSpec] | None = None,
        rebuilt: Collection[str] = (),
        names: Collection[str] = (),
    ) -> ReusedPlan:
        """Plan with the SQL of some models that means the same, and with former models.

        Queries that are `rebuilt` have none; `names` are planned besides those that were requested.
        """
        only = None if self.only is None else {*self.only, *names}
        specs = dict(same or {}) | self._former(deployed, rebuilt)
        lock = restart_groups(deployed.lock, rebuilt) if deployed.lock is not None else None
        if not specs:
            is_same = lock == self.lock and not names
            physical = self.physical if is_same else physical_of(self.topology, lock, only)
            return ReusedPlan(self.topology, physical, deployed)
        before = self.topology
        topology = topology_of(with_specs(before.catalog, specs), before.unshared, before.cache, before)
        topology = with_figures(topology, before.measured)
        return ReusedPlan(topology, physical_of(topology, lock, only), deployed, tuple(same or ()))

    def _former(self, deployed: Deployed, rebuilt: Collection[str]) -> dict[NodeId, ModelSpec]:
        catalog = self.topology.catalog
        former_specs: dict[NodeId, ModelSpec] = {}
        for name, record in deployed.records.items():
            former = former_in(record) if record.former and name not in rebuilt else None
            models = former_models(name, former, catalog) if former is not None else None
            # If they can't be planned, the query's signature says that its state does not fit.
            if models and not _diagnostics(with_specs(catalog, models)):
                former_specs |= models
        return former_specs

    def same_sql(self, old: Catalog, plan: ReusedPlan, intent: Intent) -> dict[NodeId, ModelSpec]:
        """Return the SQL that runs, where it means the same, of queries that don't fit.

        The same for the models whose topics they read: what these send from now on is counted by the state.
        """
        names = incompatible_queries(plan.physical, plan.running)
        stored = {model for name in names for model in plan.running.records[name].stored}
        sent = upstream_of(old, (old.models[id_] for id_ in stored.intersection(old.models)))
        models = stored.union(id_ for id_, spec in sent.items() if spec.materialization.stored_as)
        match intent:
            case Update(rebuild=rebuilt):
                models -= rebuilt
            case FullRefresh() | Regroup():
                return {}
            case Apply():
                pass
        both = models.intersection(old.models, self.topology.catalog.models)
        return _same_sql(old, self.topology, both, self.same_rows)


def _with_splits(
    written: _Written,
    plan: ReusedPlan,
    old: Catalog,
    same: Mapping[NodeId, ModelSpec],
    intent: Intent,
    selected: Collection[NodeId] | None,
) -> ReusedPlan:
    """Return the plan in which models that are rebuilt leave the queries of others."""
    deployed = plan.running
    names = [name for name in incompatible_queries(plan.physical, deployed) if not _fits(plan, name, intent)]
    new = with_specs(written.topology.catalog, same)
    leaving = leaving_models(plan.topology, plan.physical, deployed, names, old, new, intent, selected)
    while leaving:
        left = frozenset[NodeId]().union(*leaving.values())
        used = [query.name for query in plan.physical.queries if not left.issuperset(query.stored)]
        splits = tuple(splits_of(leaving, written.topology, deployed, used))
        after = after_splits(deployed, old, splits)
        if after is None:
            return plan
        staying = {id_: spec for id_, spec in same.items() if id_ not in left}
        rebuilt = [split.name for split in splits]
        split = structs.replace(written.plan(after, staying, rebuilt, [*rebuilt, *leaving]), splits=splits)
        wrong = {name for name in leaving if not _splits_well(split, name, old, new, intent)}
        if not wrong:
            return structs.replace(split, reasons=_reasons(split, old, new))
        leaving = {name: models for name, models in leaving.items() if name not in wrong}
    return plan


def _reasons(plan: ReusedPlan, old: Catalog, new: Catalog) -> dict[str, tuple[str, ...]]:
    reasons: dict[str, tuple[str, ...]] = {}
    for split in plan.splits:
        verdicts = verdicts_alone(old, new, split.models, plan.topology.cache).values()
        reasons[split.name] = tuple(dict.fromkeys(why for verdict in verdicts for why in verdict.reasons))
    return reasons


def _splits_well(split: ReusedPlan, name: str, old: Catalog, new: Catalog, intent: Intent) -> bool:
    """Return whether the models that stay in a query keep their state, if they would in separate queries."""
    homes = {model: query.name for query in split.physical.queries for model in query.stored}
    moved = [(part.name, model) for part in split.splits if part.query == name for model in part.models]
    stored = split.running.records[name].stored
    if any(homes.get(model) != home for home, model in [*moved, *((name, model) for model in stored)]):
        return False
    if _fits(split, name, intent):
        return True
    accepted = accepted_by(intent)
    verdicts = verdicts_alone(old, new, stored, split.topology.cache)
    return not all(accepted.covers(verdict) for verdict in verdicts.values())


def _fits(plan: ReusedPlan, name: str, intent: Intent) -> bool:
    """Return whether a query can continue, as far as users accept it, with all of its models."""
    query = next((candidate for candidate in plan.physical.queries if candidate.name == name), None)
    record = plan.running.records[name]
    if query is None or rebuild_verdict(query, record, plan.running, accepted_by(intent)):
        return False
    homes = {model: other.name for other in plan.physical.queries for model in other.stored}
    return all(homes.get(model, name) == name for model in record.stored)


def _without_outdated(
    written: _Written, plan: ReusedPlan, intent: Intent, selected: Collection[NodeId] | None
) -> ReusedPlan:
    """Return the plan in which queries that are rebuilt as a whole have no former models."""
    requested: Collection[NodeId] = ()
    match intent:
        case Update(rebuild=models):
            requested = models
        case FullRefresh():
            requested = selected or ()
        case Regroup() | Apply():
            pass
    records = plan.running.records
    split_names = {split.name for split in plan.splits}
    outdated = {
        name
        for name, record in records.items()
        if record.former
        and name not in split_names
        and (
            (isinstance(intent, Apply) and not _fits(plan, name, intent))
            or not set(requested).isdisjoint(record.stored)
        )
    }
    if not outdated:
        return plan
    specs = {id_: plan.topology.catalog.models[id_] for id_ in plan.models}
    again = written.plan(plan.running, specs, {*outdated, *split_names}, split_names)
    return structs.replace(again, splits=plan.splits)


def _must_keep(
    physical: PhysicalPlan, deployed: Deployed, intent: Intent, selected: Collection[NodeId] | None
) -> bool:
    """Return whether the plan depends on what runs."""
    stored = {model for query in physical.queries for model in query.stored}
    records = deployed.records.values()
    match intent:
        case Update(rebuild=requested):
            rebuilt = set(requested)
        case FullRefresh():
            rebuilt = set(selected or ())
        case Apply() | Regroup():
            rebuilt = set()
    return (
        any(record.former or not stored.issuperset(record.stored) for record in records)
        or any(len(record.stored) > 1 and not rebuilt.isdisjoint(record.stored) for record in records)
        or bool(incompatible_queries(physical, deployed))
    )


def _newer(physical: PhysicalPlan, deployed: Deployed) -> frozenset[NodeId]:
    records = deployed.records.items()
    started = [(name, record) for name, record in records if name not in deployed.never_started]
    homes = {model: name for name, record in started for model in record.stored}
    return newer_models({query.name: query.stored for query in physical.queries}, deployed.lock, homes)


def _diagnostics(catalog: Catalog) -> bool:
    """Return whether former models can't be planned any more, over what they read now."""
    return any(is_former(diagnostic.model) for diagnostic in build_models(catalog).diagnostics)


def _same_sql(
    old: Catalog, new: Topology, models: Iterable[NodeId], same: SameRows | None
) -> dict[NodeId, ModelSpec]:
    """Return the old SQL of models, and of the views that it reads, if all of them have the same rows."""
    specs = new.catalog.models
    edited = {id_ for id_, spec in old.models.items() if spec != specs.get(id_)}
    read = {id_: tuple(views_of(old, old.models[id_])) for id_ in models}
    # Where no SQL was edited, there is nothing to keep.
    read = {id_: views for id_, views in read.items() if not edited.isdisjoint((id_, *views))}
    if not read:
        return {}
    same = same or SameRows((old, written_models(old).roots), (new.catalog, new.roots))
    reused = [
        relation
        for id_, views in read.items()
        if all(relation in same and _can_read(old, new.catalog, relation) for relation in (*views, id_))
        for relation in (id_, *views)
    ]
    reused_specs = {id_: _in_form_of(specs[id_], old.models[id_]) for id_ in dict.fromkeys(reused)}
    return {id_: spec for id_, spec in reused_specs.items() if spec != specs[id_]}


def _can_read(old: Catalog, new: Catalog, id_: NodeId) -> bool:
    """Return whether old SQL finds all columns of what it reads: some may not count for its rows."""
    return all(columns_of(old, relation) <= columns_of(new, relation) for relation in old.models[id_].reads)


def _in_form_of(new: ModelSpec, old: ModelSpec) -> ModelSpec:
    return structs.replace(
        new, query=old.query, columns=old.columns, emit=old.emit, dedupe=old.dedupe, watermark=old.watermark
    )
