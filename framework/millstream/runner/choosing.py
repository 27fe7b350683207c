"""Which queries run for the models that are asked for."""

from __future__ import annotations

from millstream.physical.values import Query
from millstream.runner.checkpoints import outputs_of
from millstream.runner.values import Job


def chosen(job: Job) -> list[Query]:
    """Return the queries of the models that are asked for, and those that keep what these look up."""
    if job.models is None:
        return list(job.physical.queries)
    found = [query for query in job.physical.queries if job.models & makes(job, query)]
    read = {read.relation for query in found for read in query.reads}
    kept = [q for q in job.physical.queries if read.intersection(q.models) and q not in found]
    return [q for q in kept if any(model.startswith("source.") for model in q.models)] + found


def makes(job: Job, query: Query) -> frozenset[str]:
    """Return the models that a query stores, and views within it; what other queries store is only read."""
    stored = {model for each in job.physical.queries for model in outputs_of(each)}
    return frozenset(outputs_of(query)) | (frozenset(query.models) - stored)
