"""Rejects constructs of a model's SQL that can't run over a stream."""

from __future__ import annotations

from functools import partial

from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.from_sql.builder import Builder
from millstream.plan.refusals import REFUSALS
from millstream.sql.query import Form, OpaqueBody, SqlQuery


def check_forms(builder: Builder, query: SqlQuery) -> None:
    """Report constructs that can't run over a stream, one error each."""
    opaque = query.body if isinstance(query.body, OpaqueBody) else None
    refused = [(form, relation) for form in query.forms if (relation := _stream_of(builder, form, opaque))]
    # Opaque SQL that is caused by one of these is not a separate error.
    first = [pair for pair in refused if not REFUSALS[pair[0].kind].only_opaque]
    if any(form.kind == "recursion" for form, _ in first):
        first = [pair for pair in first if pair[0].kind != "union"]  # the one within a recursion
    for form, relation in first or (refused if opaque else []):
        refusal = REFUSALS[form.kind]
        message = refusal.message.format(
            name=relation.name,
            kind="a stream" if _is_stream(builder, relation) else "a view",
            reason=opaque.reasons[0].partition(" (line ")[0] if opaque else "",
        )
        builder.report_error(refusal.code, message, refusal.help, form.start, form.stop)


def _stream_of(builder: Builder, form: Form, opaque: OpaqueBody | None) -> NodeId:
    """Return a stream that a construct reads; `NO_NODE` if all of its rows are at rest."""
    test = _is_not_stored if form.kind == "subquery" else _is_stream if opaque else _changes
    moves = partial(test, builder)
    if form.kind == "union":
        left, right = (next(filter(moves, reads), NO_NODE) for reads in (form.reads, form.others))
        return NO_NODE if bool(left) == bool(right) else left or right
    if form.others and not any(map(moves, form.others)):
        return NO_NODE
    return next(filter(moves, form.reads), NO_NODE)


def _is_not_stored(builder: Builder, relation: NodeId) -> bool:
    """Return whether a relation is not stored, so that a subquery can't read it."""
    return not builder.around.can_rest(relation)


def _is_stream(builder: Builder, relation: NodeId) -> bool:
    """Return whether a relation is a stream that can't be read at rest."""
    return not builder.around.can_rest(relation) and _changes(builder, relation)


def _changes(builder: Builder, relation: NodeId) -> bool:
    return builder.mode(builder.relation(relation, at_rest=False)) != "static"
