"""Chooses the queries that run for the selected models."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.core.node_id import NodeId
from millstream.queries.values import Query


def choose_queries(queries: Sequence[Query], models: frozenset[NodeId] | None) -> list[Query]:
    """Return the queries that store some models, with what belongs to these; None for all.

    A reference topic that they look up has a query of its own. So do the dead letters of a source that they
    read, unless a query that also stores models sends them.
    """
    if models is None:
        return list(queries)
    chosen = [query for query in queries if models.intersection(query.stored)]
    read = {read.relation for query in chosen for read in query.reads}
    also = [query for query in queries if read.intersection(query.models) and query not in chosen]
    references = [query for query in also if any(model.kind == "source" for model in query.models)]
    followed = {source.relation for query in (*chosen, *references) for source in query.sources}
    letters = [query for query in queries if not query.stored and query.dead_letter_source in followed]
    return [*references, *chosen, *(query for query in letters if query not in references)]


def senders_of_letters(queries: Sequence[Query], chosen: Sequence[Query]) -> dict[NodeId, Query]:
    """Return the sources that chosen queries read, whose dead letters a query sends that is not chosen."""
    followed = {source.relation for query in chosen for source in query.sources}
    return {
        query.dead_letter_source: query
        for query in queries
        if query.dead_letter_source in followed and query not in chosen
    }


def computing_queries(queries: Sequence[Query], models: frozenset[NodeId]) -> list[Query]:
    """Return the queries that store some models, or compute those that no query stores."""
    stored = {model for query in queries for model in query.stored}
    return [
        query
        for query in queries
        if models.intersection(query.stored) or models.intersection(query.models) - stored
    ]
