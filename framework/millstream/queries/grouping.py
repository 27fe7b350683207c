"""Which outputs share a query, and why others do not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Decode, Maintained, Node, SourceScan
from millstream.plan.nodes.order import in_order
from millstream.queries.branches import OutputBranch
from millstream.queries.common_rows import find_trunk
from millstream.queries.emit.names import node_name
from millstream.queries.values import Grouping, Kind, Separation


class BranchGroup(Struct, frozen=True, eq=False):
    """Branches of one query."""

    kind: Kind
    branches: tuple[OutputBranch, ...]

    @property
    def models(self) -> tuple[NodeId, ...]:
        return tuple(branch.model for branch in self.branches)


class GroupedBranches(Struct, frozen=True, eq=False):
    groups: tuple[BranchGroup, ...]
    separations: tuple[Separation, ...]


Key = tuple[Kind, tuple[object, ...]]


def group_branches(
    branches: list[OutputBranch], grouping: Grouping, homes: Mapping[NodeId, str] | None = None
) -> GroupedBranches:
    """Group branches where sharing a query is possible and worthwhile.

    `homes` has the query of each model that has left the query of its source.
    """
    by_key: dict[Key, list[OutputBranch]] = {}
    separations: list[Separation] = []
    roots = _related([b for b in branches if b.states])
    for branch in branches:
        key: Key
        options = branch.output.group, branch.output.producer
        alone = grouping == "off" or (branch.states and grouping == "stateless")
        # A model that joins a query is run over rows that change meanwhile.
        alone = alone or branch.output.sends_changes or branch.output.materialization.alone
        if alone or not branch.scans:
            key = "single", (branch.model,)
        elif not branch.states:
            home = (homes or {}).get(branch.model)
            key = "stateless", (_trunk(branch.base), branch.stored_as, home, *options)
        else:
            state = (
                roots[id(branch)],
                branch.mode,
                branch.watermarks,
                branch.chained,
                branch.output.state_store,
            )
            key = "stateful", (*state, branch.mode == "append" and branch.runs_only_with_rows, *options)
        by_key.setdefault(key, []).append(branch)
    groups = [
        BranchGroup("single" if kind == "stateful" and len(members) == 1 else kind, tuple(members))
        for (kind, _), members in by_key.items()
    ]
    if grouping != "off":
        separations += _separations(groups, roots)
    return GroupedBranches(tuple(_split(groups, separations)), tuple(separations))


def _trunk(node: Node) -> tuple[object, ...]:
    """Return what stateless branches must share: a source that is read the same way, or the same node."""
    if isinstance(node, Decode):
        how = (node.format, node.on_bad_record, node.unique_by, node.key_type, node.key_format)
        return (node.input.fingerprint, *how)
    if isinstance(node, SourceScan):
        return (node.relation, node.kind, node.settings, node.keys)
    return (id(node),)


def _related(candidates: Iterable[OutputBranch]) -> dict[int, int]:
    """Return the same number for branches that share a repartition or a state."""
    leader: dict[int, int] = {}
    branches = list(candidates)

    def find(one: int) -> int:
        while leader.setdefault(one, one) != one:
            leader[one] = one = leader[leader[one]]
        return one

    for branch in branches:
        mine = find(id(branch))
        for node in (*branch.states, *branch.moves):
            leader[find(id(node))] = mine
    return {id(branch): find(id(branch)) for branch in branches}


def _split(groups: list[BranchGroup], separations: list[Separation]) -> Iterable[BranchGroup]:
    """Split branches off stateful groups if Spark would keep their state twice within one query."""
    for group in groups:
        if group.kind != "stateful":
            yield group
            continue
        tops: dict[tuple[int, ...], list[OutputBranch]] = {}
        for branch in group.branches:
            tops.setdefault(tuple(sorted(map(id, branch.states))), []).append(branch)
        remaining: list[OutputBranch] = []
        seen: set[int] = set()
        split_off: list[list[OutputBranch]] = []
        for states, members in sorted(tops.items(), key=lambda item: (len(item[0]), 0)):
            if seen & set(states):
                split_off.append(members)
                shared = next(node for node in members[0].states if id(node) in seen)
                why = f"it adds state above {node_name(shared)}, whose state one query would keep twice"
                separations += [Separation(b.model, why, tuple(k.model for k in remaining)) for b in members]
            else:
                remaining += members
                seen |= set(states)
            if len(members) > 1 and not _one_trunk(members):
                remaining = [b for b in remaining if b not in members[1:]]
                split_off += [[b] for b in members[1:]]
                why = "it reads several states, and no step combines them for all its models"
                separations += [Separation(b.model, why, (members[0].model,)) for b in members[1:]]
        order = {id(branch): position for position, branch in enumerate(group.branches)}
        for members in [remaining, *split_off]:
            members.sort(key=lambda branch: order[id(branch)])
            yield BranchGroup("stateful" if len(members) > 1 else "single", tuple(members))


def _one_trunk(members: list[OutputBranch]) -> bool:
    """Whether all rows of all branches pass one node, and all state is below it.

    Everything above that node runs on each batch separately: state there would be lost between batches.
    """
    trunk_node = find_trunk([branch.output for branch in members])
    if trunk_node is None:
        return False
    below = {id(node) for node in in_order([trunk_node])}
    return all(id(state) in below for branch in members for state in branch.states)


def _separations(groups: list[BranchGroup], roots: Mapping[int, int]) -> list[Separation]:
    """Explain why groups that share a source or a repartition are not one group."""
    separations: list[Separation] = []
    related: dict[str | int, list[BranchGroup]] = {}
    for group in sorted(groups, key=lambda g: bool(g.branches[0].states)):
        first = group.branches[0]
        if first.states:
            related.setdefault(roots[id(first)], []).append(group)
        elif len(first.scans) == 1:
            related.setdefault(first.scans[0].fingerprint, []).append(group)
    for several in related.values():
        main = max(several, key=lambda g: len(g.branches))
        for group in several:
            if group is not main:
                why = _reason(group.branches[0], main.branches[0])
                separations += [Separation(branch.model, why, main.models) for branch in group.branches]
    return separations


def _reason(one: OutputBranch, other: OutputBranch) -> str:
    if one.output.sends_changes or other.output.sends_changes:
        return "emit='changes' needs each change from the first row on, and so a query of its own"
    if one.output.materialization.alone or other.output.materialization.alone:
        return "what is written by Python can wait or fail, and so has a query of its own"
    if one.output.group != other.output.group:
        return f"its option 'group' is '{one.output.group or 'none'}'"
    if one.output.producer != other.output.producer:
        return "its producer options differ, and a query has one producer"
    return _stateful_reason(one, other) if one.states else _stateless_reason(one, other)


def _stateless_reason(one: OutputBranch, other: OutputBranch) -> str:
    if one.stored_as != other.stored_as:
        return "a table is written batch by batch, a topic is not"
    node = one.base
    if isinstance(node, Maintained):
        return "each table over tables is maintained by a query of its own"
    if isinstance(node, Decode):
        return "its source is decoded differently"
    functions = [name for expression in node.expressions for name in expression.functions]
    if functions:
        return f"in a fan-out, {functions[0]}() would also be called for the rows of other models"
    return f"a fan-out can only filter and project, and this model reads {node_name(node)}"


def _stateful_reason(one: OutputBranch, other: OutputBranch) -> str:
    if one.output.state_store != other.output.state_store:
        return f"its state store is {one.output.state_store}, the others use {other.output.state_store}"
    if one.mode != other.mode:
        words = {"append": "when windows close", "update": "on every change"}
        return f"it emits {words[one.mode]}, the others {words[other.mode]}; a query has one output mode"
    if one.runs_only_with_rows != other.runs_only_with_rows:
        return "state that expires by the clock excludes batches without rows, which let windows close"
    return "its watermark differs, and a query has one watermark"
