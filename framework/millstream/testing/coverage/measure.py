"""Counts which branches the rows of a unit test take in the plan as written."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import MillstreamError
from millstream.core.node_id import NodeId
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rules.bypass_topics import bypass_topics
from millstream.queries.topology import hints_of
from millstream.queries.values import ToKafka
from millstream.testing.coverage.paths import CoveragePath, RowCoverage, coverage_queries
from millstream.testing.coverage.source_lines import SourceLines
from millstream.testing.units.clock import freeze_clock
from millstream.testing.units.plan import plan_unit_test
from millstream.testing.units.run import RunContext, UnitTestRun
from millstream.testing.units.schedule import batch_per_step
from millstream.testing.units.values import UnitTestCase


def measure_coverage(
    context: RunContext, test: UnitTestCase, nodes: Mapping[NodeId, ManifestNode]
) -> RowCoverage:
    """Return which branches the rows of a test take, except those that can't be counted."""
    from millstream.runner.samples.trial import as_batch

    plan = plan_unit_test(test, context.relations, nodes)
    # The plan before the rules, but without topics between models, which a test does not write.
    written = optimize_plan(
        plan.written, (bypass_topics,), hints_of(context.relations.catalog, one_query=True)
    ).plan
    output = next(output for output in written.outputs if output.model == test.model)
    models = frozenset({test.model, *(model for node in in_order((output,)) for model in node.models)})
    run, batches = UnitTestRun(context, test, plan), batch_per_step(test)
    ways: dict[CoveragePath, int] = {}
    for query, counted in coverage_queries(plan.query, output, SourceLines(context.project)):
        frozen = replace(freeze_clock(query, test.now), deliver=ToKafka(()))
        try:
            (result,) = as_batch(context.spark(), run.trial(batches, batches, frozen), context.log).outputs
        except MillstreamError:
            continue
        ways |= dict(zip(counted, result.rows[0].values(), strict=True))
    return RowCoverage(models - test.relations, ways)
