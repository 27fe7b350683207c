"""Finds the models that have the same nodes in two plans: equal SQL over equal relations."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.nodes import Node, Output, Plan
from millstream.plan.nodes.order import in_order

_EVERYWHERE = ("topics", "row_sources", "seeds", "functions", "target", "project", "environment")
"""The parts of a catalog that any model may depend on."""


class UnchangedModels(Struct, frozen=True):
    """What the plan of another catalog has for models that are the same in both."""

    roots: Mapping[NodeId, Node] = {}
    """By model: its rows before they are stored."""
    outputs: Mapping[NodeId, Output] = {}
    """By model; a view or its relay topic may be stored in only one of the plans."""


def unchanged_models(
    catalog: Catalog, other: Catalog, roots: Mapping[NodeId, Node], written: Plan
) -> UnchangedModels:
    """Return the nodes of unchanged models in the plan of the other catalog."""
    if any(getattr(catalog, name) != getattr(other, name) for name in _EVERYWHERE):
        return UnchangedModels()
    unchanged: dict[NodeId, Node] = {}
    views: set[int] = set()
    """The `id`s of the roots of unchanged views."""
    for id_, spec in catalog.models.items():  # each model after those that it reads
        models = [relation for relation in spec.reads if relation in catalog.models]
        if spec != other.models.get(id_) or not unchanged.keys() >= set(models):
            continue
        inlined = {id(unchanged[model]) for model in models if catalog.models[model].materialization.inlined}
        # A view that is read from a relay topic is stored for this model.
        if inlined.issubset(_views_read(roots[id_], views)):
            unchanged[id_] = roots[id_]
            if spec.materialization.inlined:
                views.add(id(roots[id_]))
    return UnchangedModels(
        unchanged, {output.model: output for output in written.outputs if output.model in unchanged}
    )


def _views_read(root: Node, views: Container[int]) -> Iterator[int]:
    """Yield the `id`s of the roots of views that a model is built over."""
    if id(root) in views:
        yield id(root)
    for node in in_order((root,), views):
        yield from (id(input_node) for input_node in node.inputs if id(input_node) in views)
