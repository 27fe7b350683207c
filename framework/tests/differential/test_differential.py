"""Random projects give the same rows as written, planned, and optimized: rule by rule and all together.

`MILLSTREAM_PROJECTS=5000 uv run pytest -m long framework/tests/differential` runs a longer search.
"""

from __future__ import annotations

import os
from random import Random

import pytest
from generator import project
from harness import Project, as_written, by_plan, differences, prepare
from support.spark import SPARK_WARNINGS

from millstream.plan.nodes import Filter
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rule_selection import NAMES, select_rules
from millstream.plan.walk import rewrite_plan

pytestmark = SPARK_WARNINGS

PROJECTS = int(os.environ.get("MILLSTREAM_PROJECTS", "300"))
_BATCH = 25


def data(seed: int) -> dict[str, list[str]]:
    """Return rows with NULLs, repeated ones, ties of time, late ones; now and then none."""
    random = Random(seed)

    def text() -> str:
        return random.choice(["null", "'a'", "'b'", "'c'", "'ab'", "'dada'"])

    def time() -> str:
        return random.choice(
            ["null", *(f"timestamp '2024-01-01 00:0{m}:{s}'" for m in (0, 1, 2) for s in (10, 40))]
        )

    def number() -> str:
        return random.choice(["null", "0D", "1.25D", "2.5D", "3D"])

    def integer() -> str:
        return random.choice(["null", "0L", "1L", "2L", "5L"])

    def count() -> int:
        return 0 if random.random() < 0.1 else random.randint(1, 30)

    events = [
        f"({text()}, {text()}, {text()}, {number()}, {integer()}, cast(null as array<string>), {time()})"
        for _ in range(count())
    ]
    return {
        "events": events + events[: len(events) // 3],
        "hits": [f"({text()}, {text()}, {time()})" for _ in range(count())],
        "products": ["('a', 'a')", "('b', 'b')", "('b', 'a')", "('ab', null)"][: random.randint(0, 4)],
    }


def check(spark, seed: int, *, each_rule: bool) -> str:
    """Return what differs for one project."""
    models = project(seed)
    compiled = Project(models)
    assert not compiled.diagnostics, (seed, models, [d.message for d in compiled.diagnostics])
    prepare(spark, data(seed))
    expected = as_written(spark, compiled)
    if message := differences(expected, by_plan(spark, compiled.plan), compiled.plan):
        return f"as written: {message}"
    rules = [list(NAMES), "all", *([name] for name in NAMES if each_rule)]
    for names in rules:
        optimized = optimize_plan(compiled.plan, select_rules(names))
        if optimized.steps and (
            message := differences(expected, by_plan(spark, optimized.plan), optimized.plan)
        ):
            steps = ", ".join(dict.fromkeys(step.rule for step in optimized.steps))
            return f"with {names} ({steps}): {message}\n{models}"
    return ""


@pytest.mark.long
def test_a_few_projects(spark):
    assert [message for seed in range(4) if (message := check(spark, seed, each_rule=False))] == []


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, PROJECTS, _BATCH))
def test_projects(spark, first):
    seeds = range(first, min(first + _BATCH, PROJECTS))
    differing = {seed: check(spark, seed, each_rule=seed % 10 == 0) for seed in seeds}
    assert {seed: message for seed, message in differing.items() if message} == {}


def test_a_wrong_rule_would_be_found(spark):
    def keep_all(plan, context):
        """Drop every filter."""
        return rewrite_plan(plan, lambda node, _: node.input if isinstance(node, Filter) else node), ()

    compiled = Project({"m": "select type from {{ source('shop', 'events') }} where type = 'a'"})
    prepare(spark, {"events": ["('u', 'b', 'p', 1D, 1L, null, null)"]})
    expected = as_written(spark, compiled)
    assert differences(expected, by_plan(spark, compiled.plan), compiled.plan) == ""
    wrong = optimize_plan(compiled.plan, [keep_all]).plan
    assert "extra" in differences(expected, by_plan(spark, wrong), wrong)
