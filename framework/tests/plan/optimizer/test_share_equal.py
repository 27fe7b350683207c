"""What several models do is done once."""

from support.building import after, leaves_unchanged, of, sink, text
from support.plans import (
    by,
    dedupe,
    group,
    join,
    opaque,
    output,
    plan,
    select,
    topic,
    union,
    watermark,
    where,
)

from millstream.plan.optimizer.rules.share_equal import share_equal


def counts(node, model, label=""):
    filtered = where(node, "a > 1", model=model)
    return of(group(by(filtered, "a"), ("a",), "n = count(*)", label=label), model)


def test_equal_aggregates_share_their_state():
    events = topic("a", "b")
    first, second = counts(events, "model.one", "one"), counts(events, "model.two", "two")
    assert after(share_equal, sink(first, "one"), sink(second, "two")) == text("""
        sink one
          one = aggregate n = count(*) by a (on change)
            repartition by a
              filter a > 1
                decode json: a, b
                  topic events
        sink two
          ^ one
    """)


def test_the_models_of_both_are_told():
    events = topic("a")
    before = plan(counts(events, "model.one"), counts(events, "model.two"))
    rewritten, (change,) = share_equal(before, _context(before))
    assert rewritten.outputs[0].input.models == ("model.one", "model.two")
    assert change.models == ("model.one", "model.two")


def _context(before):
    from millstream.plan.optimizer.context import PlanHints, RuleContext

    return RuleContext(before, PlanHints(), {})


def test_a_models_own_name_is_kept_before_that_of_a_part():
    events = topic("a", "b")
    part = select(events, "a", label="prepared", model="model.two")
    one = select(events, "a", label="one", model="model.one")
    rewritten = after(share_equal, sink(where(part, "a > 1"), "two"), sink(one, "one"))
    assert "one = project a" in rewritten


def test_two_readings_of_one_topic_become_one():
    rewritten = after(
        share_equal, sink(where(topic("a"), "a > 1"), "x"), sink(where(topic("a"), "a > 2"), "y")
    )
    assert rewritten.count("topic events") == 1


def test_two_random_numbers_are_two():
    events = topic("a")
    assert leaves_unchanged(
        share_equal, [output(select(events, "r = rand()"), "x"), output(select(events, "r = rand()"), "y")]
    )


def test_what_reads_two_random_numbers_is_no_one():
    events = topic("a")
    two = [where(select(events, "r = rand()"), "r > 1") for _ in range(2)]
    assert leaves_unchanged(share_equal, [output(node, f"m{i}") for i, node in enumerate(two)])


def test_what_reads_one_random_number_twice_is_one():
    drawn = select(topic("a"), "r = rand()")
    rewritten = after(share_equal, sink(where(drawn, "r > 1"), "x"), sink(where(drawn, "r > 1"), "y"))
    assert rewritten.count("filter r > 1") == 1


def test_what_is_not_understood_is_done_twice():
    events = topic("a")
    assert leaves_unchanged(share_equal, [output(opaque(events), "x"), output(opaque(events), "y")])


def test_other_columns_other_keys_other_watermarks():
    events = topic("a", "b", "ts")
    nodes = [
        select(events, "a"), select(events, "b"), by(events, "a"), by(events, "b"),
        dedupe(events, "a"), dedupe(events, "a", within="1 hour"), watermark(events),
    ]  # fmt: skip
    assert leaves_unchanged(share_equal, [output(node, f"m{i}") for i, node in enumerate(nodes)])


def test_a_merge_of_a_stream_with_itself_keeps_both_sides():
    rewritten = after(share_equal, sink(union(select(topic("a"), "a"), select(topic("a"), "a")), "twice"))
    assert rewritten == text("""
        sink twice
          union
            events_selected = project a
              decode json: a
                topic events
            ^ events_selected
    """)


def test_equal_joins_share_their_state():
    a, b = topic("a", name="one"), topic("a", name="two")
    sides = [join(by(a, "a"), by(b, "a"), "a = r_a") for _ in range(2)]
    assert after(share_equal, *(sink(node, f"m{i}") for i, node in enumerate(sides))).count("inner join") == 1


def test_a_model_that_switches_it_off_does_its_own():
    events = topic("a")
    nodes = [select(events, "a", model="model.x"), select(events, "a", model="model.y")]
    outputs = [sink(nodes[0], "x"), sink(nodes[1], "y")]
    assert leaves_unchanged(share_equal, outputs, **{"model.y": frozenset({"share_equal"})})
