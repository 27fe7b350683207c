"""Local rules, which look at one node, its inputs and its readers, and replace the node.

    @local_rule(Filter, lambda node, context: isinstance(node.input, Filter))
    def merge_filters(node: Filter, site: Site) -> Applied | None: ...

This module does the rest: the walk, rebuilding the nodes above, models that have switched the rule off, and
the list of changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeVar

from millstream.plan.nodes import Node, Plan
from millstream.plan.optimizer.context import PlanChange, PlanHints, Result, Rule, RuleContext
from millstream.plan.walk import rewrite_plan

N = TypeVar("N", bound=Node)


class Rewrite(NamedTuple):
    """The replacement of a node, with the changes."""

    node: Node
    changes: tuple[PlanChange, ...]


class RewriteContext:
    """The surroundings of a node."""

    def __init__(self, rule: str, before: Node, context: RuleContext, shared: set[int]) -> None:
        self.before = before
        """The node before the rule."""
        self._rule = rule
        self._context = context
        self._shared = shared

    @property
    def hints(self) -> PlanHints:
        return self._context.hints

    @property
    def readers(self) -> list[Node]:
        return self._context.consumers[id(self.before)]

    def shared(self, node: Node) -> bool:
        """Return whether more than one node reads this one, which may be new."""
        return id(node) in self._shared

    def allows(self, *nodes: Node) -> bool:
        """Return whether none of the models of these nodes has switched the rule off."""
        return self._context.allows(self._rule, *nodes)


def local_rule(
    kind: type[N], match: Callable[[N, RuleContext], bool] = lambda *_: True
) -> Callable[[Callable[[N, RewriteContext], Rewrite | None]], Rule]:
    """Make a rule from a function that returns the replacement of a node, or None for no change.

    `match` gets the nodes of a kind before the rule. The function gets those that match, inputs
    first, each over the replacements of its inputs.
    """

    def decorate(apply: Callable[[N, RewriteContext], Rewrite | None]) -> Rule:
        name = apply.__name__

        @wraps(apply)
        def rule(plan: Plan, context: RuleContext) -> Result:
            nodes, shared_before = context.changed(name), context.shared_ids
            shared = set(shared_before)

            def applied(node: N, before: Node) -> Rewrite | None:
                return apply(node, RewriteContext(name, before, context, shared))

            matching = [
                node
                for node in nodes
                if isinstance(node, kind) and match(node, context) and context.allows(name, node)
            ]
            # Usually there is nothing to do, so check that first without rebuilding anything.
            first = next((i for i, node in enumerate(matching) if applied(node, node)), None)
            if first is None:
                return plan, ()
            remaining = {id(node) for node in matching[first:]}
            changes: list[PlanChange] = []

            def visit(node: Node, before: Node) -> Node:
                if (
                    id(before) in remaining
                    and isinstance(node, kind)
                    and (replacement := applied(node, before))
                ):
                    changes.extend(replacement.changes)
                    node = replacement.node
                if node is not before and id(before) in shared_before:
                    shared.add(id(node))
                return node

            return rewrite_plan(plan, visit, nodes), tuple(changes)

        return rule

    return decorate
