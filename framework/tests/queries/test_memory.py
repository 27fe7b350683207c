"""How much state a query keeps, as far as hints tell."""

from msgspec.structs import replace
from planned_projects import planned
from support.building import sink
from support.plans import by, dedupe, group, join, select, topic, watermark, where


def memory(node, distinct=None, rates=None):
    (query,) = planned(
        sink(node, "m"),
        distinct={("source.events", name): count for name, count in (distinct or {}).items()},
        rows_per_second={"source.events": rates} if rates else {},
    ).queries
    return query.memory


def test_without_state_there_is_none():
    assert memory(select(topic("a"), "a")).bytes == 0


def test_a_group_has_a_row_for_each_value_of_its_keys():
    node = group(by(where(topic("a", "b"), "b > 1"), "a", "b"), ("a", "b"), "n = count(*)")
    assert memory(node, {"a": 100, "b": 3}).bytes == 300 * (64 + 4 + 4 + 8)


def test_what_nobody_says_is_told_in_words():
    estimate = memory(group(by(topic("a"), "a"), ("a",), "n = count(*)"))
    assert estimate.bytes is None
    assert "one row for each a, of unknown cardinality" in estimate.why


def test_a_join_has_two_entries_for_each_row():
    (state,) = memory(join(topic("a"), topic("b"), "a = b")).states
    assert (state.entries, state.rows) == (2, None)


def test_windows_close():
    node = group(
        by(watermark(topic("a", "ts")), "a"), ("window = window(ts, '1 minute')", "a"), "n = count(*)"
    )
    assert "20 rows" not in memory(node, {"a": 10}).why
    assert "10 in each of 3 windows" in memory(node, {"a": 10}).why
    assert "one row for each a in each of 3 windows, of unknown cardinality" in memory(node).why


def test_positions_are_bits_in_pages():
    estimate = memory(replace(dedupe(by(topic("a", "b"), "a"), "a", "b"), by_position=True))
    assert estimate.why.endswith("a bit for each record of each sender, in pages of 8,192 records")
    (state,) = estimate.states
    assert (state.unit, state.width, state.rows) == ("page", 64 + 1024, None)


def test_a_dedupe_forgets_after_a_time():
    estimate = memory(dedupe(by(topic("a"), "a"), "a", within="1 hour"), rates=2.0)
    assert estimate.bytes == 7200 * (64 + 4)
