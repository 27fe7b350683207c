"""A compiled project's plan: as written, as optimized, and as the queries that run it.

`explain`, `docs`, `review` and the runner read this one value, so that none can tell another thing than runs.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec
from msgspec import Struct, structs

from millstream.collector import collector_paused
from millstream.errors import MillstreamError
from millstream.manifest import Compiled
from millstream.measured import Measured, measured, with_measured
from millstream.optimizer.choose import chosen, switched_off
from millstream.optimizer.context import Hints
from millstream.optimizer.driver import Optimized, optimize
from millstream.optimizer.rules.delay_costly import delay_costly
from millstream.physical.lock import Lock
from millstream.physical.plan import (
    Groups,
    Physical,
    alone,
    dead_letters_query,
    grouped_queries,
    physical_plan,
)
from millstream.physical.query_cache import QueryCache
from millstream.physical.references import reference_outputs
from millstream.physical.values import PhysicalSettings, Query
from millstream.plan.from_sql.catalog import Catalog
from millstream.plan.from_sql.catalog import Hints as CatalogHints
from millstream.plan.from_sql.plan import Models, build_models
from millstream.plan.nodes import Node, Plan
from millstream.results import RunResults


class Topology(Struct, frozen=True):
    catalog: Catalog
    optimized: Optimized
    measured: Measured = Measured()
    """What builds counted: used where YAML says nothing."""
    kept: QueryCache | None = None
    """Queries that were planned before."""
    roots: dict[str, Node] = {}
    """By model: what it holds as written, before it is stored anywhere."""

    @property
    def written(self) -> Plan:
        return self.optimized.written

    @property
    def plan(self) -> Plan:
        return self.optimized.plan


def read_catalog(compiled: Compiled) -> Catalog:
    """Return what the plan is made of; there is no plan while the columns of a model are not known."""
    if not compiled.catalog:
        unknown = [structs.replace(d, severity="error") for d in compiled.diagnostics]
        raise MillstreamError(*([each for each in unknown if each.code == "MS414"] or unknown))
    return msgspec.msgpack.decode(compiled.catalog, type=Catalog)


class _HintsOnly(Struct, frozen=True):
    """A `Catalog` of which nothing else is read."""

    hints: CatalogHints


def read_hints(compiled: Compiled) -> CatalogHints:
    """Return what YAML says of figures, without reading all models; nothing where there is no plan."""
    if not compiled.catalog:
        return CatalogHints()
    return msgspec.msgpack.decode(compiled.catalog, type=_HintsOnly).hints


def written_plan(catalog: Catalog) -> Plan:
    """Return the plan as written; the compiler has told all that is wrong with it."""
    return written_models(catalog).plan


def written_models(catalog: Catalog) -> Models:
    """Return the plan as written, and what of it each model is."""
    found = build_models(catalog)
    if found.problems:
        raise AssertionError(f"not told by the compiler: {found.problems[0].message}")
    return found


@collector_paused()
def compiled_topology(
    compiled: Compiled, results: RunResults | None = None, *, tests: bool = True
) -> Topology:
    """Return the plan of a project without errors, optimized as its target and its models say.

    `results` are those of the last build; what builds counted is used where YAML says nothing. Without
    `tests`, rows are stored that a data test would only tell of, or stop at.
    """
    catalog = read_catalog(compiled)
    if not tests:
        models = {id_: spec.untested for id_, spec in catalog.models.items()}
        catalog = structs.replace(catalog, models=models)
    written = written_models(catalog)
    plan = written.plan
    wanted = catalog.target.get("optimization")
    rules = chosen(wanted, (model.options.get("optimize") for model in catalog.models.values()))
    off = switched_off(((id_, model.options) for id_, model in catalog.models.items()), wanted)
    declared = hints_of(catalog)
    found = Topology(catalog, optimize(plan, rules, declared, off), roots=written.roots)
    return using(found, measured(results, plan, declared))


def using(topology: Topology, found: Measured) -> Topology:
    """Order filters that stand on each other by what builds counted.

    All rules have come to their end before, so that nothing is shared, parted or named otherwise for it; and
    a signature says nothing of the order of such filters (`physical.signature`): no figure loses a state.
    """
    before, wanted = topology.optimized, topology.catalog.target.get("optimization")
    models = topology.catalog.models.items()
    if not found.keeps or delay_costly not in chosen(wanted):
        return structs.replace(topology, measured=found)
    hints = with_measured(hints_of(topology.catalog), found, before.written)
    off = switched_off(((id_, model.options) for id_, model in models), wanted)
    last = optimize(before.plan, (delay_costly,), hints, off)
    optimized = Optimized(before.written, last.plan, (*before.steps, *last.steps))
    return structs.replace(topology, optimized=optimized, measured=found)


@collector_paused()
def physical_of(
    topology: Topology, lock: Lock | None = None, only: Collection[str] | None = None
) -> Physical:
    """Return the queries that run the plan, or `only` some by name; `lock` has the groups with state."""
    references = reference_outputs(topology.plan, topology.catalog.topics)
    settings = physical_settings(topology.catalog)
    return physical_plan(
        topology.plan, settings, lock, references, topology.written, only, cache=topology.kept
    )


@collector_paused()
def groups_of(topology: Topology, lock: Lock | None = None) -> Groups:
    """Return which models share which query, which takes far less time than the queries."""
    references = reference_outputs(topology.plan, topology.catalog.topics)
    return grouped_queries(topology.plan, physical_settings(topology.catalog), lock, references)


def alone_of(topology: Topology, name: str, models: Collection[str], *, dead_letters: bool = False) -> Query:
    """Return some models of a query without state as a query of their own; `letters`: with dead letters."""
    references = reference_outputs(topology.plan, topology.catalog.topics)
    settings = physical_settings(topology.catalog)
    return alone(topology.plan, settings, name, models, references, dead_letters=dead_letters)


def dead_letters_query_of(topology: Topology, source: str) -> Query:
    """Return what sends the dead letters of a source as a query of its own, without any model."""
    references = reference_outputs(topology.plan, topology.catalog.topics)
    return dead_letters_query(topology.plan, physical_settings(topology.catalog), source, references)


def physical_settings(catalog: Catalog) -> PhysicalSettings:
    hints = hints_of(catalog)
    wanted = catalog.target.get("optimization")
    off = switched_off(((id_, model.options) for id_, model in catalog.models.items()), wanted)
    return PhysicalSettings(
        rules=frozenset(rule.__name__ for rule in chosen(wanted)),
        switched_off=off,
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
