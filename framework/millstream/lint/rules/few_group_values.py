"""Aggregates whose groups are fewer than the tasks that could work on them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from millstream.core.types import BOOLEAN
from millstream.lint.project import LintProject
from millstream.lint.rule import rule
from millstream.lint.values import Finding
from millstream.plan.nodes import Aggregate, Item
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import traits_of
from millstream.project.values import shuffle_partitions
from millstream.queries.memory import distinct_values


@rule("few-group-values")
def few_group_values(project: LintProject) -> Iterator[Finding]:
    """Find aggregates of streams with fewer groups than shuffle partitions: the others have nothing to do."""
    partitions = shuffle_partitions(project.target)
    for node in in_order(project.plan.outputs):
        if not isinstance(node, Aggregate) or node.window is not None or not node.keys or not node.models:
            continue
        counts = [_values(project, node, key) for key in node.keys]
        if traits_of(node.input).mode == "static" or None in counts:
            continue
        groups = prod(count for count in counts if count is not None)
        if groups < partitions:
            model = project.models[node.models[-1].name]
            keys = ", ".join(key.name for key in node.keys)
            message = f"grouping by {keys} gives at most {groups} groups for {partitions} shuffle partitions"
            spans = [(key.expression.start, key.expression.stop) for key in node.keys]
            remedy = "group by more columns first, and again by these in a model that reads the result"
            yield model.finding(message, remedy, span=spans[0])


def _values(project: LintProject, node: Aggregate, key: Item) -> int | None:
    """Return how many values a key has, with NULL; None if that is unknown."""
    if key.expression.type == BOOLEAN:
        return 3 if key.expression.nullable else 2
    if (column := key.expression.column) is None:
        return None
    declared = project.catalog.hints.distinct
    return distinct_values(
        node.input, column, {(id_, name): n for id_, of in declared.items() for name, n in of.items()}
    )
