"""Finds models that are newer than the state that they would share: it has not seen all of their rows."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from millstream.deployment.records import Deployed
from millstream.physical.lock import Lock
from millstream.physical.plan import Groups
from millstream.topology import Topology, groups_of, topology_of, with_figures


class Running(Struct, frozen=True):
    """The groups with state that run, and which query stores each model."""

    lock: Lock | None
    homes: Mapping[str, str]


def running_in(deployed: Deployed) -> Running:
    records = deployed.records.items()
    started = [(name, record) for name, record in records if name not in deployed.never_started]
    return Running(deployed.lock, {model: name for name, record in started for model in record.stored})


def with_newer_apart(topology: Topology, running: Running) -> Topology:
    """Return the plan in which newer models have nodes and queries of their own.

    They start with the first records of their sources, and the running query continues as it is.
    """
    if running.lock is None or not running.lock.groups:
        return topology
    newer = _newer(groups_of(topology, running.lock), running.lock, running.homes)
    if not newer:
        return topology
    return with_figures(topology_of(topology.catalog, newer), topology.measured)


def _newer(groups: Groups, lock: Lock, homes: Mapping[str, str]) -> frozenset[str]:
    found: set[str] = set()
    for group in lock.groups:
        models = groups.models.get(group.name, ())
        others = [model for model in models if homes.get(model) != group.name]
        if len(others) < len(models):
            found.update(others)
    return frozenset(found)
