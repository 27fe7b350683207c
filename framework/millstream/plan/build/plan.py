"""All models of a project become one plan."""

from __future__ import annotations

from millstream.plan.build.catalog import Catalog, ModelSpec, PlanProblem
from millstream.plan.build.keys import checked_keys
from millstream.plan.build.model import Around, ModelBuilder
from millstream.plan.build.topics import sink_node, topic_node
from millstream.plan.nodes import Item, Node, Output, Plan, SeedScan, TableScan
from millstream.plan.traits import KnownTraits


def build_plan(catalog: Catalog) -> tuple[Plan, list[PlanProblem]]:
    """Return the plan as written: nothing is shared but what a model names, nothing is moved."""
    building = _Building(catalog)
    for model in catalog.models.values():
        building.add(model)
    return building.plan(), building.problems


def model_roots(catalog: Catalog) -> dict[str, Node]:
    """Return what each model holds, before it is stored anywhere; over views, the very nodes of these."""
    building = _Building(catalog)
    for model in catalog.models.values():
        building.add(model)
    return building.roots


class _Building:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.around = Around(self.provide, catalog.can_rest, catalog.keyed)
        self.problems: list[PlanProblem] = []
        self.traits = KnownTraits()
        self.roots: dict[str, Node] = {}
        self.read: set[str] = set()
        """Models that others read as they are, without a topic or a table between."""
        self.leaves: dict[tuple[str, bool], Node] = {}

    def add(self, model: ModelSpec) -> None:
        # Each model reads for itself: that one read serves several is for the optimizer to see.
        self.leaves = {}
        builder = ModelBuilder(model, self.around, self.traits)
        root = builder.build()
        if not builder.problems:
            root = checked_keys(builder, root)
        self.roots[model.id] = root
        self.problems += builder.problems

    def provide(self, relation: str, at_rest: bool) -> Node:
        model = self.catalog.models.get(relation)
        if model is not None and model.kind == "view":
            self.read.add(relation)
            return self.roots[relation]
        key = (relation, at_rest)
        if key not in self.leaves:
            self.leaves[key] = self._leaf(relation, at_rest=at_rest)
        return self.leaves[key]

    def _leaf(self, relation: str, *, at_rest: bool) -> Node:
        if topic := self.catalog.topics.get(relation):
            if at_rest:
                columns = tuple(c for c in topic_node(topic).columns if not c.name.startswith("_"))
                return TableScan(relation=relation, columns=columns, label=topic.name)
            return topic_node(topic)
        if seed := self.catalog.seeds.get(relation):
            return SeedScan(relation=relation, columns=seed.columns, label=seed.name)
        model = self.catalog.models[relation]
        if model.kind == "table":
            keys = () if at_rest else model.keys
            return TableScan(
                relation=relation, columns=model.columns, changes=not at_rest, keys=keys, label=model.name
            )
        return sink_node(model, self.traits.of(self.roots[relation]))

    def plan(self) -> Plan:
        outputs: list[Output] = []
        for model in self.catalog.models.values():
            if model.kind == "view" and model.id in self.read:
                continue
            outputs.append(_output(model, self.roots[model.id]))
        return Plan(tuple(outputs))


def _output(model: ModelSpec, root: Node) -> Output:
    return Output(
        input=root,
        model=model.id,
        kind=model.kind,
        keys=model.keys,
        options=model.options
        | ({"topic": model.topic, "format": model.format} if model.kind == "sink" else {}),
        extras=tuple(Item(name, expression) for name, expression in model.extras),
        label=model.name,
        models=(model.id,),
    )
