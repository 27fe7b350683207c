"""Turns a project's plan into the queries that run it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.nodes import Decode, Node, Output, Plan, SourceScan
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rules import RULES
from millstream.queries.branches import OutputBranch, split_branches
from millstream.queries.building import BuiltQuery, QueryRecipe, build_query, stateful_parts, stateless_parts
from millstream.queries.common_rows import with_columns_of
from millstream.queries.cuts import find_cuts
from millstream.queries.emit.bad_records import goods_of, sends_bad
from millstream.queries.emit.names import node_name
from millstream.queries.format_functions import with_encoded
from millstream.queries.grouping import BranchGroup, group_branches
from millstream.queries.lock import (
    AssignedGroup,
    GroupMember,
    Lock,
    LockedGroup,
    assign_groups,
    record_groups,
)
from millstream.queries.matched_groups import with_matched_groups
from millstream.queries.query_cache import QueryCache, QueryKeys
from millstream.queries.removed_models import is_former
from millstream.queries.signature import QuerySignatures
from millstream.queries.values import Kind, PhysicalSettings, Query, Separation
from millstream.queries.writing import QueryPart


class PhysicalPlan(Struct, frozen=True):
    """The queries of a project, and what to record of them."""

    queries: tuple[Query, ...]
    separations: tuple[Separation, ...]
    lock: Lock
    """What to record once the queries have started."""


class ModelGroups(Struct, frozen=True):
    """Which models share a query, without the queries themselves."""

    models: dict[str, tuple[NodeId, ...]]
    """The ids of what a query stores, by the query's name."""
    lock: Lock


def physical_plan(
    plan: Plan,
    settings: PhysicalSettings,
    lock: Lock | None = None,
    references: Sequence[Output] = (),
    written: Plan | None = None,
    tables: Sequence[Output] = (),
    only: Collection[str] | None = None,
    *,
    views: bool = False,
    cache: QueryCache | None = None,
) -> PhysicalPlan:
    """Return the queries of a plan; `lock` has the groups whose state exists, `references` come first.

    `written` is the plan before any rule; signatures come from it, and from the `tables` of all reference
    topics that it reads. `only` are names of queries: the others
    are skipped, which saves most of the work. `views` includes views that no model reads. `cache` has
    stateful queries that were planned before; with it, queries have no SQL and can only be compared.
    """
    stored = Plan((*references, *map(with_encoded, plan.outputs))) if views else _stored(plan, references)
    drafts = _draft(stored, settings, lock)
    recipes = [recipe for recipe in drafts.stateless if only is None or recipe.name in only]
    chosen = [assigned for assigned in drafts.assigned if only is None or assigned.name in only]
    signatures = QuerySignatures(settings, written or plan, tables)
    built = [build_query(recipe, settings, signatures, sql=cache is None) for recipe in recipes]
    stateful = _stateful(
        drafts.stateful, chosen, settings, signatures, cache, Plan((*tables, *(written or plan).outputs))
    )
    lock_separations = [Separation(model, why) for assigned in drafts.assigned for model, why in assigned.why]
    rebuilt = {
        assigned.name: replace(assigned, members=stateful[assigned.name].members) for assigned in chosen
    }
    return PhysicalPlan(
        tuple(_sorted([*built, *stateful.values()], drafts.branches)),
        (*drafts.separations, *lock_separations, *find_cuts(stored.outputs)),
        Lock(
            (
                *record_groups([rebuilt.get(assigned.name, assigned) for assigned in drafts.assigned]).groups,
                *drafts.left,
            )
        ),
    )


def grouped_queries(
    plan: Plan, settings: PhysicalSettings, lock: Lock | None = None, references: Sequence[Output] = ()
) -> ModelGroups:
    drafts = _draft(_stored(plan, references), settings, lock)
    grouped = {r.name: tuple(b.model for b in r.branches) for r in drafts.stateless}
    for assigned in drafts.assigned:
        models = (model for member in assigned.members for model in member.models)
        grouped[assigned.name] = tuple(model for model in models if not is_former(model))
    return ModelGroups(grouped, Lock((*record_groups(drafts.assigned).groups, *drafts.left)))


def models_by_query(
    plan: Plan, settings: PhysicalSettings, references: Sequence[Output] = ()
) -> dict[str, frozenset[NodeId]]:
    """Return all models that each query may compute, with the views that it reads; no SQL is written."""
    drafts = _draft(_stored(plan, references), settings, None)
    outputs = {branch.model: branch.output for branch in drafts.branches}
    roots = {recipe.name: recipe.roots for recipe in drafts.stateless}
    for assigned in drafts.assigned:
        roots[assigned.name] = tuple(outputs[model] for member in assigned.members for model in member.models)
    return {
        name: frozenset(model for node in in_order(nodes) for model in node.models)
        | {node.model for node in nodes if isinstance(node, Output)}
        for name, nodes in roots.items()
    }


class _Drafts(Struct, frozen=True):
    """Queries before their SQL is written."""

    branches: tuple[OutputBranch, ...]
    stateless: tuple[QueryRecipe, ...]
    stateful: tuple[BranchGroup, ...]
    assigned: tuple[AssignedGroup, ...]
    separations: tuple[Separation, ...]
    left: tuple[LockedGroup, ...] = ()
    """Models without state that have left the query of their source."""


def _draft(stored: Plan, settings: PhysicalSettings, lock: Lock | None) -> _Drafts:
    order = in_order(stored.outputs)
    all_branches = split_branches(stored, order)
    left = _left(all_branches, lock or Lock())
    homes = {model: group.name for group in left for member in group.members for model in member.models}
    grouped = group_branches(all_branches, settings.grouping, homes)
    requested = [group for group in grouped.groups if group.branches[0].states]
    names = set(homes.values())
    good = goods_of(output for output in stored.outputs if not is_former(output.model))
    without_state = [group for group in grouped.groups if not group.branches[0].states]
    recipes = _stateless(without_state, order, names, homes)
    stateless = tuple(replace(recipe, good=good) for recipe in recipes)
    assigned = assign_groups(_locked(requested, names), lock)
    return _Drafts(tuple(all_branches), stateless, tuple(requested), assigned, grouped.separations, left)


def _left(branches: Iterable[OutputBranch], lock: Lock) -> tuple[LockedGroup, ...]:
    """Return the recorded groups of which all models are without state."""
    states = {branch.model: bool(branch.states) for branch in branches}
    groups = []
    for query_group in lock.groups:
        has_state = [states[m] for member in query_group.members for m in member.models if m in states]
        if has_state and not any(has_state):
            groups.append(query_group)
    return tuple(groups)


def reduce_query(
    plan: Plan,
    settings: PhysicalSettings,
    name: str,
    models: Collection[NodeId],
    references: Sequence[Output] = (),
    lock: Lock | None = None,
    *,
    dead_letters: bool = False,
) -> Query:
    """Return a stateless query reduced to some of its models.

    It sends dead letters only with `dead_letters`, also of records that are only bad for other models.
    """
    recipes = _draft(_stored(plan, references), settings, lock).stateless
    recipe = next(candidate for candidate in recipes if candidate.name == name)
    parts = [
        QueryPart(tuple(output for output in part.outputs if output.model in models), part.trunk)
        for part in recipe.parts
    ]
    decode = recipe.dead_letters if dead_letters else None
    only = replace(recipe, parts=tuple(part for part in parts if part.outputs), dead_letters=decode)
    return build_query(only, settings, QuerySignatures(settings, plan)).query


def dead_letters_query(
    plan: Plan, settings: PhysicalSettings, source: NodeId, references: Sequence[Output] = ()
) -> Query:
    """Return a query that only sends the dead letters of a source."""
    recipes = _draft(_stored(plan, references), settings, None).stateless
    sender = next(
        candidate
        for candidate in recipes
        if candidate.dead_letters and candidate.dead_letters.relation == source
    )
    decode = sender.dead_letters
    assert decode is not None
    name = f"{source.last_name}_dead_letters"
    recipe = QueryRecipe(name, "stateless", (QueryPart((), decode),), (), decode, good=sender.good)
    return build_query(recipe, settings, QuerySignatures(settings, plan)).query


def _stored(plan: Plan, references: Sequence[Output]) -> Plan:
    outputs = (output for output in plan.outputs if output.materialization.stored_as)
    return Plan((*references, *map(with_encoded, outputs)))


def _new_name(name: str, used: set[str]) -> str:
    """Return an unused name for a query, and record it."""
    while name in used:
        name += "_"
    used.add(name)
    return name


# -- queries without state


def _stateless(
    groups: Iterable[BranchGroup], order: Iterable[Node], names: set[str], homes: Mapping[NodeId, str]
) -> Iterable[QueryRecipe]:
    decodes: dict[NodeId, list[Decode]] = {}
    for node in order:
        if isinstance(node, Decode):
            decodes.setdefault(node.relation, []).append(node)
    owned: set[NodeId] = set()
    for query_group in groups:
        dead_letters = _dead_letter_source(query_group)
        if dead_letters is not None and dead_letters.relation in owned:
            dead_letters = None
        others: Sequence[Decode] = ()
        if dead_letters is not None:
            owned.add(dead_letters.relation)
            others = decodes[dead_letters.relation]
        name = homes.get(query_group.branches[0].model) or _new_name(_stateless_name(query_group), names)
        parts, dead_letters = stateless_parts(query_group.branches, dead_letters, others)
        yield QueryRecipe(name, query_group.kind, parts, query_group.branches, dead_letters)
    for relation, nodes in decodes.items():
        if relation not in owned and any(map(sends_bad, nodes)):
            one = nodes[0]
            for other in nodes[1:]:
                one = with_columns_of(one, other)
            name = _new_name(f"{relation.last_name}_dead_letters", names)
            if one.fields:
                yield QueryRecipe(name, "stateless", (QueryPart((), one),), (), one)


def _dead_letter_source(group: BranchGroup) -> Decode | None:
    """Return the source whose dead letters the fan-out of a group can also send."""
    base = group.branches[0].base
    if not isinstance(base, Decode) or not base.fields or not sends_bad(base):
        return None
    return base if all(b.output.materialization.sends_records for b in group.branches) else None


def _stateless_name(group: BranchGroup) -> str:
    """Name a query after its source: its checkpoint stays valid when models are added or removed."""
    first = group.branches[0]
    option = first.output.group
    of_source = first.base.relation if isinstance(first.base, Decode | SourceScan) else NO_NODE
    if group.kind == "single" or (not of_source and len(group.branches) == 1):
        return option or _short(first)
    base = of_source.last_name or node_name(first.base)
    return option or f"{base}_{first.stored_as}s"


def _short(branch: OutputBranch) -> str:
    return branch.model.last_name


# -- queries with state


def _locked(groups: Iterable[BranchGroup], names: set[str]) -> list[LockedGroup]:
    locked: list[LockedGroup] = []
    for query_group in groups:
        members = tuple(
            GroupMember(tuple(o.model for o in part.outputs)) for part in stateful_parts(query_group.branches)
        )
        locked.append(LockedGroup(_new_name(_stateful_name(query_group), names), members))
    return locked


def _stateful_name(group: BranchGroup) -> str:
    first = group.branches[0]
    if first.output.group:
        return first.output.group
    if len(group.branches) == 1:
        return _short(first)
    shared = [node for node in first.moves if all(any(node is m for m in b.moves) for b in group.branches)]
    one_state = all(list(map(id, b.states)) == list(map(id, first.states)) for b in group.branches)
    if one_state or not shared:
        return first.states[-1].label or _short(first)
    return node_name(shared[-1])


def _stateful(
    groups: Iterable[BranchGroup],
    assigned: Iterable[AssignedGroup],
    settings: PhysicalSettings,
    signatures: QuerySignatures,
    cache: QueryCache | None,
    written: Plan,
) -> dict[str, BuiltQuery]:
    of = {branch.model: branch for group in groups for branch in group.branches}
    keys = QueryKeys(settings, written) if cache is not None else None
    built: dict[str, BuiltQuery] = {}
    for query_group in assigned:
        models = [model for member in query_group.members for model in member.models]
        branches = [of[model] for model in models]
        make = partial(_build, query_group, branches, settings, signatures, cache)
        outputs = [branch.output for branch in branches]
        built[query_group.name] = (
            cache.built(keys.of(query_group, outputs), make) if cache and keys else make()
        )
    return built


def _build(
    assigned: AssignedGroup,
    members: Sequence[OutputBranch],
    settings: PhysicalSettings,
    signatures: QuerySignatures,
    cache: QueryCache | None,
) -> BuiltQuery:
    alone = _optimized_separately(members, settings, cache)
    kind: Kind = "stateful" if len(alone) > 1 else "single"
    recipe = QueryRecipe(assigned.name, kind, stateful_parts(alone), alone, None, assigned)
    return build_query(recipe, settings, signatures, sql=cache is None)


def _optimized_separately(
    members: Sequence[OutputBranch], settings: PhysicalSettings, cache: QueryCache | None
) -> tuple[OutputBranch, ...]:
    """Optimize a query separately: models of other queries must not influence its state."""
    plan = Plan(tuple(branch.output for branch in members))

    def optimized() -> Plan:
        rules = [rule for rule in RULES if rule.__name__ in settings.rules]
        return optimize_plan(plan, rules, None, settings.switched_off).plan

    query_plan = optimized() if cache is None else cache.optimized(plan, settings, optimized)
    query_plan = with_matched_groups(query_plan)
    return tuple(members if query_plan is plan else split_branches(query_plan, query_plan.order))


def _sorted(built: Iterable[BuiltQuery], branches: Iterable[OutputBranch]) -> Iterable[Query]:
    positions = {branch.model: i for i, branch in enumerate(branches)}

    def first(query: Query) -> int:
        return min((positions[model] for model in query.models if model in positions), default=len(positions))

    return sorted((built_query.query for built_query in built), key=first)
