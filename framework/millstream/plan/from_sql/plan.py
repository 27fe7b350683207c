"""Builds one plan from all models of a project."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.outputs.kinds import Sink
from millstream.plan.from_sql.catalog import Catalog, ModelSpec, PlanDiagnostic
from millstream.plan.from_sql.good_records import with_good_records
from millstream.plan.from_sql.model import build_model
from millstream.plan.from_sql.record_parts import (
    TIMESTAMP_OPTION,
    carry_sent_parts,
    relays_with_times,
    versions_of,
    with_relayed_time,
)
from millstream.plan.from_sql.row_sources import newest_rows, row_source_node
from millstream.plan.from_sql.shared_states import with_shared_states
from millstream.plan.from_sql.topics import can_relay, relay_of, sink_node, topic_node
from millstream.plan.from_sql.unchanged_nodes import UnchangedModels
from millstream.plan.from_sql.values import PlanContext, VersionStream
from millstream.plan.from_sql.versions import stored_versions, version_stream
from millstream.plan.nodes import (
    Filter,
    Item,
    Maintained,
    Node,
    Output,
    Plan,
    SeedScan,
    TableScan,
    TemporalJoin,
    Watermark,
)
from millstream.plan.nodes.order import in_order
from millstream.plan.traits import KnownTraits, Mode, Traits


class StandIn(Struct, frozen=True):
    """A model whose rows a test gives: the plan has its traits, but not its SQL."""

    model: ModelSpec
    traits: Traits


class PlannedModels(Struct, frozen=True):
    plan: Plan
    roots: dict[NodeId, Node]
    """By model: its rows before they are stored, over the nodes of the views that it reads. Which records are
    bad is not part of them."""
    diagnostics: list[PlanDiagnostic]


def build_plan(
    catalog: Catalog, stand_ins: Mapping[NodeId, StandIn] | None = None
) -> tuple[Plan, list[PlanDiagnostic]]:
    """Return the plan as written: nothing is moved, and only views are shared."""
    built = build_models(catalog, stand_ins)
    return built.plan, built.diagnostics


def build_models(
    catalog: Catalog,
    stand_ins: Mapping[NodeId, StandIn] | None = None,
    unchanged: UnchangedModels = UnchangedModels(),  # noqa: B008 - a value
) -> PlannedModels:
    """Return the plan as written, with the root of each model; `unchanged` models are not built again."""
    building = _Building(catalog, stand_ins or {}, unchanged)
    return PlannedModels(building.plan(), building.roots, building.diagnostics)


def traits_of_models(catalog: Catalog) -> dict[NodeId, Traits]:
    """Return the traits of each model as its readers see it."""
    building = _Building(catalog, {}, UnchangedModels())
    return {
        id_: traits_for_readers(spec, building.traits.of(building.roots[id_]))
        for id_, spec in catalog.models.items()
    }


def streamed_versions(catalog: Catalog) -> dict[NodeId, frozenset[NodeId]]:
    """Return the reference topics whose versions each model joins as of the time of a stream."""
    if not any(topic.versions for topic in catalog.topics.values()):
        return {}
    return {
        model: frozenset(
            leaf.relation
            for node in in_order((root,))
            if isinstance(node, TemporalJoin)
            for leaf in node.versions
        )
        for model, root in build_models(catalog).roots.items()
    }


def stored_rows_read(catalog: Catalog) -> dict[NodeId, frozenset[NodeId]]:
    """Return the append-only tables whose stored rows each model reads, instead of computing them."""
    if not any(spec.materialization.appends for spec in catalog.models.values()):
        return {}
    return {
        id_: frozenset(filter(catalog.is_appended, root.maintenance.relations))
        for id_, root in build_models(catalog).roots.items()
        if isinstance(root, Maintained)
    }


def traits_for_readers(spec: ModelSpec, traits: Traits) -> Traits:
    """Return the traits that readers see of a model whose SQL has these traits."""
    if spec.materialization.inlined:
        return traits
    if spec.materialization.at_rest:
        return Traits("upsert", spec.keys or traits.keys, below=("table changes",))
    # A topic is read row by row, whatever it was written from.
    mode: Mode = "upsert" if traits.mode == "upsert" else "append"
    return _of_topic(mode, spec.keys if mode == "upsert" else (), traits)


def relayed_traits(traits: Traits) -> Traits:
    """Return the traits that readers see of a view through its relay topic."""
    return _of_topic("append", (), traits)


def _of_topic(mode: Mode, keys: tuple[str, ...], traits: Traits) -> Traits:
    # Readers give the rows one watermark after the other (`sink_node`), and the last one counts.
    times = traits.watermarks[-1:]
    return Traits(mode, keys, None, times, ("watermark",) if times else ())


def zone_of(catalog: Catalog) -> str:
    """Return the time zone of the target's sessions."""
    return str(catalog.target.get("timezone") or "UTC")


class _Building:
    def __init__(
        self, catalog: Catalog, stand_ins: Mapping[NodeId, StandIn], unchanged: UnchangedModels
    ) -> None:
        self.catalog = catalog
        self.stand_ins = stand_ins
        self.unchanged = unchanged
        self.around = PlanContext(
            self.provide,
            self.can_rest,
            self._is_inlined,
            self.is_appended,
            catalog.keyed,
            self.relayed,
            catalog.store_of,
            zone_of(catalog),
            self.versions,
        )
        self.diagnostics: list[PlanDiagnostic] = []
        self.traits = KnownTraits()
        self.roots: dict[NodeId, Node] = {}
        self.passing: dict[NodeId, Node] = {}
        """By model that others read directly: the rows that its tests let through."""
        self.read: set[NodeId] = set()
        """Models that others read directly, without a topic or a table."""
        self.relays: set[NodeId] = set()
        """Views that some models read from relay topics."""
        self.leaves: dict[tuple[NodeId, bool], Node] = {}
        for spec in catalog.models.values():
            self._add(spec)

    def can_rest(self, relation: NodeId) -> bool:
        stand_in = self.stand_ins.get(relation)
        return stand_in.model.materialization.at_rest if stand_in else self.catalog.can_rest(relation)

    def is_appended(self, relation: NodeId) -> bool:
        stand_in = self.stand_ins.get(relation)
        return stand_in.model.materialization.appends if stand_in else self.catalog.is_appended(relation)

    def versions(self, relation: NodeId) -> VersionStream | None:
        return version_stream(self.catalog.topics.get(relation))

    def _add(self, spec: ModelSpec) -> None:
        if (root := self.unchanged.roots.get(spec.id)) is not None:
            self.roots[spec.id] = root
            self.read.update(filter(self._is_inlined, spec.reads))
            return
        # Each model has its own leaves; the optimizer decides what is shared.
        self.leaves = {}
        built = build_model(spec, self.around, self.traits)
        self.roots[spec.id] = built.root
        self.diagnostics += built.diagnostics
        self.relays.update(built.relays)

    def relayed(self, relation: NodeId) -> Node | None:
        spec = self.catalog.models.get(relation)
        if spec is None or not spec.materialization.inlined or not can_relay(spec.columns):
            return None
        return sink_node(relay_of(spec, self.catalog), self.traits.of(self.roots[relation]), relay=True)

    def _rows(self, relation: NodeId) -> Node:
        """Return the rows of a model that readers compute: without those that its tests keep out."""
        if relation not in self.passing:
            spec, root = self.catalog.models[relation], self.roots[relation]
            conditions = tuple(check.passed for check in spec.checks if check.keeps_out)
            if conditions:
                root = Filter(input=root, conditions=conditions, label=spec.name, models=(spec.id,))
            self.passing[relation] = root
        return self.passing[relation]

    def _is_inlined(self, relation: NodeId) -> bool:
        spec = self.catalog.models.get(relation)
        return spec is not None and spec.materialization.inlined

    def provide(self, relation: NodeId, at_rest: bool) -> Node:
        if self._is_inlined(relation) and not at_rest:
            self.read.add(relation)
            return self._rows(relation)
        key = (relation, at_rest)
        if key not in self.leaves:
            self.leaves[key] = self._leaf(relation, at_rest=at_rest)
        return self.leaves[key]

    def _leaf(self, relation: NodeId, *, at_rest: bool) -> Node:
        if stand_in := self.stand_ins.get(relation):
            return _stand_in_rows(stand_in, at_rest=at_rest)
        if topic := self.catalog.topics.get(relation):
            if topic.versions:
                return stored_versions(topic, at_rest=at_rest)
            if at_rest:
                columns = tuple(
                    column for column in topic_node(topic).columns if not column.name.startswith("_")
                )
                return TableScan(relation=relation, columns=columns, label=topic.name)
            return topic_node(topic)
        if source := self.catalog.row_sources.get(relation):
            return newest_rows(source, at_rest=at_rest) if source.unique_by else row_source_node(source)
        if seed := self.catalog.seeds.get(relation):
            return SeedScan(relation=relation, columns=seed.columns, label=seed.name)
        spec = self.catalog.models[relation]
        if spec.materialization.at_rest or at_rest:
            keys = () if at_rest else spec.keys
            return TableScan(
                relation=relation, columns=spec.columns, changes=not at_rest, keys=keys, label=spec.name
            )
        return sink_node(spec, self.traits.of(self.roots[relation]))

    def plan(self) -> Plan:
        outputs: list[Output] = []
        timed: set[NodeId] = set()
        """The relays of which a reader needs the time of records."""
        for spec in reversed(self.catalog.models.values()):  # each model after those that read it
            if spec.materialization.stored_as or spec.id not in self.read | self.relays:
                outputs.append(self._output(spec, self.roots[spec.id]))
                timed |= relays_with_times(outputs[-1])
            if spec.id in self.relays:
                relay = relay_of(spec, self.catalog)
                root = self._rows(spec.id)
                outputs.append(_output(relay, with_relayed_time(root) if spec.id in timed else root))
                timed |= relays_with_times(outputs[-1])
        outputs.reverse()
        if self.diagnostics:
            return Plan(tuple(outputs))
        carrying = [self.roots[output.model] for output in outputs if output.timed]
        outputs = with_shared_states(outputs, carrying)
        read = (self.roots[model] for model in self.catalog.models if model in self.read)
        views = [version for root in read for version in versions_of(root)]
        return Plan(with_good_records(outputs, views, self.catalog.topics, self.unchanged.outputs))

    def _output(self, spec: ModelSpec, root: Node) -> Output:
        """Return what stores a model; records of a sink have the time of what they come from."""
        sink = spec.materialization.sink
        if self.diagnostics or sink is None:
            return _output(spec, root)
        return carry_sent_parts(_output(spec, root), sink, dict(spec.extras).get(TIMESTAMP_OPTION))


def _stand_in_rows(stand_in: StandIn, *, at_rest: bool) -> Node:
    """Return the rows of a model as its readers see them; a test may omit columns, which are then NULL."""
    columns = tuple(replace(column, nullable=True) for column in stand_in.model.columns)
    spec, traits = replace(stand_in.model, columns=columns), stand_in.traits
    if traits.mode == "append" and not at_rest:
        topic = spec.materialization.topic or spec.name
        return sink_node(replace(spec, materialization=Sink(topic)), traits)
    changes = traits.mode == "upsert" and not at_rest
    node: Node = TableScan(
        relation=spec.id,
        columns=columns,
        changes=changes,
        keys=traits.keys if changes else (),
        stored=spec.materialization.keeps_rows,
        label=spec.name,
    )
    for time, delay in traits.watermarks if changes else ():
        node = Watermark(input=node, time=time, delay=delay, label=spec.name)
    return node


def _output(spec: ModelSpec, root: Node) -> Output:
    return Output(
        input=root,
        model=spec.id,
        materialization=spec.materialization,
        options=spec.options,
        extras=tuple(Item(name, expression) for name, expression in spec.extras if name != TIMESTAMP_OPTION),
        checks=spec.checks,
        metrics=spec.metrics,
        log=spec.log,
        label=spec.name,
        models=(spec.id,),
    )
