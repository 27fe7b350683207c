"""Constructs of a model's SQL that can't look at the rows of a stream."""

from __future__ import annotations

from functools import partial

from millstream.plan.from_sql.builder import Builder
from millstream.plan.refusals import REFUSALS
from millstream.sql.query import Form, OpaqueBody, Query


def check_forms(builder: Builder, query: Query) -> None:
    """Refuse what can't look at the rows of a stream; each construct is one mistake."""
    whole = query.body if isinstance(query.body, OpaqueBody) else None
    found = [(form, relation) for form in query.forms if (relation := _stream_of(builder, form, whole))]
    # What is not understood because of one of these is no mistake of its own.
    first = [each for each in found if not REFUSALS[each[0].kind].only_opaque]
    if any(form.kind == "recursion" for form, _ in first):
        first = [each for each in first if each[0].kind != "union"]  # the one that a recursion consists of
    for form, relation in first or (found if whole else []):
        refusal = REFUSALS[form.kind]
        message = refusal.message.format(
            name=relation.partition(".")[2],
            kind="a stream" if _comes(builder, relation) else "a view",
            reason=whole.reasons[0].partition(" (line ")[0] if whole else "",
        )
        builder.problem(refusal.code, message, refusal.remedy, form.start, form.stop)


def _stream_of(builder: Builder, form: Form, whole: OpaqueBody | None) -> str:
    """Return a stream that a form looks at; nothing where all of its rows are at rest."""
    test = _asks if form.kind == "subquery" else _comes if whole else _moves
    moves = partial(test, builder)
    if form.kind == "union":
        left, right = (next(filter(moves, reads), "") for reads in (form.reads, form.others))
        return "" if bool(left) == bool(right) else left or right
    if form.others and not any(map(moves, form.others)):
        return ""
    return next(filter(moves, form.reads), "")


def _asks(builder: Builder, relation: str) -> bool:
    """Tell whether a subquery would have to ask a relation that is not stored."""
    return not builder.around.can_rest(relation)


def _comes(builder: Builder, relation: str) -> bool:
    """Tell whether a relation is a stream, which is never at rest."""
    return not builder.around.can_rest(relation) and _moves(builder, relation)


def _moves(builder: Builder, relation: str) -> bool:
    return builder.mode(builder.relation(relation, at_rest=False)) != "static"
