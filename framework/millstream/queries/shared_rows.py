"""Rows that several parts of a query need by the same key: read, decoded and shuffled once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from millstream.core.expressions import quote_name
from millstream.core.node_id import NodeId
from millstream.plan.nodes import Dedupe, Node, ReadColumns, Repartition, Stateful, TemporalJoin
from millstream.plan.nodes.order import in_order
from millstream.queries.emit.steps import SqlView, Step, in_steps
from millstream.queries.emit.text import EmittedCte
from millstream.queries.emit.walk import EmitOptions
from millstream.queries.view_names import Views


class SharedCtes(Struct, frozen=True):
    names: Mapping[int, str] = {}
    """The relation that stands for a repartition, by its `id`."""
    ctes: tuple[EmittedCte, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def used(self) -> tuple[str, ...]:
        return (*self.names.values(), *(cte.name for cte in self.ctes), *(step.name for step in self.steps))


def repartition_hint(node: Repartition, partitions: int) -> str:
    keys = "".join(f", {quote_name(key)}" for key in node.keys)
    return f"repartition({partitions}{keys})" if keys else "repartition(1)"


def write_shared(
    repartitions: Sequence[Repartition],
    roots: Sequence[Node],
    partitions: int,
    views: Views,
    fails_by: Mapping[NodeId, ReadColumns],
    drops_by: frozenset[str],
) -> SharedCtes:
    """Write the shared rows as CTEs, or as views if steps read them too."""
    if not repartitions:
        return SharedCtes()
    as_views = any(isinstance(node, Dedupe | Stateful | TemporalJoin) for node in in_order(roots))
    names: dict[int, str] = {}
    ctes: list[EmittedCte] = []
    steps: list[Step] = []
    ids = {id(node) for node in repartitions}

    def leaf(node: Node) -> str | None:
        return names.get(id(node)) or views.leaf(node)

    for node in in_order(roots):
        if id(node) not in ids or not isinstance(node, Repartition):
            continue
        reserved = (*names.values(), *(cte.name for cte in ctes), *(step.name for step in steps))
        how = EmitOptions(
            shared={id(node): repartition_hint(node, partitions)},
            reserved=reserved,
            fails_by=fails_by,
            drops_by=drops_by,
        )
        stepped = in_steps([node], leaf, reads=views.of, how=how)
        steps += stepped.steps
        draft = stepped.emitted.finals[0].draft
        names[id(node)] = name = draft.sources[0].name
        if as_views and not any(step.name == name for step in stepped.steps):
            # Spark analyses a view once, so all steps over it share the same rows.
            steps.append(SqlView(name, stepped.emitted.statement()))
        else:
            ctes += stepped.emitted.ctes
    return SharedCtes(names, tuple(ctes), tuple(steps))
