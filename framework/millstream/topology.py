"""A compiled project's plan: as written, as optimized, and as the queries that run it.

`explain`, `docs`, `review` and the runner read this one value, so that none can tell another thing than runs.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from millstream.manifest import Compiled
from millstream.optimizer.choose import chosen, switched_off
from millstream.optimizer.context import Hints
from millstream.optimizer.driver import Optimized, optimize
from millstream.physical.lock import Lock
from millstream.physical.plan import Physical, physical_plan
from millstream.physical.references import kept_references
from millstream.physical.values import PhysicalSettings
from millstream.plan.build.catalog import Catalog
from millstream.plan.build.plan import build_plan
from millstream.plan.nodes import Plan


class Topology(Struct, frozen=True):
    catalog: Catalog
    optimized: Optimized

    @property
    def written(self) -> Plan:
        return self.optimized.written

    @property
    def plan(self) -> Plan:
        return self.optimized.plan


def read_catalog(compiled: Compiled) -> Catalog:
    return msgspec.msgpack.decode(compiled.catalog, type=Catalog)


def written_plan(catalog: Catalog) -> Plan:
    """Return the plan as written; the compiler has told all that is wrong with it."""
    plan, problems = build_plan(catalog)
    if problems:
        raise AssertionError(f"not told by the compiler: {problems[0].message}")
    return plan


def compiled_topology(compiled: Compiled) -> Topology:
    """Return the plan of a project without errors, optimized as its target and its models say."""
    catalog = read_catalog(compiled)
    plan = written_plan(catalog)
    wanted = catalog.target.get("optimization")
    rules = chosen(wanted, (model.options.get("optimize") for model in catalog.models.values()))
    off = switched_off(((id_, model.options) for id_, model in catalog.models.items()), wanted)
    return Topology(catalog, optimize(plan, rules, hints_of(catalog), off))


def physical_of(topology: Topology, lock: Lock | None = None) -> Physical:
    """Return the queries that run the plan; `lock` has the groups whose state exists."""
    references = kept_references(topology.plan, topology.catalog.topics)
    return physical_plan(topology.plan, physical_settings(topology.catalog), lock, references)


def physical_settings(catalog: Catalog) -> PhysicalSettings:
    hints = hints_of(catalog)
    return PhysicalSettings(
        grouping=catalog.target.get("grouping", "all"),
        shuffle_partitions=catalog.target.get("shuffle_partitions", 200),
        timezone=catalog.target.get("timezone", "UTC"),
        functions={name: function.digest for name, function in catalog.functions.items()},
        distinct=dict(hints.distinct),
        rows_per_second=dict(hints.rows_per_second),
    )


def hints_of(catalog: Catalog) -> Hints:
    """Return what YAML says that the optimizer can't know."""
    return Hints(
        keeps=catalog.hints.keeps,
        rows_per_second=catalog.hints.rows_per_second,
        distinct={
            (id_, name): count
            for id_, counts in catalog.hints.distinct.items()
            for name, count in counts.items()
        },
        costs={name: function.cost for name, function in catalog.functions.items()},
        returns={name: function.returns for name, function in catalog.functions.items()},
    )
