"""Which rules run, and which leave a model alone."""

import pytest

from millstream.core.node_id import NodeId
from millstream.plan.optimizer.rule_selection import NAMES, select_rules, switched_off, unknown_rules
from millstream.plan.optimizer.rules import ALWAYS, OPT_IN, RULES


def names(*args):
    return [rule.__name__ for rule in select_rules(*args)]


@pytest.mark.parametrize("setting", [None, "all", True])
def test_all_rules_but_those_to_be_asked_for(setting):
    assert names(setting) == [name for name in NAMES if name not in OPT_IN]


@pytest.mark.parametrize("setting", ["none", False, []])
def test_no_rules_but_those_that_always_run(setting):
    assert names(setting) == ["drop_watermarks"]


def test_a_list_in_the_order_of_the_rules():
    assert names(["prune_columns", "push_filters"]) == ["drop_watermarks", "push_filters", "prune_columns"]


def test_a_rule_is_asked_for_by_name():
    assert names(["merge_aggregates"]) == ["drop_watermarks", "merge_aggregates"]
    assert names(["all", "merge_aggregates"]) == list(NAMES)


def test_a_model_asks_for_a_rule_that_the_others_are_left_alone_by():
    models = [(NodeId("model", "a"), {"optimize": ["all", "merge_aggregates"]}), (NodeId("model", "b"), {})]
    assert "merge_aggregates" in names("all", [options.get("optimize") for _, options in models])
    assert switched_off(models) == {"model.b": frozenset({"merge_aggregates"})}


def test_a_target_that_wants_nothing_gets_nothing():
    assert names("none", [["merge_aggregates"]]) == ["drop_watermarks"]


def test_a_model_without_optimization():
    assert switched_off([(NodeId("model", "a"), {"optimize": False})]) == {
        "model.a": frozenset(NAMES) - OPT_IN - ALWAYS
    }


def test_a_model_with_some_rules():
    (off,) = switched_off([(NodeId("model", "a"), {"optimize": ["push_filters"]})]).values()
    assert off == frozenset(NAMES) - OPT_IN - ALWAYS - {"push_filters"}


def test_a_target_asks_for_a_rule_that_a_model_does_not_want():
    models = [(NodeId("model", "a"), {"optimize": "none"}), (NodeId("model", "b"), {})]
    off = switched_off(models, ["all", "merge_aggregates"])
    assert "merge_aggregates" in off["model.a"]
    assert "model.b" not in off


def test_a_model_that_says_nothing_is_left_to_all():
    assert switched_off([(NodeId("model", "a"), {}), (NodeId("model", "b"), {"optimize": "all"})]) == {}


def test_an_unknown_rule():
    assert unknown_rules(["push_filter", "all"]) == [("push_filter", "did you mean 'push_filters'?")]


@pytest.mark.parametrize("setting", [None, True, "all", "none", ["push_filters"]])
def test_known_rules(setting):
    assert unknown_rules(setting) == []


def test_a_rule_stands_in_a_file_of_its_name():
    assert all(rule.__module__ == f"millstream.plan.optimizer.rules.{rule.__name__}" for rule in RULES)
