"""Chooses the queries that run for the selected models."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.physical.values import Query


def choose_queries(queries: Sequence[Query], models: frozenset[str] | None) -> list[Query]:
    """Return the queries that store some models, and their reference topics; None for all."""
    if models is None:
        return list(queries)
    found = [query for query in queries if models.intersection(query.stored)]
    read = {read.relation for query in found for read in query.reads}
    also = [query for query in queries if read.intersection(query.models) and query not in found]
    return [q for q in also if any(model.startswith("source.") for model in q.models)] + found


def computing_queries(queries: Sequence[Query], models: frozenset[str]) -> list[Query]:
    """Return the queries that store some models, or compute those that no query stores."""
    stored = {model for each in queries for model in each.stored}
    return [
        query
        for query in queries
        if models.intersection(query.stored) or models.intersection(query.models) - stored
    ]
