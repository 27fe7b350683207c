"""A unit test's rows are sent through the plan as written, to see which ways they take."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from millstream.errors import MillstreamError
from millstream.manifest import ManifestNode
from millstream.optimizer.driver import optimize
from millstream.optimizer.rules.bypass_topics import bypass_topics
from millstream.physical.values import ToKafka
from millstream.plan.nodes import Output
from millstream.plan.walk import in_order
from millstream.testing.clock import at_clock
from millstream.testing.coverage import Covered, Way, asking
from millstream.testing.lines import Lines
from millstream.testing.planned import Planned, planned
from millstream.testing.schedule import as_given
from millstream.testing.trying import Bench, Run
from millstream.testing.values import UnitTest
from millstream.topology import hints_of


def covered(bench: Bench, test: UnitTest, nodes: Mapping[str, ManifestNode]) -> Covered:
    """Return which ways the rows of a test take; what can't be asked is none."""
    from millstream.runner.trial import as_batch

    plan = planned(test, bench.relations, nodes)
    output = _as_written(bench, test, plan)
    models = frozenset({test.model, *(model for node in in_order((output,)) for model in node.models)})
    run, given = Run(bench, test, plan), as_given(test)
    ways: dict[Way, int] = {}
    for query, asked in asking(plan.query, output, Lines(bench.project)):
        one = replace(at_clock(query, test.now), deliver=ToKafka(()))
        try:
            (made,) = as_batch(bench.spark(), run.trial(given, given, one), bench.log).made
        except MillstreamError:
            continue
        ways |= dict(zip(asked, made.rows[0].values(), strict=True))
    return Covered(models - test.relations, ways)


def _as_written(bench: Bench, test: UnitTest, plan: Planned) -> Output:
    """Return the plan before the rules, but for topics between two models of a chain: nobody writes them."""
    found = optimize(plan.written, (bypass_topics,), hints_of(bench.relations.catalog)).plan
    return next(each for each in found.outputs if each.model == test.model)
