"""Two projections become one; a projection that changes nothing is removed.

select a + 1 as b from (select x * 2 as a from t)
select (x * 2) + 1 as b from t
"""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from millstream.plan.nodes import Item, Node, Project
from millstream.plan.optimizer.context import PlanChange
from millstream.plan.optimizer.cost import is_free
from millstream.plan.optimizer.local import Rewrite, RewriteContext, local_rule
from millstream.plan.optimizer.names import models_of
from millstream.plan.traits import NotIncrementalError, Traits, projection_traits, traits_of
from millstream.sql.substitution import can_substitute, substitute_columns


@local_rule(Project, lambda node, _: isinstance(node.input, Project) or _is_identity(node))
def merge_projections(node: Project, site: RewriteContext) -> Rewrite | None:
    changes: list[PlanChange] = []
    lower = node.input
    if isinstance(lower, Project) and not site.shared(lower) and site.allows(lower):
        merged = _merged(node, lower, traits_of(site.before))
        if merged is not None:
            changes.append(
                PlanChange(f"{node.label or 'a projection'} is merged into one projection", merged.models)
            )
            node = merged
    if _is_identity(node) and site.allows(node):
        changes.append(
            PlanChange(f"{node.label or 'a projection'} is removed: it changes nothing", node.models)
        )
        return Rewrite(_without(node, taken=site.shared(node.input)), tuple(changes))
    return Rewrite(node, tuple(changes)) if changes else None


def _merged(upper: Project, lower: Project, traits: Traits) -> Project | None:
    items = _items(upper, lower)
    if items is None:
        return None
    keys = upper.keys
    if lower.keys and not keys:
        names = {c: item.name for item in reversed(upper.items) if (c := item.expression.column) is not None}
        if not all(key in names for key in lower.keys):
            return None
        keys = tuple(names[key] for key in lower.keys)
    try:
        now = projection_traits(traits_of(lower.input), lower.input, items, keys)
    except NotIncrementalError:
        return None
    if (now.mode, now.keys) != (traits.mode, traits.keys):
        return None
    models = models_of(lower, upper)
    return Project(input=lower.input, items=items, keys=keys, label=upper.label, models=models)


def _items(upper: Project, lower: Project) -> tuple[Item, ...] | None:
    """Return the items over the lower one's input; None if something would be evaluated twice."""
    by = lower.definitions
    read = Counter(ref.column for item in upper.items for ref in item.expression.refs)
    if not all(name in by and (count == 1 or is_free(by[name])) for name, count in read.items()):
        return None
    for item in upper.items:
        # Within a larger expression, it might run less often, for example in a branch of CASE.
        alone = item.expression.column is not None
        if not alone and not all(by[name].deterministic for name in item.expression.columns):
            return None
        if not can_substitute(item.expression, by):
            return None
    return tuple(Item(item.name, substitute_columns(item.expression, by)) for item in upper.items)


def _is_identity(node: Project) -> bool:
    columns = node.input.columns
    return (
        not node.keys
        and len(node.items) == len(columns)
        and all(
            item.expression.column == item.name == column.name
            and item.expression.type == column.type
            and (item.expression.nullable or not column.nullable)
            for item, column in zip(node.items, columns, strict=True)
        )
    )


def _without(node: Project, *, taken: bool) -> Node:
    """Return the input, under the more informative name."""
    input_node = node.input
    if taken:
        return input_node
    return replace(input_node, label=input_node.label or node.label, models=models_of(input_node, node))
