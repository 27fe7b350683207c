"""Random models with state over few inputs: rules that share, drop and merge keep the rows of all outputs."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.long import EXAMPLES
from support.plan_text import plan_text
from support.plans import by, dedupe, group, join, output, plan, select, topic, union, where
from support.rows import RowFailedError, result

from millstream.core.types import INT
from millstream.plan.nodes import Aggregate, Dedupe, Filter, Item, Node, Plan, Project, Repartition
from millstream.plan.nodes.order import in_order
from millstream.plan.optimizer.context import PlanHints, Rule, RuleContext
from millstream.plan.optimizer.driver import optimize_plan
from millstream.plan.optimizer.rules import RULES
from millstream.plan.optimizer.rules.drop_repartition import drop_repartition
from millstream.plan.optimizer.rules.merge_aggregates import merge_aggregates
from millstream.plan.optimizer.rules.merge_projections import merge_projections
from millstream.plan.optimizer.rules.prune_columns import prune_columns
from millstream.plan.optimizer.rules.push_filters import push_filters
from millstream.plan.optimizer.rules.share_equal import share_equal
from millstream.plan.optimizer.rules.share_renamed import share_renamed
from millstream.plan.optimizer.rules.share_repartition import share_repartition
from millstream.plan.traits import all_traits

COLUMNS = ("a", "b", "c")
HINTS = PlanHints(returns={"py_f": INT})

_CONDITIONS = st.lists(
    st.sampled_from(
        ["a > 1", "b = 2", "c is null", "a > 1 or b < 3", "py_f(a) > 1", "mycast(c) > 0", "b < c"]
    ),
    min_size=1,
    max_size=2,
)
_VALUES = st.sampled_from(["c", "c", "b + 1", "c * 2", "py_f(c)", "rand()"])
_KEYS = st.sampled_from(["a", "b", "a + 1", "a + 1", "py_f(a)", "mycast(b)"])
_MEASURES = st.lists(
    st.sampled_from(["count(*)", "max(c)", "min(b)", "count(c)", "max(c + b)"]),
    min_size=1,
    max_size=3,
    unique=True,
)


@st.composite
def _steps(draw, node: Node, keyed: str = "") -> Node:
    """Filter and change values, in any order; `keyed` is a column to keep."""
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            node = where(node, *draw(_CONDITIONS))
        else:
            node = select(node, *filter(None, ("a", "b", f"c = {draw(_VALUES)}", keyed)))
    return node


@st.composite
def _keyed(draw, pool: Sequence[Node]) -> Node:
    node = draw(_steps(draw(st.sampled_from(pool))))
    node = select(node, "a", "b", "c", f"k = {draw(_KEYS)}")
    return by(draw(_steps(node, "k")), *draw(st.sampled_from([("k",), ("k",), ("k", "b"), ("b", "k")])))


@st.composite
def _models(draw, pool: Sequence[Node]) -> Node:
    node = draw(_keyed(pool))
    assert isinstance(node, Repartition)
    match draw(st.integers(0, 5)):
        case 0:
            small = by(select(node.input, *node.keys), *node.keys)
            return dedupe(small, *node.keys)
        case 1:
            other = draw(_keyed(pool))
            assume(node.keys == other.keys)
            on = " and ".join(f"{key} = r_{key}" for key in node.keys)
            return select(join(node, other, on), "c", "r_c")
        case _:
            measures = [f"m{i}_{draw(st.integers(0, 1))} = {m}" for i, m in enumerate(draw(_MEASURES))]
            key = draw(st.sampled_from(["k", "g = k"]))
            return group(node, (key, *(k for k in node.keys if k != "k")), *measures)


@st.composite
def plans(draw) -> Plan:
    one, two = topic(*COLUMNS, name="one"), topic(*COLUMNS, name="two")
    pool = [one, draw(_steps(one)), draw(st.sampled_from([one, one, two, union(one, one), union(one, two)]))]
    models = [draw(_models(pool)) for _ in range(draw(st.integers(2, 5)))]
    models.append(draw(_steps(pool[1])))
    return plan(*(output(node, f"m{i}") for i, node in enumerate(models)))


_CELL = st.one_of(st.none(), st.integers(0, 5))
_ROWS = st.lists(st.tuples(_CELL, _CELL, _CELL), max_size=6)
_TABLES = st.fixed_dictionaries(dict.fromkeys(("source.one", "source.two"), _ROWS))
_RANDOM = settings(max_examples=80, suppress_health_check=list(HealthCheck))
_ALL = tuple(rule for rule in RULES if rule.__name__ != "prefilter_bytes")


def _same_rows(before: Plan, tables, rules: Sequence[Rule]) -> None:
    after = optimize_plan(before, rules, HINTS).plan
    try:
        expected = result(before, COLUMNS, tables)
    except RowFailedError:
        assume(False)
    assert result(after, COLUMNS, tables) == expected, f"{plan_text(before)}\n{plan_text(after)}"


@pytest.mark.parametrize(
    "rules",
    [
        (share_equal, share_repartition),
        (share_repartition, prune_columns, merge_projections),
        (share_equal, merge_aggregates, drop_repartition),
        (share_equal, share_renamed, push_filters, merge_projections, share_repartition, share_renamed),
        _ALL,
    ],
    ids=lambda rules: "all" if rules is _ALL else " ".join(rule.__name__ for rule in rules),
)
@_RANDOM
@given(before=plans(), tables=_TABLES)
def test_same_rows(rules, before, tables):
    _same_rows(before, tables, rules)


@pytest.mark.long
@settings(_RANDOM, max_examples=EXAMPLES // 2)
@given(before=plans(), tables=_TABLES)
def test_same_rows_long(before, tables):
    _same_rows(before, tables, _ALL)


@pytest.mark.long
@settings(_RANDOM, max_examples=400)
@given(before=plans(), tables=_TABLES)
def test_no_more_rows_are_shuffled(before, tables):
    after = optimize_plan(before, (share_equal, share_repartition), HINTS).plan
    try:
        assert _shuffled(after, tables) <= _shuffled(before, tables), (
            f"{plan_text(before)}\n{plan_text(after)}"
        )
    except RowFailedError:
        assume(False)


def _shuffled(plan: Plan, tables) -> int:
    below = [output(node.input) for node in in_order(plan.outputs) if isinstance(node, Repartition)]
    return sum(sum(rows.values()) for rows in result(Plan(tuple(below)), COLUMNS, tables))


@_RANDOM
@given(plans())
def test_what_needs_its_rows_together_has_them_together(before):
    """Each aggregate and dedupe finds rows of one key in one place, whatever was shared below it."""
    after = optimize_plan(before, _ALL, HINTS).plan
    for node in in_order(after.outputs):
        if isinstance(node, Aggregate | Dedupe):
            names = [k.expression.column if isinstance(k, Item) else k for k in node.keys]
            roots = [_root(node.input, name) for name in names]
            (below,) = {id(root): root for root, _ in roots}.values()
            assert isinstance(below, Repartition), plan_text(after)
            assert set(below.keys) <= {name for _, name in roots}, plan_text(after)


def _root(node: Node, name: str) -> tuple[Node, str]:
    """Follow a column down to the shuffle."""
    while isinstance(node, Filter | Project):
        if isinstance(node, Project):
            expression = next(item.expression for item in node.items if item.name == name)
            assert expression.column is not None, "it is calculated after the shuffle"
            name = expression.column
        node = node.input
    return node, name


def test_a_large_plan_with_nothing_to_do_is_left_quickly():
    node = topic("a", "b")
    for i in range(15_000):
        node = select(where(node, f"a > {i}"), "a", f"b = b + {i}")
    context = RuleContext(plan(by(node, "a"), node), HINTS, {})
    assert all_traits(context.plan)
    assert context.consumers
    start = perf_counter()
    for rule in (share_equal, share_renamed, merge_aggregates, drop_repartition, share_repartition):
        assert rule(context.plan, context) == (context.plan, ())
    assert perf_counter() - start < 3
