"""Python calls and state that models compute from one relation under different names are computed once.

project score(value) as a ← events; project score(value) as b, type ← events
project a ← scored, project a as b, type ← scored = project score(value) as a, type ← events
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from millstream.core.expressions import column_expression
from millstream.plan.nodes import Aggregate, Item, Node, Plan, Project
from millstream.plan.optimizer.context import PlanChange, Result, RuleContext
from millstream.plan.optimizer.names import models_of
from millstream.plan.optimizer.paths import Pieces
from millstream.plan.optimizer.shared_input import unused_names
from millstream.plan.walk import rewrite_plan

_NAME = "share_renamed"


class _Calls(NamedTuple):
    """Projections of one relation with Python calls in common."""

    projections: tuple[Project, ...]
    shared: tuple[Pieces, ...]


def share_renamed(plan: Plan, context: RuleContext) -> Result:
    hosts = _hosts(_alike(context, Aggregate))
    calls = [common for group in _alike(context, Project) if (common := _common(group))]
    if not hosts and not calls:
        return plan, ()
    of = {id(p): common for common in calls for p in common.projections}
    built: dict[int, Node] = {}

    def visit(node: Node, before: Node) -> Node:
        if isinstance(node, Aggregate) and isinstance(before, Aggregate) and id(before) in hosts:
            host = hosts[id(before)]
            if id(host) not in built:
                built[id(host)] = host.with_inputs(node.input)
            return built[id(host)] if host is before else _renamed(before, host, built[id(host)])
        if isinstance(node, Project) and id(before) in of:
            common = of[id(before)]
            if id(common) not in built:
                built[id(common)] = _once(common, node.input)
            return _reading(node, common, built[id(common)])
        return node

    changes = [
        PlanChange(f"{_name(node)} selects from the state of {_name(host)}", models_of(host, node))
        for node in context.order
        if (host := hosts.get(id(node), node)) is not node
    ]
    changes += [
        PlanChange(f"{' and '.join(map(_name, c.projections))} call Python once", models_of(*c.projections))
        for c in calls
    ]
    return rewrite_plan(plan, visit), tuple(changes)


def _alike(context: RuleContext, kind: type[Aggregate | Project]) -> list[list[Node]]:
    """Return groups of nodes of a kind that have the same input and can be shared."""
    by_input: defaultdict[int, list[Node]] = defaultdict(list)
    for node in context.changed(_NAME):  # includes readers of a node with new readers
        if isinstance(node, kind):
            by_input[id(node.input)].append(node)
    several = (
        [node for node in group if node.deterministic and context.allows(_NAME, node)]
        for group in by_input.values()
        if len(group) > 1
    )
    return [group for group in several if len(group) > 1]


def _name(node: Node) -> str:
    return node.label or ", ".join(model.shown_name for model in node.models) or "one"


# -- state


def _hosts(groups: Iterable[list[Node]]) -> dict[int, Aggregate]:
    """Return, by the `id` of an aggregate, the one (maybe itself) whose state includes all of its state."""
    host_of: dict[int, Aggregate] = {}
    for group in groups:
        alike: defaultdict[object, list[Aggregate]] = defaultdict(list)
        for node in group:
            if isinstance(node, Aggregate):
                alike[node.emit, frozenset(key.expression.pieces for key in node.keys)].append(node)
        for nodes in alike.values():
            hosts: list[Aggregate] = []
            for node in sorted(nodes, key=lambda n: -len(_measures(n))):
                measures = _measures(node).keys()
                host = next(
                    (candidate for candidate in hosts if measures <= _measures(candidate).keys()), None
                )
                if host is None:
                    hosts.append(node)
                else:
                    host_of[id(node)] = host_of[id(host)] = host
    return host_of


def _measures(node: Aggregate) -> dict[object, str]:
    return {(m.call.pieces, m.condition.pieces if m.condition else None): m.name for m in node.measures}


def _renamed(node: Aggregate, host: Aggregate, shared: Node) -> Project:
    keys = {key.expression.pieces: key.name for key in host.keys}
    measures = _measures(host)
    names = [keys[key.expression.pieces] for key in node.keys]
    names += [measures[m.call.pieces, m.condition.pieces if m.condition else None] for m in node.measures]
    items = tuple(
        Item(node_column.name, shared.column(name).expression)
        for node_column, name in zip(node.columns, names, strict=True)
    )
    own_keys = tuple(key.name for key in node.keys) if node.emit == "on_change" else ()
    return Project(input=shared, items=items, keys=own_keys, label=node.label, models=node.models)


# -- Python calls


def _common(group: list[Node]) -> _Calls | None:
    projections = [node for node in group if isinstance(node, Project) and not node.keys]
    counts = Counter(pieces for node in projections for pieces in {p: None for p, _ in _python(node)})
    shared = tuple(pieces for pieces, count in counts.items() if count > 1)
    readers = tuple(node for node in projections if any(p in shared for p, _ in _python(node)))
    return _Calls(readers, shared) if shared else None


def _python(node: Project) -> list[tuple[Pieces, Item]]:
    return [(item.expression.pieces, item) for item in node.items if item.expression.functions]


def _once(common: _Calls, input_node: Node) -> Project:
    """Return the projection that calls Python, and passes on the other columns that its readers need."""
    read = {
        name.lower()
        for node in common.projections
        for item in node.items
        if item.expression.pieces not in common.shared
        for name in item.expression.columns
    }
    plain = [column.item for column in input_node.columns if column.name.lower() in read]
    items = {pieces: item for node in reversed(common.projections) for pieces, item in _python(node)}
    calls = [items[pieces] for pieces in common.shared]
    names = unused_names((item.name for item in calls), (item.name for item in plain))
    renamed_calls = (replace(item, name=name) for name, item in zip(names, calls, strict=True))
    return Project(input=input_node, items=(*plain, *renamed_calls), models=models_of(*common.projections))


def _reading(node: Project, common: _Calls, shared: Node) -> Project:
    names = dict(zip(common.shared, shared.names[len(shared.names) - len(common.shared) :], strict=True))
    items = tuple(
        replace(
            item, expression=column_expression(name, item.expression.type, nullable=item.expression.nullable)
        )
        if (name := names.get(item.expression.pieces))
        else item
        for item in node.items
    )
    return replace(node, input=shared, items=items)
