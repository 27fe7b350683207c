"""Builds the nodes of one SELECT: relations, WHERE, GROUP BY, HAVING, items, DISTINCT."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.core.expressions import Expression, column_expression, quote_name, render_sql
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.builder import Builder
from millstream.plan.from_sql.relations import FromBuilder
from millstream.plan.from_sql.scope import PlanScope, identity_items, unused_name
from millstream.plan.from_sql.values import span_offsets
from millstream.plan.nodes import Aggregate, Column, Dedupe, Filter, Item, Measure, Node, Project, Repartition
from millstream.sql.query import Select, SelectItem
from millstream.sql.trees import called_function, is_distinct, is_window_call


def plan_select(builder: Builder, select: Select) -> Node:
    scope = PlanScope()
    node = FromBuilder(builder, scope).node(select)
    models = (builder.spec.id,)
    if select.where:
        node = builder.check(
            Filter(input=node, conditions=scope.bind_all(select.where), models=models), select
        )
    if select.keys is not None:
        node, scope = _grouped(builder, select, select.keys, node, scope)
        if select.having:
            node = builder.check(
                Filter(input=node, conditions=scope.bind_all(select.having), models=models), select
            )
    node = builder.check(_project(builder, select, node, scope), select, _as_written(select))
    if select.distinct:
        names = node.names
        _check_times(builder, node, [column.expression for column in node.columns], select)
        below = [name for name, _ in builder.traits.of(node.inputs[0]).watermarks]
        together = builder.check(Repartition(input=node, keys=names, models=models), select)
        deduped = Dedupe(input=together, keys=names, models=models)
        builder.add_state(deduped, select, names, below)
        node = builder.check(deduped, select)
    return node


def _sql(select: Select, expression: Expression) -> str:
    """Return an expression as SQL of the SELECT; columns of a single relation need no alias."""
    if len(select.relations) != 1:
        return expression.text
    return render_sql(expression, lambda ref: quote_name(ref.column))


def _as_written(select: Select) -> dict[str, str]:
    """Return the SQL of group keys; for a window, its start."""
    return {
        key.name: f"{key.name}.start" if is_window_call(key.expression) else _sql(select, key.expression)
        for key in select.keys or ()
    }


def _project(builder: Builder, select: Select, node: Node, scope: PlanScope) -> Node:
    """Compute the items; those that later items read by alias come first, in separate projections."""
    models = (builder.spec.id,)
    aliases = {item.name.lower() for item in select.items}
    read = {
        ref.column.lower()
        for item in select.items
        for ref in item.expression.refs
        if not ref.relation and ("", ref.column.lower()) not in scope.names and ref.column.lower() in aliases
    }
    done: dict[str, Column] = {}
    for item in select.items:
        if item.name.lower() not in read or item.name.lower() in done:
            continue
        expression = scope.bind(item.expression)
        name = unused_name(item.name, node.names)
        node = Project(input=node, items=(*identity_items(node), Item(name, expression)), models=models)
        computed = node.column(name)
        done[item.name.lower()] = computed
        scope.add("", item.name, computed)
    items = [_item(item, done, scope) for item in select.items]
    return Project(input=node, items=tuple(items), models=models)


def _item(item: SelectItem, done: dict[str, Column], scope: PlanScope) -> Item:
    computed = done.get(item.name.lower())
    if computed is not None:
        return Item(item.name, computed.expression)
    return Item(item.name, scope.bind(item.expression))


def _grouped(
    builder: Builder, select: Select, keys: tuple[SelectItem, ...], node: Node, scope: PlanScope
) -> tuple[Node, PlanScope]:
    models = (builder.spec.id,)
    bound = [Item(key.name, scope.bind(key.expression)) for key in keys]
    measures = tuple(
        Measure(m.name, scope.bind(m.call), m.function, scope.bind(m.condition) if m.condition else None)
        for m in select.measures
    )
    _check_times(builder, node, [key.expression for key in bound], select)
    node, bound = _computed_keys(node, bound, models)
    together = tuple(c for key in bound if (c := key.expression.column) is not None)
    node = builder.check(Repartition(input=node, keys=together, models=models), select)
    first = next((m.call for m in select.measures), keys[0].expression if keys else select)
    window = next((key.expression for key in keys if is_window_call(key.expression)), first)
    grouped = Aggregate(
        input=node, keys=tuple(bound), measures=measures, emit=builder.spec.emit, models=models
    )
    written = ["window" if is_window_call(key.expression) else _sql(select, key.expression) for key in keys]
    builder.add_state(grouped, _span(keys), written)
    distinct = next((m.call for m in select.measures if is_distinct(m.call)), window)
    node = builder.check(grouped, first if builder.mode(node) == "upsert" else distinct)
    above = PlanScope()
    for node_column in node.columns:
        above.add("", node_column.name, node_column)
    return node, above


def _check_times(builder: Builder, node: Node, keys: list[Expression], select: Select) -> None:
    """Reject state whose keys have several event times: Spark drops it by one."""
    times = {name for name, _ in builder.traits.of(node).watermarks}
    time_keys = [
        key for key in keys if (key.column or called_function(key) in _OF_TIME) and key.columns & times
    ]
    if len(time_keys) < 2:
        return
    names = " and ".join(f"`{key.column or key}`" for key in time_keys[:2])
    message = f"{names} are both event times, but Spark drops state by only one"
    remedy = "remove one of them, or use it as an aggregate (max(…)) or as text (cast(… as string))"
    second = next((key for key in time_keys[1:] if key.stop), select)
    builder.report_error("MS541", message, remedy, *span_offsets(second))


_OF_TIME = frozenset(("window", "session_window", "window_time"))


def _span(keys: tuple[SelectItem, ...]) -> Expression | None:
    """Return the span from the first group key to the last."""
    if not keys:
        return None
    starts, stops = [key.expression.start for key in keys], [key.expression.stop for key in keys]
    return replace(keys[0].expression, start=min(starts), stop=max(stops))


def _computed_keys(node: Node, keys: list[Item], models: tuple[NodeId, ...]) -> tuple[Node, list[Item]]:
    """Compute keys that are not columns below the aggregate; only a window stays in it."""
    items = identity_items(node)
    computed: list[Item] = []
    for key in keys:
        if key.expression.column is not None or is_window_call(key.expression):
            computed.append(key)
            continue
        name = unused_name(key.name, [item.name for item in items], "key")
        items.append(Item(name, key.expression))
        computed.append(
            Item(key.name, column_expression(name, key.expression.type, nullable=key.expression.nullable))
        )
    if len(items) > len(node.columns):
        node = Project(input=node, items=tuple(items), models=models)
    return node, computed
