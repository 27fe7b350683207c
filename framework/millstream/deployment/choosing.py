"""Which queries run for the models that are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.physical.values import Query


def chosen(queries: Sequence[Query], models: frozenset[str] | None) -> list[Query]:
    """Return the queries of some models, and those that keep what these look up; None: all."""
    if models is None:
        return list(queries)
    found = makers(queries, models)
    read = {read.relation for query in found for read in query.reads}
    also = [query for query in queries if read.intersection(query.models) and query not in found]
    return [q for q in also if any(model.startswith("source.") for model in q.models)] + found


def makers(queries: Sequence[Query], models: frozenset[str]) -> list[Query]:
    """Return the queries that store some models, or have them within as views.

    What another query stores is only read.
    """
    stored = {model for each in queries for model in each.stored}
    return [
        query
        for query in queries
        if models.intersection(query.stored) or models.intersection(query.models) - stored
    ]
