"""Equal parts of different models become one, so their work is done once and their state is kept once.

sink a ← aggregate count(*) by user ← filter x > 1; sink b ← aggregate count(*) by user ← filter x > 1
sink a ← counts, sink b ← counts = aggregate count(*) by user ← filter x > 1
"""

from __future__ import annotations

from collections import defaultdict

from msgspec.structs import replace

from millstream.plan.nodes import Node, Output, Plan
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.optimizer.names import models_of, node_kind
from millstream.plan.walk import rewrite_plan

_NAME = "share_equal"


def share_equal(plan: Plan, context: RuleContext) -> Result:
    groups = _equal(context)
    if len(groups) == len(context.order):
        return plan, ()
    first = {id(node): members[0] for members in groups for node in members}
    members_of = {id(members[0]): members for members in groups if len(members) > 1}
    shared_nodes: dict[int, Node] = {}

    def visit(node: Node, before: Node) -> Node:
        members = members_of.get(id(first[id(before)]))
        if members is None:
            return node
        if id(members[0]) not in shared_nodes:
            shared_nodes[id(members[0])] = _named(node, members)
        return shared_nodes[id(members[0])]

    return rewrite_plan(plan, visit), _changes(context, first, members_of)


def _equal(context: RuleContext) -> list[list[Node]]:
    """Group equal nodes over equal inputs.

    Nondeterministic nodes are never equal, and neither are nodes over two of them. So the inputs are compared
    in addition to the fingerprint, which covers their content.
    """
    groups: list[list[Node]] = []
    group_of: dict[int, int] = {}
    alone: dict[object, int] = {}
    exact: dict[object, int] = {}
    for node in context.order:
        key = (type(node), *[group_of[id(input_node)] for input_node in node.inputs])
        index = len(groups)
        if key not in alone:
            alone[key] = index
        else:
            # Fingerprints are the expensive part, so only compute them for nodes with the same inputs.
            first = groups[alone[key]][0]
            if context.allows(_NAME, first):
                exact.setdefault((key, first.fingerprint), alone[key])
            if context.allows(_NAME, node):
                equal_index = exact.setdefault((key, node.fingerprint), index)
                # Equal nodes are either both deterministic or both not.
                if node.deterministic and not isinstance(node, Output):
                    index = equal_index
        if index == len(groups):
            groups.append([])
        groups[index].append(node)
        group_of[id(node)] = index
    return groups


def _named(node: Node, members: list[Node]) -> Node:
    """Name a node after a model, if one is exactly this node, or else keep the first label."""
    models = models_of(*members)
    model_names = {model.last_name for model in models}
    labels = [member.label for member in members if member.label]
    label = min(
        (name for name in labels if name in model_names), key=len, default=labels[0] if labels else ""
    )
    if (label, models) == (node.label, node.models):
        return node
    return replace(node, label=label, models=models)


def _changes(
    context: RuleContext, first: dict[int, Node], members_of: dict[int, list[Node]]
) -> tuple[PlanChange, ...]:
    """Report each part that several nodes read now, without its inputs."""
    readers: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for node in context.order:
        for index, input_node in enumerate(node.inputs):
            readers[id(first[id(input_node)])].add((id(first[id(node)]), index))
    return tuple(
        PlanChange(
            f"{node_kind(members[0])} is computed once instead of {len(members)} times", models_of(*members)
        )
        for id_, members in members_of.items()
        if len(readers[id_]) > 1
    )
