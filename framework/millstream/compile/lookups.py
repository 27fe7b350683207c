"""Checks that queries only look up tables of which they see new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import ModelSpec, PlanDiagnostic
from millstream.plan.from_sql.versions import selects_of
from millstream.plan.nodes import Maintained, Node, TraitsLeaf
from millstream.plan.nodes.order import in_order
from millstream.sql.query import Scan
from millstream.stores.registry import store_declaration


def check_lookups(spec: ModelSpec, root: Node, store_of: Callable[[NodeId], str]) -> list[PlanDiagnostic]:
    """Return the tables that a query would only see as they were when it started."""
    if isinstance(root, Maintained):
        return []  # it chooses the versions that it reads
    looked_up = dict.fromkeys(_looked_up(root))
    return [
        _diagnostic(spec, relation, store_declaration(store_of(relation)).title)
        for relation in looked_up
        if relation.kind == "model" and not store_declaration(store_of(relation)).lookups
    ]


def _looked_up(root: Node) -> Iterator[NodeId]:
    for node in in_order((root,)):
        if isinstance(node, TraitsLeaf) and node.looks_up:
            yield node.looks_up
        for expression in node.expressions:
            yield from expression.reads


def _diagnostic(spec: ModelSpec, relation: NodeId, title: str) -> PlanDiagnostic:
    message = f"'{relation.name}' is stored in {title}: a query would not see rows that come after its start"
    start, stop = _span(spec.query, relation)
    remedy = f"give '{relation.name}' another store"
    return PlanDiagnostic("MS626", message, remedy, spec.id, start, stop)


def _span(query: Struct, relation: NodeId) -> tuple[int, int]:
    """Return where a query first names a relation in FROM; its beginning if only expressions read it."""
    named = (
        (part.start, part.stop)
        for select in selects_of(query)
        for part in select.relations
        if isinstance(part.input, Scan) and part.input.relation == relation
    )
    return next(named, (0, 0))
