"""The columns of each node that are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from millstream.plan.needs import Names, of_input
from millstream.plan.nodes import Dedupe, Filter, Node, Project, Repartition, Watermark
from millstream.plan.optimizer.context import RuleContext
from millstream.plan.optimizer.cost import is_free
from millstream.plan.traits import traits_of
from millstream.plan.walk import below


class ColumnNeeds(NamedTuple):
    of: dict[int, Names]
    """The columns that are read of each node, by its `id`."""
    settled: set[int]
    """The `id`s of nodes whose read columns have not changed since the last run."""


class _CachedNeeds(NamedTuple):
    node: Node
    needed: Names
    inputs: tuple[Iterable[str], ...]
    """The columns of each input that its own columns need."""


def all_needs(context: RuleContext, rule: str) -> ColumnNeeds:
    """Return the columns that are read of each node; all columns if `rule` is switched off."""
    cache: dict[int, _CachedNeeds] = context.findings(rule)
    settled: set[int] = set()
    needs: dict[int, Names] = {id(node): set() for node in context.order}
    for node in reversed(context.order):
        needed = needs[id(node)]
        if keys := traits_of(node).keys:
            needed.update(map(str.lower, keys))
        if context.switched_off and not context.allows(rule, node):
            needed.update(map(str.lower, node.names))
        if not needed and node.columns:
            needed.add(_any_column(node).lower())
        cached = cache.get(id(node))
        if cached is not None and cached.needed == needed:
            settled.add(id(node))
        else:
            inputs = tuple([of_input(node, index, needed) for index in range(len(node.inputs))])
            cached = cache[id(node)] = _CachedNeeds(node, needed, inputs)
        for input_node, names in zip(node.inputs, cached.inputs, strict=True):
            needs[id(input_node)].update(names)
    return ColumnNeeds(needs, settled)


def _any_column(node: Node) -> str:
    """Return the column to keep if only the number of rows matters."""
    node = below(node, Filter, Repartition, Watermark, Dedupe)
    free = (item.name for item in node.items if is_free(item.expression)) if isinstance(node, Project) else ()
    return next(iter(free), node.columns[0].name)
