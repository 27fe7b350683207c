"""Whether each query keeps its state, by the same comparison that `run` makes when it starts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import partial

from msgspec import Struct, structs

from millstream.core.encoding import to_sorted_msgpack
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply
from millstream.deploy.planning.newer_models import newer_models
from millstream.deploy.planning.query_splits import QuerySplit
from millstream.deploy.planning.records import Deployed, QueryRecord, new_record
from millstream.deploy.planning.reuse_running import ReusedPlan, plan_on_running
from millstream.deploy.planning.stages import (
    judge_checkpoint,
    name_of,
    plan_stages,
    rebuild_verdict,
    stages_of_query,
)
from millstream.plan.nodes import Node, Output, Plan, TopicScan
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.context import PlanHints, RuleContext
from millstream.plan.optimizer.rules.prune_columns import prune_columns
from millstream.plan.table import digest_nodes
from millstream.queries.commands import continue_command, to_accept
from millstream.queries.double_counting import with_readers
from millstream.queries.meanings import ColumnMeanings
from millstream.queries.physical_plan import ModelGroups, PhysicalPlan
from millstream.queries.references import reference_outputs
from millstream.queries.row_digests import RowDigests
from millstream.queries.topology import Topology, groups_of, physical_of, physical_settings, with_apart
from millstream.queries.values import Query
from millstream.queries.verdict import AcceptedModels, Verdict
from millstream.review.outputs import plain_names
from millstream.review.rebuild_cost import ReplayFigures, plan_rebuild
from millstream.review.values import QueryChange
from millstream.sameness.unchanged_models import SameRows


class _AtRest:
    """The content of all seeds and models that models read, directly or not, with their tests."""

    def __init__(self, topology: Topology, seeds: Mapping[NodeId, str]) -> None:
        self._outputs = {output.model: output for output in topology.written.outputs}
        self._seeds = seeds
        self._sql_reads: dict[NodeId, set[NodeId]] = {}
        """The relations that the SQL of each model reads."""

    def of(self, model: NodeId) -> list[str]:
        contents: dict[NodeId, str] = {}
        waiting = [self._read(model)]
        while waiting:
            for relation in waiting.pop():
                if relation in self._seeds:
                    contents[relation] = self._seeds[relation]
                elif relation in self._outputs and relation not in contents:
                    output = self._outputs[relation]
                    contents[relation] = output.fingerprint
                    waiting.append(self._read(relation) | _relations(output))
        return sorted(f"{relation} {content}" for relation, content in contents.items())

    def _read(self, model: NodeId) -> set[NodeId]:
        if model not in self._sql_reads:
            nodes = in_order((self._outputs[model].input,))
            self._sql_reads[model] = {relation for node in nodes for relation in _relations(node)}
        return self._sql_reads[model]


class DeployedQueries(Struct, frozen=True):
    """The queries of two versions that are not literally the same, and the groups of all models."""

    old: PhysicalPlan
    new: PhysicalPlan
    groups: tuple[ModelGroups, ModelGroups]
    reused: ReusedPlan
    """The newer version on the older one."""


def deployed_queries(old: Topology, new: Topology, same_rows: SameRows | None = None) -> DeployedQueries:
    """Return the queries of an older version, and of the newer version deployed on it: groups stay.

    `same_rows` are the models of the two with the same rows, if they were compared before.
    """
    before = groups_of(old)
    homes = {model: name for name, models in before.models.items() for model in models}
    after = groups_of(new, before.lock)
    if newer := newer_models(after.models, before.lock, homes):
        new = with_apart(new, newer)
        after = groups_of(new, before.lock)
    settings, others = physical_settings(old.catalog), physical_settings(new.catalog)
    if (settings.timezone, settings.spark) != (others.timezone, others.spark):
        names = {*before.models, *after.models}
    else:
        changed = differing_models(old, new)
        names = set(before.models.keys() ^ after.models.keys())
        for groups in (before, after):
            names.update(name for name, models in groups.models.items() if not changed.isdisjoint(models))
    first = physical_of(old, only=names)
    deployed = Deployed({query.name: new_record("", query, {}) for query in first.queries}, first.lock)
    second = physical_of(new, first.lock, names)
    reused = plan_on_running(new, second, deployed, old.catalog, Apply(), only=names, same_rows=same_rows)
    if reused.running.lock != first.lock:
        after = groups_of(reused.topology, reused.running.lock)
    return DeployedQueries(first, reused.physical, (before, after), reused)


def query_changes(compared: DeployedQueries, statistics: ReplayFigures) -> tuple[QueryChange, ...]:
    """Return how queries change, in their order; removed ones come last."""
    homes = {model: name for name, models in compared.groups[0].models.items() for model in models}
    remaining = {model for models in compared.groups[1].models.values() for model in models}
    return tuple(_changes(compared.reused, homes, remaining, statistics, Apply()))


def deployed_changes(
    reused: ReusedPlan, statistics: ReplayFigures, accepted: AcceptedModels
) -> tuple[QueryChange, ...]:
    """Return how running queries change, and those that would count records twice that are sent again."""
    new, deployed = reused.physical, reused.running
    homes = {model: name for name, record in deployed.records.items() for model in record.stored}
    remaining = {model for query in new.queries for model in query.stored}
    intent = Apply(accepted=accepted)
    changes = list(_changes(reused, homes, remaining, statistics, intent))
    rebuilt = [
        query
        for query in new.queries
        if rebuild_verdict(query, deployed.records.get(query.name), deployed, accepted)
    ]
    readers = with_readers(rebuilt, new.queries)
    return tuple(
        structs.replace(
            change,
            status="rebuild",
            reasons=(
                f"it counts the rows of {plain_names((readers[change.name][1],))[0]}, which are sent again",
            ),
            replay=plan_rebuild(readers[change.name][0], new, statistics),
        )
        if change.name in readers
        else change
        for change in changes
    )


def _changes(
    reused: ReusedPlan,
    homes: Mapping[NodeId, str],
    remaining: Collection[NodeId],
    statistics: ReplayFigures,
    intent: Apply,
) -> Iterator[QueryChange]:
    deployed, new = reused.running, reused.physical
    left = {split.name: split for split in reused.splits}
    deployment = plan_stages(new.queries, deployed, intent, new.queries)
    before = dict(sorted(deployed.records.items()))
    for query in new.queries:
        was = before.pop(query.name, None)
        if was is None:
            change = _new(query, homes, new, statistics)
        else:
            change = _existing(judge_checkpoint(query, was, deployed), was, query, new, statistics)
            same = plain_names(model for model in query.stored if model in reused.models)
            gone = plain_names(reused.removed.get(query.name, ()))
            notes = [f"{model} is no longer computed by it" for model in gone]
            notes += [f"{model} means the same, and keeps the SQL that runs" for model in same]
            if (split := left.get(query.name)) is not None:
                notes.append(_leaves(split, deployed))
                reasons = reused.reasons.get(query.name) or change.reasons
                change = structs.replace(change, reasons=reasons)
            change = structs.replace(change, notes=(*change.notes, *notes))
        yield structs.replace(change, stages=tuple(map(name_of, stages_of_query(deployment, query.name))))
    yield from (_removed(record, remaining) for record in before.values())


def _leaves(split: QuerySplit, deployed: Deployed) -> str:
    others = plain_names(deployed.records[split.query].stored)
    continues = "continues" if len(others) == 1 else "continue"
    return (
        f"leaves the query of {', '.join(others)}, which {continues}; `millstream regroup` joins them again"
    )


def _existing(
    verdict: Verdict, was: QueryRecord, now: Query, new: PhysicalPlan, statistics: ReplayFigures
) -> QueryChange:
    joined = [model for model in now.stored if model not in was.stored]
    left = [model for model in was.stored if model not in now.stored]
    return QueryChange(
        name=now.name,
        status=verdict.kind,
        models=plain_names(now.stored),
        reasons=verdict.reasons,
        notes=(
            *_joined(now, joined),
            *(f"{model} is no longer computed by it" for model in plain_names(left)),
        ),
        stateful=now.signature.stateful,
        accept=tuple(f"{kind}:{name}" for kind, name in to_accept(verdict)),
        command=continue_command(now, verdict) if verdict.kind in {"stored", "mixed"} else "",
        replay=plan_rebuild(now, new, statistics) if verdict.kind != "same" else None,
    )


def _joined(query: Query, models: Iterable[NodeId]) -> Iterator[str]:
    for model in plain_names(models):
        if query.signature.stateful:
            yield f"{model} joins it, and gets records from now on"
        else:
            yield f"{model} joins it, after a backfill of the records that the query has read"


def _new(
    query: Query, homes: Mapping[NodeId, str], new: PhysicalPlan, statistics: ReplayFigures
) -> QueryChange:
    """Describe a query without a checkpoint; models that ran in other queries before start over in it."""
    moved = {model: homes[model] for model in query.stored if model in homes}
    reasons = tuple(
        f"{name} ran in {home} before, and {query.name} has no checkpoint: it starts over"
        for name, home in zip(plain_names(moved), moved.values(), strict=True)
    )
    return QueryChange(
        name=query.name,
        status="rebuild" if moved else "new",
        models=plain_names(query.stored),
        reasons=reasons,
        notes=() if moved else ("starts with the first records of its sources",),
        stateful=query.signature.stateful,
        replay=plan_rebuild(query, new, statistics) if moved else None,
    )


def _removed(was: QueryRecord, remaining: Collection[NodeId]) -> QueryChange:
    moved = any(model in remaining for model in was.stored)
    note = (
        "its models run in other queries"
        if moved
        else "its checkpoint can be removed: `millstream clean --orphans`"
    )
    return QueryChange(
        name=was.query, status="removed", models=plain_names(was.stored), notes=(note,),
        stateful=was.signature.stateful,
    )  # fmt: skip


def differing_models(old: Topology, new: Topology) -> set[NodeId]:
    """Return the stored models whose queries can have different signatures."""
    was, now = _digests(old, _edited(old, new)), _digests(new, _edited(new, old))
    changed = {model for model in was.keys() | now.keys() if was.get(model) != now.get(model)}
    # For these, only the plan differs, which may be for the sake of other models.
    same = {model for model in changed if was.get(model, ())[1:] == now.get(model, ("", ""))[1:]}
    before, after = _narrowed(old, same), _narrowed(new, same)
    return {model for model in changed if model not in before or before[model] != after.get(model)}


def _edited(topology: Topology, other: Topology) -> set[NodeId]:
    """Return the stored models that are not literally the same in another version."""
    settings, others = physical_settings(topology.catalog), physical_settings(other.catalog)
    if (settings.rules, settings.switched_off) != (others.rules, others.switched_off):
        return {output.model for output in topology.written.outputs}
    fingerprints = {node.fingerprint for node in other.written.order}
    functions = {
        name
        for name, digest in settings.functions.items()
        if (others.functions.get(name), others.libraries.get(name)) != (digest, settings.libraries.get(name))
    }
    seeds = {id_ for id_, digest in settings.seeds.items() if others.seeds.get(id_) != digest}
    edited: set[NodeId] = set()
    changed: set[int] = set()
    for node in topology.written.order:  # models after those whose topics and tables they read
        if (
            node.fingerprint not in fingerprints
            or any(id(upstream) in changed for upstream in node.inputs)
            or not (seeds | edited).isdisjoint(_relations(node))
            or (functions and not functions.isdisjoint(node.functions))
        ):
            changed.add(id(node))
            if isinstance(node, Output):
                edited.add(node.model)
    return edited


def _digests(topology: Topology, models: Collection[NodeId]) -> dict[NodeId, tuple[str, ...]]:
    """Return for each model digests of all that determines the signature of its query."""
    settings = physical_settings(topology.catalog)
    functions = settings.functions
    written = {output.model: output.input for output in topology.written.outputs}
    rows = RowDigests(written, ColumnMeanings(functions, written))
    at_rest = _AtRest(topology, settings.seeds)
    digests: dict[NodeId, tuple[str, ...]] = {}
    for output in topology.plan.outputs:
        if output.model not in models:
            continue
        order = in_order((output,))
        called = sorted({name for node in order for name in node.functions})
        topics = {node.relation for node in order if isinstance(node, TopicScan)}
        digests[output.model] = (
            output.fingerprint,
            rows.rows(written[output.model]),
            *(f"{name} {functions.get(name, '')} {settings.libraries.get(name, {})}" for name in called),
            # A topic contains what its model wrote.
            *sorted(written[topic].fingerprint for topic in topics if topic in written),
            *at_rest.of(output.model),
        )
    references = reference_outputs(topology.plan, topology.catalog.references)
    return digests | {output.model: (output.fingerprint,) for output in references}


def _relations(node: Node) -> set[NodeId]:
    """Return the relations that a node reads, also in subqueries."""
    reads = {relation for expression in node.expressions for relation in expression.reads}
    return reads | {node.relation} if node.relation else reads


def _narrowed(topology: Topology, models: Collection[NodeId]) -> dict[NodeId, str]:
    """Return for each model the fingerprint of its output without columns that only others read."""
    settings = physical_settings(topology.catalog)
    outputs = [output for output in topology.plan.outputs if output.model in models]
    if prune_columns.__name__ not in settings.rules:
        return {output.model: output.fingerprint for output in outputs}
    off = to_sorted_msgpack(settings.switched_off)
    fingerprints: dict[NodeId, str] = {}
    for output in outputs:
        compute = partial(_pruned, output, settings.switched_off)
        key = b"narrowed" + off + digest_nodes((output,))
        fingerprints[output.model] = topology.cache.text(key, compute) if topology.cache else compute()
    return fingerprints


def _pruned(output: Output, switched_off: Mapping[NodeId, frozenset[str]]) -> str:
    plan = Plan((output,))
    plan, _ = prune_columns(plan, RuleContext(plan, PlanHints(), switched_off))
    return plan.outputs[0].fingerprint
