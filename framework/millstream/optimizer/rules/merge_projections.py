"""Two projections become one, and one that changes nothing goes.

select a + 1 as b from (select x * 2 as a from t)
select (x * 2) + 1 as b from t
"""

from __future__ import annotations

from collections import Counter

from msgspec.structs import replace

from millstream.expressions import can_substitute, substitute
from millstream.optimizer.context import Change, Context, Result
from millstream.optimizer.cost import is_free
from millstream.optimizer.names import both
from millstream.plan.nodes import Item, Node, Plan, Project
from millstream.plan.traits import NotIncrementalError, Traits, projected, traits_of
from millstream.plan.walk import rewrite


def merge_projections(plan: Plan, context: Context) -> Result:
    nodes = context.changed("merge_projections")
    if not any(_may_go(node) for node in nodes):
        return plan, ()
    changes: list[Change] = []
    shared = set(context.fans)

    def visit(node: Node, before: Node) -> Node:
        found = node
        if (
            isinstance(node, Project)
            and isinstance(node.input, Project)
            and id(node.input) not in shared
            and context.allows("merge_projections", node, node.input)
        ):
            found = _merged(node, node.input, traits_of(before)) or node
            if found is not node:
                name = node.label or "a projection"
                changes.append(Change(f"{name} is calculated in one step", found.models))
        if isinstance(found, Project) and _is_identity(found) and context.allows("merge_projections", found):
            changes.append(Change(f"{found.label or 'a projection'} is what it reads", found.models))
            found = _without(found, taken=id(found.input) in shared)
        if context.shared(before):
            shared.add(id(found))
        return found

    return rewrite(plan, visit, nodes), tuple(changes)


def _may_go(node: Node) -> bool:
    return isinstance(node, Project) and (isinstance(node.input, Project) or _is_identity(node))


def _merged(upper: Project, lower: Project, traits: Traits) -> Project | None:
    items = _items(upper, lower)
    if items is None:
        return None
    keys = upper.keys
    if lower.keys and not keys:
        names = {c: i.name for i in reversed(upper.items) if (c := i.expression.column) is not None}
        if not all(key in names for key in lower.keys):
            return None
        keys = tuple(names[key] for key in lower.keys)
    try:
        now = projected(traits_of(lower.input), lower.input, items, keys)
    except NotIncrementalError:
        return None
    if (now.mode, now.keys) != (traits.mode, traits.keys):
        return None
    models = both(lower, upper)
    return Project(input=lower.input, items=items, keys=keys, label=upper.label, models=models)


def _items(upper: Project, lower: Project) -> tuple[Item, ...] | None:
    """Return the items over the lower one's input; None where something would be evaluated twice."""
    by = {item.name: item.expression for item in lower.items}
    read = Counter(ref.column for item in upper.items for ref in item.expression.refs)
    if not all(name in by and (count == 1 or is_free(by[name])) for name, count in read.items()):
        return None
    for item in upper.items:
        # Within a larger expression it might run less often: in the branch of a CASE, say.
        alone = item.expression.column is not None
        if not alone and not all(by[name].deterministic for name in item.expression.columns):
            return None
        if not can_substitute(item.expression, by):
            return None
    return tuple(Item(item.name, substitute(item.expression, by)) for item in upper.items)


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
    """Return the input, which goes on under the name of the two that says more."""
    below = node.input
    if taken:
        return below
    return replace(below, label=below.label or node.label, models=both(below, node))
