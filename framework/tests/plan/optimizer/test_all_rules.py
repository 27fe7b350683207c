"""On random plans the rules come to an end, and the rows of all outputs are the same."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.long import EXAMPLES
from support.plan_text import plan_text
from support.plans import (
    by,
    dedupe,
    explode,
    group,
    join,
    lookup,
    output,
    plan,
    seed,
    select,
    topic,
    union,
    watermark,
    where,
)
from support.rows import Row, RowFailedError, result

from millstream.core.node_id import NodeId
from millstream.core.types import INT
from millstream.plan.nodes import Node, Plan
from millstream.plan.optimizer.context import PlanChange, PlanHints, RuleContext
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rules import RULES
from millstream.plan.streaming import SeparateQueryError
from millstream.plan.traits import NotIncrementalError, all_traits

COLUMNS = ("a", "b", "c")
HINTS = PlanHints(returns={"py_f": INT}, keeps={NodeId("model", "m"): 0.5})

_CONDITIONS = st.lists(
    st.sampled_from(
        """
        a > 1|b = 2|c is null|a = b|b < 3 or c > 1|py_f(a) > 1|py_f(b) > 2|mycast(a) > 0|mycast(c) > b
        rand() < a|1 = 1|py_f(a) = b|a between 1 and 3|c is null or b > 1
        """.replace("\n", "|")
        .replace("b rlike 'x' or ", "")
        .split("|")
    )
    .map(str.strip)
    .filter(bool),
    min_size=1,
    max_size=3,
)
_EXPRESSIONS = st.sampled_from(
    [
        "a",
        "b",
        "c",
        "a",
        "b",
        "c",
        "a + b",
        "b * 2",
        "7",
        "py_f(a)",
        "py_f(b) + 1",
        "mycast(b)",
        "rand()",
        "c + c",
    ]
)
_KINDS = st.sampled_from(["inner", "left", "right", "full", "semi", "anti"])
_ONS = st.sampled_from(
    ["a = r_a", "a = r_a and r_b > 1", "a = r_a and b > 1", "b = r_a and c < r_c and 1 = 1"]
)


@st.composite
def nodes(draw, pool: list[Node]) -> Node:
    """Put one more node above some of those that are there, again with columns a, b, c."""
    node = draw(st.sampled_from(pool[-3:]))
    other = draw(st.sampled_from(pool))
    match draw(st.integers(0, 12)):
        case 0 | 1 | 2:
            return where(node, *draw(_CONDITIONS), label=draw(st.sampled_from(["", "f"])))
        case 3 | 4:
            return select(node, *(f"{name} = {draw(_EXPRESSIONS)}" for name in COLUMNS))
        case 5 | 6:
            return by(node, draw(st.sampled_from(COLUMNS)))
        case 7:
            return union(node, other)
        case 8:
            table = select(seed(*COLUMNS), "a", "b", "c") if draw(st.booleans()) else seed(*COLUMNS)
            kind = draw(st.sampled_from(["inner", "left", "semi", "anti"]))
            joined = lookup(node, table, draw(_ONS), kind)
            return joined if kind in {"semi", "anti"} else select(joined, "a", "b = r_b", "c")
        case 9:
            kind = draw(_KINDS)
            joined = join(node, other, draw(_ONS), kind)
            return joined if kind in {"semi", "anti"} else select(joined, "a", "b = r_b", "c = r_c")
        case 10:
            grouped = group(by(node, "a"), ("a", "k = b"), "n = count(*)", "top = max(c)", "low = min(b)")
            return select(grouped, "a", "b = k", draw(st.sampled_from(["c = top", "c = low + n"])))
        case 11:
            expanded = explode(
                node, f"explode({draw(st.sampled_from(COLUMNS))})", "item", outer=draw(st.booleans())
            )
            return select(expanded, "a", "b = item", "c")
        case _:
            watermarked = (
                dedupe(watermark(node, "c"), "a", "b") if draw(st.booleans()) else watermark(node, "b")
            )
            return select(watermarked, "a", "b", "c = a + b")


@st.composite
def plans(draw) -> Plan:
    pool: list[Node] = [topic(*COLUMNS, name="one"), topic(*COLUMNS, name="two")]
    for _ in range(draw(st.integers(2, 9))):
        node = draw(nodes(pool))
        if draw(st.integers(0, 2)):
            node = where(node, *draw(_CONDITIONS))
        try:
            all_traits(plan(node))
        except (NotIncrementalError, SeparateQueryError, TypeError):
            continue
        pool.append(node)
    chosen = draw(st.lists(st.sampled_from(pool[-5:]), min_size=1, max_size=4))
    return plan(*(output(node, f"m{i}") for i, node in enumerate([pool[-1], *chosen])))


_VALUES = (0, 1, 1, 2, 2, 2, 3, 3, None)


def _tables(seed: int) -> dict[str, list[Row]]:
    """Return many rows, of which few make a function fail: drawn one by one they would mostly be few or none."""
    random = Random(seed)
    values = (*_VALUES * 4, random.choice((1, 4, 5)))
    names = ("source.one", "source.two", "seed.products")
    sizes = {name: random.choice((0, 3, 12, 12, 12)) for name in names}
    return {name: [tuple(random.choices(values, k=3)) for _ in range(size)] for name, size in sizes.items()}


_TABLES = st.integers(0, 10_000).map(_tables)
_RANDOM = settings(max_examples=200, suppress_health_check=list(HealthCheck))


def _same_rows(before: Plan, tables, *rules) -> None:
    after = optimize_plan(before, rules, HINTS).plan
    try:
        expected = result(before, COLUMNS, tables)
    except RowFailedError:
        assume(False)
    assert result(after, COLUMNS, tables) == expected, f"{plan_text(before)}\n{plan_text(after)}"


@_RANDOM
@given(plans(), _TABLES)
def test_all_rules_give_the_same_rows(before, tables):
    _same_rows(before, tables, *RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@settings(_RANDOM, max_examples=100)
@given(before=plans(), tables=_TABLES)
def test_each_rule_gives_the_same_rows(rule, before, tables):
    _same_rows(before, tables, rule)


@pytest.mark.long
@settings(_RANDOM, max_examples=EXAMPLES)
@given(plans(), _TABLES)
def test_all_rules_give_the_same_rows_long(before, tables):
    _same_rows(before, tables, *RULES)


@_RANDOM
@given(plans())
def test_to_look_at_what_changed_is_enough(before):
    steps = optimize_plan(before, RULES, HINTS).steps
    assert [(step.rule, step.changes, plan_text(step.after)) for step in steps] == _looking_at_all(before)


def _looking_at_all(current: Plan) -> list[tuple[str, tuple[PlanChange, ...], str]]:
    steps = []
    before = None
    while current is not before:
        before = current
        for rule in RULES:
            rewritten, changes = rule(current, RuleContext(current, HINTS, {}))
            if rewritten is not current:
                steps.append((rule.__name__, changes, plan_text(rewritten)))
                current = rewritten
    return steps


@_RANDOM
@given(plans())
def test_what_was_optimized_stays_so(before):
    optimized = optimize_plan(before, RULES, HINTS).plan
    assert optimize_plan(optimized, RULES, HINTS).steps == ()
