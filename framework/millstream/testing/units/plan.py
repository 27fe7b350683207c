"""The plan of a unit test: the project's plan, restricted to what the tested model needs."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NO_NODE, NodeId
from millstream.plan.durations import duration_millis
from millstream.plan.from_sql.plan import build_plan
from millstream.plan.nodes import Output, Plan, TopicScan, Watermark
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rule_selection import select_rules, switched_off
from millstream.plan.optimizer.rules import RULES
from millstream.plan.optimizer.rules.bypass_topics import bypass_topics
from millstream.plan.traits import Traits, traits_of
from millstream.queries.physical_plan import physical_plan
from millstream.queries.references import reference_outputs
from millstream.queries.topology import hints_of, physical_settings
from millstream.queries.values import Query
from millstream.testing.units.relations import UnitRelations
from millstream.testing.units.values import UnitTestCase


class UnitTestPlan(Struct, frozen=True):
    query: Query
    output: Output
    written: Plan
    """Before any rule."""
    traits: Traits
    dead_letters: tuple[Query, ...] = ()
    """Other queries that write the dead letters of records that can't be decoded."""
    references: Mapping[NodeId, Query] = {}
    """For each reference topic, the query that stores its newest rows."""
    delay: int = 0
    """The delay of the watermark in milliseconds."""

    @property
    def closes(self) -> bool:
        """Tell whether rows can be emitted when event time advances without new input.

        A build lets Spark run batches without input only in this mode.
        """
        return self.stateful and self.query.output_mode == "append"

    @property
    def stateful(self) -> bool:
        return self.query.signature.stateful


def plan_unit_test(
    test: UnitTestCase, relations: UnitRelations, nodes: Mapping[NodeId, ManifestNode]
) -> UnitTestPlan:
    """Return the query of the tested model over the test's rows, optimized as in production."""
    needed = _needed(test, relations, nodes)
    catalog = relations.catalog
    # Without data tests: a test may leave columns NULL that do not matter to it.
    models = {id_: spec.untested for id_, spec in catalog.models.items() if id_ in needed}
    restricted = replace(catalog, models=models)
    stand_ins = {id_: relations.stand_in(id_) for id_ in test.relations if id_ in catalog.models}
    written, diagnostics = build_plan(restricted, stand_ins)
    if diagnostics:
        raise MillstreamError(_not_testable(test, f"planning failed: {diagnostics[0].message}"))
    selected = {bypass_topics, *select_rules(catalog.target.get("optimization"))}
    rules = tuple(rule for rule in RULES if rule in selected)
    off = switched_off(((id_, model.options) for id_, model in restricted.models.items()), None)
    optimized = optimize_plan(written, rules, hints_of(restricted, one_query=True), off).plan
    output = next(output for output in optimized.outputs if output.model == test.model)
    order = in_order((output,))
    if topics := [node.relation for node in order if isinstance(node, TopicScan) and node.relation in needed]:
        reason = "runs in a separate query, and its rows arrive through a topic"
        raise MillstreamError(
            *(_not_testable(test, f"'{_name(relation)}' {reason}", relation) for relation in topics)
        )
    plan = Plan((output,))
    # A single state partition gives the same rows and starts fewer tasks.
    settings = replace(physical_settings(restricted), shuffle_partitions=1)
    references = reference_outputs(plan, catalog.sources)
    queries = physical_plan(plan, settings, None, references, written, views=True).queries
    delays = [duration_millis(node.delay) for node in order if isinstance(node, Watermark)]
    others = [query for query in queries if test.model not in query.stored]
    return UnitTestPlan(
        query=next(query for query in queries if test.model in query.stored),
        output=output,
        written=written,
        traits=traits_of(output.input),
        dead_letters=tuple(q for q in others if q.dead_letters),
        references={
            reference.model: q for reference in references for q in queries if reference.model in q.stored
        },
        delay=max(delays, default=0),
    )


def _needed(
    test: UnitTestCase, relations: UnitRelations, nodes: Mapping[NodeId, ManifestNode]
) -> set[NodeId]:
    """Return the models whose SQL is run; raise if the test gives no rows for what they read."""
    needed, used, diagnostics = {test.model}, set[NodeId](), list[Diagnostic]()
    waiting = [test.model]
    while waiting:
        model = waiting.pop()
        for parent in nodes[model].depends_on:
            used.add(parent)
            if parent in test.relations or parent.kind == "seed":
                continue
            if parent in relations.catalog.models and test.chain:
                stored = relations.catalog.models[parent].materialization.at_rest
                if stored or parent in relations.stored_rows.get(model, ()):
                    diagnostics.append(
                        _not_testable(test, f"'{_name(parent)}' is a table inside the chain", parent)
                    )
                elif parent not in needed:
                    needed.add(parent)
                    waiting.append(parent)
            else:
                diagnostics.append(_missing_input(test, model, parent))
    diagnostics += [_unread(test, relation) for relation in sorted(test.relations - used)]
    if diagnostics:
        raise MillstreamError(*diagnostics)
    return needed


def _missing_input(test: UnitTestCase, model: NodeId, parent: NodeId) -> Diagnostic:
    shown = _written(parent)
    message = f"'{_name(model)}' reads {shown}, but the test gives no rows for it"
    quoted = f'"{shown}"' if "," in shown else shown  # a comma would end the value
    remedy = f"add - {{input: {quoted}, rows: []}}"
    if parent.kind == "model" and not test.chain:
        remedy += f", or test the chain: model: +{_name(model)}"
    return test.diagnostic("MS653", message, remedy)


def _written(id_: NodeId) -> str:
    kind, name = id_.kind, id_.name
    return "source('{}', '{}')".format(*name.split(".")) if kind == "source" else f"ref('{name}')"


def _unread(test: UnitTestCase, relation: NodeId) -> Diagnostic:
    message = f"'{_name(test.model)}' does not read '{_name(relation)}'"
    return test.diagnostic("MS654", message, "remove this input, or test a model that reads it")


def _not_testable(test: UnitTestCase, message: str, relation: NodeId = NO_NODE) -> Diagnostic:
    relation_text = f"'{_name(relation)}'" if relation else "a model that is closer to it"
    return test.diagnostic("MS657", message, f"give the rows of {relation_text}")


def _name(id_: NodeId) -> str:
    return id_.name
