"""Former models of a query: its checkpoint still has their state, so their SQL stays in its plan.

A model leaves a query when it is removed, or rebuilt on its own. Spark finds states by their position, so the
states of the other models only fit if those of the former ones stay where they are. A former model gets no
rows and yields none; where it shares a state with other models, that state stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from millstream.core.expressions import Expression
from millstream.core.node_id import NodeId
from millstream.core.types import BOOLEAN
from millstream.plan.nodes import Filter, Node, Output, Repartition
from millstream.plan.nodes.order import in_order
from millstream.queries.values import QuerySignature, StatefulOperator

NEVER = Expression(("spark_partition_id() < 0",), BOOLEAN, nullable=False, deterministic=False)
"""A condition that never holds, which Catalyst can't know: it would remove the state below it."""


def former_id(query: str, id_: NodeId) -> NodeId:
    """Return the id of a former model of a query, or of a view that it reads."""
    return NodeId("former", f"{query}:{id_.name}")


def is_former(model: NodeId) -> bool:
    return model.kind == "former"


def home_of(model: NodeId) -> str:
    """Return the query of a former model."""
    return model.name.partition(":")[0]


def input_without_rows(outputs: Sequence[Output]) -> dict[int, Node]:
    """Return nodes of outputs that get none of the shared rows, by the `id` of those that they replace."""
    new: dict[int, Node] = {}
    for node in in_order(outputs):
        inputs = [new.get(id(child), child) for child in node.inputs]
        if any(one is not other for one, other in zip(inputs, node.inputs, strict=True)):
            new[id(node)] = node.with_inputs(*inputs)
        if isinstance(node, Repartition):
            new[id(node)] = Filter(input=new.get(id(node), node), conditions=(NEVER,))
    return new


def of_models(signature: QuerySignature, models: frozenset[NodeId]) -> QuerySignature:
    """Return the part of a signature that is about some of its models."""
    return replace(
        signature,
        operators=tuple(operator for operator in signature.operators if _of(operator, models)),
        branches=_branches(signature.branches, models),
        stored=tuple(stored for stored in signature.stored if stored.model in models),
        former=(
            *signature.former,
            *(operator for operator in signature.operators if not _of(operator, models)),
        ),
    )


def _of(operator: StatefulOperator, models: frozenset[NodeId]) -> bool:
    # Older records don't say which models read a state.
    return not operator.models or not models.isdisjoint(operator.models)


def _branches(branches: Sequence[str], models: frozenset[NodeId]) -> tuple[str, ...]:
    names = frozenset(map(str, models))
    remaining = (", ".join(m for m in branch.split(", ") if m in names) for branch in branches)
    return tuple(branch for branch in remaining if branch)
