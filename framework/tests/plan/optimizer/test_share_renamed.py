"""What is equal but for names: calls of Python and state."""

from support.building import after, leaves_unchanged, sink, text
from support.plans import by, group, output, select, topic

from millstream.plan.optimizer.rules.share_renamed import share_renamed


def test_a_call_under_two_names_is_called_once():
    events = topic("a", "b")
    one, two = select(events, "x = py_f(a)"), select(events, "b", "y = py_f(a)")
    assert after(share_renamed, sink(one, "one"), sink(two, "two")) == text("""
        sink one
          project x
            events_selected = project b, x = py_f(a)
              decode json: a, b
                topic events
        sink two
          project b, y = x
            ^ events_selected
    """)


def test_a_call_keeps_clear_of_the_columns_beside_it():
    events = topic("a", "b")
    one, two = select(events, "b = py_f(a)"), select(events, "b", "y = py_f(a)")
    assert "project b, b_ = py_f(a)" in after(share_renamed, sink(one, "one"), sink(two, "two"))


def test_calls_with_other_arguments_stay():
    events = topic("a", "b")
    assert leaves_unchanged(share_renamed, [output(select(events, f"x = py_f({c})"), c) for c in "ab"])


def test_native_sql_is_cheaper_than_to_look_for_it():
    events = topic("a")
    assert leaves_unchanged(share_renamed, [output(select(events, f"{n} = a + 1"), n) for n in "xy"])


def test_a_random_number_is_not_shared():
    events = topic("a")
    assert leaves_unchanged(share_renamed, [output(select(events, "x = py_f(rand())"), n) for n in "xy"])


def test_an_aggregate_selects_from_a_larger_one():
    together = by(topic("a", "b"), "a")
    small = group(together, ("k = a",), "c = count(*)")
    large = group(together, ("a",), "top = max(b)", "n = count(*)")
    assert after(share_renamed, sink(small, "small", "k"), sink(large, "large", "a")) == text("""
        sink small by k
          project k = a, c = n
            events_by_key_grouped = aggregate top = max(b), n = count(*) by a (on change)
              repartition by a
                decode json: a, b
                  topic events
        sink large by a
          ^ events_by_key_grouped
    """)


def test_aggregates_with_measures_of_their_own_each_stay():
    together = by(topic("a", "b"), "a")
    pair = [group(together, ("a",), "n = count(*)", f"x = {f}(b)") for f in ("min", "max")]
    assert leaves_unchanged(share_renamed, [output(node, f"m{i}") for i, node in enumerate(pair)])


def test_aggregates_that_emit_otherwise_are_others():
    from support.plans import watermark

    together = by(watermark(topic("a", "ts")), "a")
    keys = ("a", "w = window(ts, '5 minutes')")
    pair = [group(together, keys, "n = count(*)", emit=emit) for emit in ("on_change", "on_close")]
    assert leaves_unchanged(share_renamed, [output(node, f"m{i}") for i, node in enumerate(pair)])


def test_the_keys_keep_the_order_that_a_reader_knows():
    together = by(topic("a", "b"), "a", "b")
    rewritten = after(
        share_renamed,
        sink(group(together, ("a", "b"), "n = count(*)"), "one", "a", "b"),
        sink(group(together, ("b", "a"), "n = count(*)"), "two", "b", "a"),
    )
    assert "project b, a, n" in rewritten


def test_a_model_that_switches_it_off():
    together = by(topic("a", "b"), "a")
    outputs = [output(group(together, ("a",), f"{n} = count(*)"), n) for n in "xy"]
    assert leaves_unchanged(share_renamed, outputs, m=frozenset({"share_renamed"}))
