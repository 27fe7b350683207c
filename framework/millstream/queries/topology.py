"""A compiled project's plan: as written, optimized, and as streaming queries.

`explain`, `docs`, `review` and the runner read this one value, so that all show exactly what runs.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct, structs
from msgspec.structs import replace

from millstream.compile.manifest import Compiled
from millstream.core.decoding import from_msgpack
from millstream.core.errors import MillstreamError
from millstream.core.gc_pause import collector_paused
from millstream.core.node_id import NodeId
from millstream.plan.from_sql.catalog import Catalog, ModelHints
from millstream.plan.from_sql.plan import PlannedModels, build_models
from millstream.plan.from_sql.unchanged_nodes import UnchangedModels, unchanged_models
from millstream.plan.nodes import Node, Output, Plan
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.context import PlanHints
from millstream.plan.optimizer.driver import OptimizedPlan, optimize_plan
from millstream.plan.optimizer.rule_selection import select_rules, switched_off
from millstream.plan.optimizer.rules import SHARING
from millstream.plan.optimizer.rules.delay_costly import delay_costly
from millstream.plan.time_ranges import TimeRange, in_range
from millstream.project.options import AT_LEAST_ONCE
from millstream.queries.bad_lines import bad_line_queries
from millstream.queries.lock import Lock
from millstream.queries.physical_plan import (
    ModelGroups,
    PhysicalPlan,
    dead_letters_query,
    grouped_queries,
    models_by_query,
    physical_plan,
    reduce_query,
)
from millstream.queries.query_cache import QueryCache
from millstream.queries.references import reference_outputs
from millstream.queries.values import PerBatch, PhysicalSettings, Query
from millstream.results.run_results import RunResults
from millstream.results.selectivity import MeasuredFigures, measure_figures, with_measured


class Topology(Struct, frozen=True):
    catalog: Catalog
    optimized: OptimizedPlan
    measured: MeasuredFigures = MeasuredFigures()
    """Figures from builds, used for those that YAML does not declare."""
    cache: QueryCache | None = None
    """Queries of an earlier plan, to reuse; with it, queries have no SQL and can only be compared."""
    unshared: frozenset[NodeId] = frozenset()
    """Models that share nothing with others."""
    roots: dict[NodeId, Node] = {}
    """By model: its rows as written, before they are stored."""
    deferred: tuple[Output, ...] = ()
    """What an environment reads from production, as written: their SQL is part of signatures."""

    @property
    def written(self) -> Plan:
        return self.optimized.written

    @property
    def plan(self) -> Plan:
        return self.optimized.plan

    @property
    def signed(self) -> Plan:
        """All that signatures follow, as written."""
        return Plan((*self.deferred, *self.written.outputs)) if self.deferred else self.written


def read_catalog(compiled: Compiled) -> Catalog:
    """Return the catalog of a project; raise an error if the columns of a model are unknown."""
    if not compiled.catalog:
        unknown = [structs.replace(diagnostic, severity="error") for diagnostic in compiled.diagnostics]
        raise MillstreamError(
            *([diagnostic for diagnostic in unknown if diagnostic.code == "MS414"] or unknown)
        )
    return from_msgpack(compiled.catalog, Catalog)


class _CatalogHints(Struct, frozen=True):
    """Decodes only the hints of a `Catalog`."""

    hints: ModelHints


def read_hints(compiled: Compiled) -> ModelHints:
    """Return the figures declared in YAML without decoding all models; empty if there is no plan."""
    if not compiled.catalog:
        return ModelHints()
    return from_msgpack(compiled.catalog, _CatalogHints).hints


def with_ancestors(catalog: Catalog, models: frozenset[NodeId]) -> Catalog:
    """Return a catalog reduced to some models."""
    return replace(catalog, models={id_: spec for id_, spec in catalog.models.items() if id_ in models})


def written_plan(catalog: Catalog) -> Plan:
    """Return the plan as written; the compiler has already reported its errors."""
    return written_models(catalog).plan


def written_models(catalog: Catalog, other: Topology | None = None) -> PlannedModels:
    """Return the plan as written, with the root of each model; models that `other` has too have its nodes."""
    same = (
        unchanged_models(catalog, other.catalog, other.roots, other.written) if other else UnchangedModels()
    )
    models = build_models(catalog, unchanged=same)
    if models.diagnostics:
        raise AssertionError(f"not reported by the compiler: {models.diagnostics[0].message}")
    return models


@collector_paused()
def compiled_topology(
    compiled: Compiled,
    results: RunResults | None = None,
    *,
    tests: bool = True,
    other: Topology | None = None,
) -> Topology:
    """Return the plan of a project without errors, with the optimizations of its target and models.

    `results` are those of the last build, for figures that YAML does not declare. Without `tests`, data tests
    that warn or fail are not applied before rows are stored. `other` is a plan of another version: nodes of
    models that are the same in both are taken from it, which saves time.
    """
    catalog = read_catalog(compiled)
    if not tests:
        models = {id_: spec.untested for id_, spec in catalog.models.items()}
        catalog = structs.replace(catalog, models=models)
    topology = topology_of(catalog, other=other)
    return with_figures(topology, measure_figures(results, topology.written, hints_of(catalog)))


def topology_of(
    catalog: Catalog,
    unshared: frozenset[NodeId] = frozenset(),
    cache: QueryCache | None = None,
    other: Topology | None = None,
) -> Topology:
    """Return the plan of a catalog without figures of builds; models that are `unshared` share nothing."""
    written = written_models(catalog, other)
    plan = with_own_nodes(written.plan, unshared) if unshared else written.plan
    built = tuple(output for output in plan.outputs if not catalog.defers(output.model))
    deferred = tuple(output for output in plan.outputs if catalog.defers(output.model))
    optimized = _optimized(catalog, Plan(built) if deferred else plan, unshared)
    return Topology(
        catalog, optimized, unshared=unshared, roots=written.roots, deferred=deferred, cache=cache
    )


def _optimized(catalog: Catalog, plan: Plan, unshared: frozenset[NodeId] = frozenset()) -> OptimizedPlan:
    optimization = catalog.target.get("optimization")
    rules = select_rules(optimization, (spec.options.get("optimize") for spec in catalog.models.values()))
    off = switched_off(((id_, spec.options) for id_, spec in catalog.models.items()), optimization)
    off |= {model: off.get(model, frozenset()) | SHARING for model in unshared}
    return optimize_plan(plan, rules, hints_of(catalog), off)


def with_figures(topology: Topology, figures: MeasuredFigures) -> Topology:
    """Order stacked filters by measured figures.

    All other rules have finished before, so that figures never change what is shared, split or named.
    A signature does not depend on the order of such filters (`queries.signature`), so no figure loses state.
    """
    before, optimization = topology.optimized, topology.catalog.target.get("optimization")
    models = topology.catalog.models.items()
    if not figures.keeps or delay_costly not in select_rules(optimization):
        return structs.replace(topology, measured=figures)
    hints = with_measured(hints_of(topology.catalog), figures, before.written)
    off = switched_off(((id_, spec.options) for id_, spec in models), optimization)
    last = optimize_plan(before.plan, (delay_costly,), hints, off)
    optimized = OptimizedPlan(before.written, last.plan, (*before.steps, *last.steps))
    return structs.replace(topology, optimized=optimized, measured=figures)


def with_apart(topology: Topology, models: frozenset[NodeId]) -> Topology:
    """Return the plan in which some models have nodes and queries of their own."""
    return with_figures(topology_of(topology.catalog, models, topology.cache, topology), topology.measured)


@collector_paused()
def physical_of(
    topology: Topology, lock: Lock | None = None, only: Collection[str] | None = None
) -> PhysicalPlan:
    """Return the queries that run the plan, or `only` some by name; `lock` has the groups with state."""
    references = reference_outputs(topology.plan, topology.catalog.references)
    settings = physical_settings(topology.catalog)
    # Of what an environment reads from production, the definitions count as well.
    tables = reference_outputs(topology.signed, topology.catalog.sources)
    physical = physical_plan(
        topology.plan, settings, lock, references, topology.signed, tables, only, cache=topology.cache
    )
    stored = (output for output in topology.plan.outputs if output.materialization.stored_as)
    letters = bad_line_queries(in_order(stored), topology.catalog.row_sources.values(), settings)
    chosen = (query for query in letters if only is None or query.name in only)
    return replace(physical, queries=(*physical.queries, *chosen))


@collector_paused()
def groups_of(topology: Topology, lock: Lock | None = None) -> ModelGroups:
    """Return which models share which query; much faster than planning the queries."""
    references = reference_outputs(topology.plan, topology.catalog.references)
    return grouped_queries(topology.plan, physical_settings(topology.catalog), lock, references)


@collector_paused()
def models_of_queries(topology: Topology) -> dict[str, frozenset[NodeId]]:
    """Return the models that each query may compute; much faster than planning the queries."""
    references = reference_outputs(topology.plan, topology.catalog.references)
    return models_by_query(topology.plan, physical_settings(topology.catalog), references)


def alone_of(
    topology: Topology,
    name: str,
    models: Collection[NodeId],
    lock: Lock | None = None,
    *,
    dead_letters: bool = False,
) -> Query:
    """Return some models of a stateless query as a separate query, with `dead_letters` if requested."""
    references = reference_outputs(topology.plan, topology.catalog.references)
    settings = physical_settings(topology.catalog)
    return reduce_query(topology.plan, settings, name, models, references, lock, dead_letters=dead_letters)


def range_query_of(topology: Topology, model: NodeId, part: TimeRange, closed_until: int) -> Query:
    """Return a separate query of a model for the rows of a range, to run as one batch.

    It sends and logs nothing. Windows that end after a time in milliseconds are not closed yet.
    """
    (written,) = (output for output in topology.written.outputs if output.model == model)
    plan = Plan((in_range(written, part, closed_until),))
    alone = structs.replace(topology, optimized=_optimized(topology.catalog, plan), deferred=(), cache=None)
    (query,) = (query for query in physical_of(alone).queries if model in query.stored)
    assert isinstance(query.deliver, PerBatch), f"{model} is not a table"
    deliveries = tuple(delivery for delivery in query.deliver.deliveries if delivery.table is not None)
    return replace(query, deliver=replace(query.deliver, deliveries=deliveries))


def dead_letters_query_of(topology: Topology, source: NodeId) -> Query:
    """Return a separate query that only sends the dead letters of a source."""
    references = reference_outputs(topology.plan, topology.catalog.references)
    return dead_letters_query(topology.plan, physical_settings(topology.catalog), source, references)


def physical_settings(catalog: Catalog) -> PhysicalSettings:
    hints = hints_of(catalog)
    optimization = catalog.target.get("optimization")
    off = switched_off(((id_, spec.options) for id_, spec in catalog.models.items()), optimization)
    return PhysicalSettings(
        rules=frozenset(rule.__name__ for rule in select_rules(optimization)),
        switched_off=off,
        grouping=catalog.target.get("grouping", "all"),
        shuffle_partitions=catalog.target.get("shuffle_partitions", 200),
        timezone=catalog.target.get("timezone", "UTC"),
        functions={name: function.digest for name, function in catalog.functions.items()},
        libraries=_libraries(catalog),
        logging=frozenset(name for name, function in catalog.functions.items() if function.logs),
        seeds={id_: seed.digest for id_, seed in catalog.seeds.items()},
        spark=catalog.target.get("spark", {}),
        isolation=catalog.target.get("isolation", {}),
        guarantee=catalog.target.get("guarantee", AT_LEAST_ONCE),
        table_locations=catalog.target.get("table_locations", {}),
        distinct=dict(hints.distinct),
        rows_per_second=dict(hints.rows_per_second),
    )


def _libraries(catalog: Catalog) -> dict[str, dict[str, str]]:
    """Return what each Python function can use, with versions: libraries, and Python itself."""
    python = {"Python": version} if (version := catalog.target.get("python")) else {}
    used = {name: function.libraries | python for name, function in catalog.functions.items()}
    return {name: libraries for name, libraries in used.items() if libraries}


_SHARING: Mapping[str, Literal["shared", "stateless", "separate"]] = {
    "all": "shared",
    "stateless": "stateless",
    "off": "separate",
}


def hints_of(catalog: Catalog, *, one_query: bool = False) -> PlanHints:
    """Return what the optimizer can't derive: the hints of YAML, and which queries run the plan.

    With `one_query`, it runs as one query, without topics between its models.
    """
    return PlanHints(
        keeps=catalog.hints.keeps,
        rows_per_second=catalog.hints.rows_per_second,
        distinct={
            (id_, name): count
            for id_, counts in catalog.hints.distinct.items()
            for name, count in counts.items()
        },
        costs={name: function.cost for name, function in catalog.functions.items()},
        returns={name: function.returns for name, function in catalog.functions.items()},
        queries="one" if one_query else _SHARING[str(catalog.target.get("grouping", "all"))],
        costly_calls=frozenset(name for name, function in catalog.functions.items() if function.in_python),
    )


def with_own_nodes(plan: Plan, models: Collection[NodeId]) -> Plan:
    """Return a plan in which no other output reads a node of some models."""
    return Plan(tuple(_copied(output) if output.model in models else output for output in plan.outputs))


def _copied(output: Output) -> Output:
    copies: dict[int, Node] = {}
    for node in in_order((output.input,)):
        inputs = [copies[id(input_node)] for input_node in node.inputs]
        models = tuple(dict.fromkeys((*node.models, output.model)))  # rules don't apply to nodes of its own
        copies[id(node)] = replace(node.with_inputs(*inputs) if inputs else node, models=models)
    return replace(output, input=copies[id(output.input)])
