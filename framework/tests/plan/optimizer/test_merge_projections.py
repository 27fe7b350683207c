from support.plans import becomes, by, output, plan, seed, select, stays, topic, where

from millstream.core.node_id import NodeId
from millstream.plan.optimizer.rules.merge_projections import merge_projections


def test_two_projections_become_one():
    lower = select(topic("x"), "a = x * 2")
    becomes(
        merge_projections,
        plan(select(lower, "b = a + 1")),
        """
        sink m
          project b = (x * 2) + 1
            decode json: x
              topic events
        """,
    )


def test_a_long_chain_becomes_one_at_once():
    node = topic("x")
    for _ in range(50):
        node = select(node, "x = x + 1")
    becomes(
        merge_projections,
        plan(select(node, "y = 1")),
        """
        sink m
          project y = 1
            decode json: x
              topic events
        """,
    )


def test_a_column_that_is_only_passed_on_may_be_read_often():
    becomes(
        merge_projections,
        plan(select(select(topic("x"), "a = x"), "b = a + a")),
        """
        sink m
          project b = x + x
            decode json: x
              topic events
        """,
    )


def test_an_expression_is_not_calculated_twice():
    stays(merge_projections, plan(select(select(topic("x"), "a = x * 2"), "b = a + a")))


def test_a_python_function_is_not_called_twice():
    stays(merge_projections, plan(select(select(topic("x"), "a = py_score(x)"), "b = a", "c = a + 1")))


def test_what_is_not_deterministic_may_get_another_name():
    becomes(
        merge_projections,
        plan(select(select(topic("x"), "r = rand()", "x"), "luck = r", "x")),
        """
        sink m
          project luck = rand(), x
            decode json: x
              topic events
        """,
    )


def test_what_is_not_deterministic_does_not_go_into_a_larger_expression():
    stays(
        merge_projections, plan(select(select(topic("x"), "r = rand()", "x"), "a = case when x then r end"))
    )


def test_what_is_not_deterministic_is_not_duplicated():
    stays(merge_projections, plan(select(select(topic("x"), "r = rand()"), "a = r", "b = r")))


def test_a_shared_projection_stays():
    lower = select(topic("x"), "a = x * 2")
    stays(merge_projections, plan(select(lower, "b = a + 1"), select(lower, "c = a + 2")))


def test_a_projection_of_everything_goes():
    becomes(
        merge_projections,
        plan(by(select(topic("x", "y"), "x", "y", label="orders"), "x")),
        """
        sink m
          repartition by x
            decode json: x, y
              topic events
        """,
    )


def test_another_order_is_not_the_same():
    stays(merge_projections, plan(select(topic("x", "y"), "y", "x")))


def test_the_name_of_what_goes_is_kept_where_there_is_no_other():
    named = select(where(topic("x"), "x > 1", model="a"), "x", label="orders", model="b")
    after, _ = _apply(plan(named))
    (filtered,) = after.outputs[0].inputs
    assert (filtered.label, filtered.models) == ("orders", ("model.a", "model.b"))


def test_the_name_of_a_merged_projection_is_the_upper_one():
    lower = select(topic("x"), "a = x * 2", label="low", model="a")
    after, _ = _apply(plan(select(lower, "b = a + 1", label="high", model="b")))
    (merged,) = after.outputs[0].inputs
    assert (merged.label, merged.models) == ("high", ("model.a", "model.b"))


def test_chosen_keys_of_a_lower_projection_are_followed():
    changing = topic("id", "v", unique_by=("id",))
    lower = select(changing, "id", "v", "k = id + 1", keys=("k",))
    after, _ = _apply(plan(output(select(lower, "name = k", "v"), "m", "name")))
    (merged,) = after.outputs[0].inputs
    assert merged.keys == ("name",)
    assert merged.input.names == ("id", "v")


def test_chosen_keys_keep_a_projection_of_everything():
    changing = topic("id", "v", unique_by=("id",))
    stays(merge_projections, plan(select(changing, "id", "v", keys=("v",))))


def test_a_model_may_switch_it_off():
    lower = select(topic("x"), "a = x * 2", model="a")
    before = plan(select(lower, "b = a + 1", model="b"))
    stays(merge_projections, before, switched_off={NodeId("model", "a"): frozenset({"merge_projections"})})


def test_a_shared_scan_is_read_by_both_where_projections_go():
    products = seed("id", "name")
    becomes(
        merge_projections,
        plan(select(products, "id", "name"), products),
        """
        sink m
          products = seed seed.products: id, name
        sink m2
          ^ products
        """,
    )


def _apply(before):
    from millstream.plan.optimizer.context import PlanHints, RuleContext

    return merge_projections(before, RuleContext(before, PlanHints(), {}))
