from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.testing.units.values import GivenRow, StepInput, UnitStep, UnitTestCase
from millstream.testing.units.verdict import rebatch_rows, split_once

LOCATION = Location("t.yml", 1, 1)


def of(*steps):
    """Make a test of steps, each the keys of its rows; a row knows its number."""
    unit_steps, number = [], 0
    for keys in steps:
        rows = []
        for key in keys:
            number += 1
            rows.append(GivenRow({"key": key, "n": number}, {}))
        unit_steps.append(UnitStep((StepInput(NodeId("source", "s.t"), tuple(rows)),)))
    return UnitTestCase(NodeId("unit_test", "m.t"), "t", NodeId("model", "m"), LOCATION, tuple(unit_steps))


def numbers(batches):
    return [[row.values["n"] for rows in batch.rows.values() for row in rows] for batch in batches]


KEYS = {NodeId("source", "s.t"): ("key",)}


def test_other_keys_come_first_and_those_of_one_key_in_their_order():
    (_, first), (_, second) = rebatch_rows(of("aab", "b"), KEYS)
    assert numbers(first) == [[3, 1], [2], [4]]
    assert numbers(second) == [[1, 2], [3], [4]]


def test_without_a_key_the_order_stays():
    ((_, only),) = rebatch_rows(of("ab"), {})
    assert numbers(only) == [[1], [2]]


def test_one_row_can_not_be_cut():
    assert list(rebatch_rows(of("a", ""), KEYS)) == []


def test_event_time_goes_on_after_the_last_batch_of_a_step():
    (_, first), *_ = rebatch_rows(of("ab", "ab"), KEYS)
    assert [(batch.step, batch.last) for batch in first] == [(0, False), (0, True), (1, False), (1, True)]


def test_the_smallest_cuts():
    assert [message for message, _ in split_once(of("ab", "abc"))] == [
        "split after row 1 of step 1",
        "split after row 1 of step 2",
        "split after row 2 of step 2",
    ]
