"""Which queries run for the models that are asked for."""

from __future__ import annotations

from millstream.physical.values import Query
from millstream.runner.checkpoints import outputs_of
from millstream.runner.values import Job


def chosen(job: Job) -> list[Query]:
    """Return the queries of the models that are asked for, and those that keep what these look up."""
    if job.models is None:
        return list(job.physical.queries)
    found = makers(job, job.models)
    read = {read.relation for query in found for read in query.reads}
    kept = [q for q in job.physical.queries if read.intersection(q.models) and q not in found]
    return [q for q in kept if any(model.startswith("source.") for model in q.models)] + found


def makers(job: Job, models: frozenset[str]) -> list[Query]:
    """Return the queries that store some models, or have them within as views.

    What another query stores is only read.
    """
    stored = {model for each in job.physical.queries for model in outputs_of(each)}
    return [
        query
        for query in job.physical.queries
        if models.intersection(outputs_of(query)) or models.intersection(query.models) - stored
    ]
