"""Rules that look at one node, what it reads and who reads it: a match, and what becomes of the node.

    @local_rule(Filter, _over_a_filter)
    def merge_filters(node: Filter, at: Site) -> Applied | None: ...

All else is done here: the walk, the rebuilding of what stands above, models that switched the rule off, and
the list of changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import NamedTuple, TypeVar

from millstream.optimizer.context import Change, Context, Hints, Result, Rule
from millstream.plan.nodes import Node, Plan
from millstream.plan.walk import rewrite

N = TypeVar("N", bound=Node)


class Applied(NamedTuple):
    """What a rule made of a node."""

    node: Node
    changes: tuple[Change, ...]


class Site:
    """What surrounds the node that a rule looks at."""

    def __init__(self, rule: str, before: Node, context: Context, shared: set[int]) -> None:
        self.before = before
        """The node over the inputs that it had before the rule."""
        self._rule = rule
        self._context = context
        self._shared = shared

    @property
    def hints(self) -> Hints:
        return self._context.hints

    @property
    def readers(self) -> list[Node]:
        return self._context.consumers[id(self.before)]

    def shared(self, node: Node) -> bool:
        """Tell whether more than one node reads this one, which may be new."""
        return id(node) in self._shared

    def allows(self, *nodes: Node) -> bool:
        """Tell whether no model that these nodes stand in switched the rule off."""
        return self._context.allows(self._rule, *nodes)


def local_rule(
    kind: type[N], match: Callable[[N, Context], bool] = lambda *_: True
) -> Callable[[Callable[[N, Site], Applied | None]], Rule]:
    """Make a rule of a function that returns what becomes of a node, or None where nothing does.

    `match` sees the nodes of a kind as they are before the rule. The function gets those that match, inputs
    first, each over what the rule has made of its inputs.
    """

    def decorate(apply: Callable[[N, Site], Applied | None]) -> Rule:
        name = apply.__name__

        @wraps(apply)
        def rule(plan: Plan, context: Context) -> Result:
            nodes, fans = context.changed(name), context.fans
            shared = set(fans)

            def applied(node: N, before: Node) -> Applied | None:
                return apply(node, Site(name, before, context, shared))

            matching = [
                node
                for node in nodes
                if isinstance(node, kind) and match(node, context) and context.allows(name, node)
            ]
            # Most of the time there is nothing to do: nothing is rebuilt to find that out.
            first = next((i for i, node in enumerate(matching) if applied(node, node)), None)
            if first is None:
                return plan, ()
            left = {id(node) for node in matching[first:]}
            changes: list[Change] = []

            def visit(node: Node, before: Node) -> Node:
                if id(before) in left and isinstance(node, kind) and (found := applied(node, before)):
                    changes.extend(found.changes)
                    node = found.node
                if node is not before and id(before) in fans:
                    shared.add(id(node))
                return node

            return rewrite(plan, visit, nodes), tuple(changes)

        return rule

    return decorate
