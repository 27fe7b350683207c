"""A job whose queries read the topics that match the patterns of its sources."""

from __future__ import annotations

from msgspec.structs import replace

from millstream.deploy.values import Job
from millstream.kafka.clients import Admin
from millstream.kafka.topic_patterns import match_catalog
from millstream.queries.topology import physical_of, topology_of, with_figures


def match_job(job: Job, admin: Admin) -> Job:
    """Return the same job if no topic is new to it; its queries are the same otherwise, too."""
    catalog = match_catalog(job.catalog, admin)
    if catalog == job.catalog:
        return job
    before = job.topology
    topology = with_figures(topology_of(catalog, before.unshared, before.cache), before.measured)
    return replace(job, topology=topology, physical=physical_of(topology, job.lock))
