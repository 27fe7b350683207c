"""Groups that have state stay as they are."""

from planned_projects import planned
from support.building import sink
from support.plans import by, group, topic, where

from millstream.physical.lock import (
    Lock,
    LockedGroup,
    Member,
    assign,
    decode,
    encode,
    recorded,
)


def members(*names):
    return tuple(Member((f"model.{name}",)) for name in names)


def shape(assigned):
    return [
        (each.name, [m.models[0].removeprefix("model.") for m in each.members], sorted(each.removed))
        for each in assigned
    ]


def test_what_is_new_is_grouped_as_wanted():
    assert shape(assign([LockedGroup("by_a", members("x", "y"))], None)) == [("by_a", ["x", "y"], [])]


def test_a_recorded_order_stays():
    lock = Lock((LockedGroup("by_a", members("y", "x")),))
    assert shape(assign([LockedGroup("by_a", members("x", "y"))], lock)) == [("by_a", ["y", "x"], [])]


def test_a_new_model_starts_on_its_own_and_is_told_so():
    lock = Lock((LockedGroup("by_a", members("x", "y")),))
    found = assign([LockedGroup("by_a", members("x", "new", "y"))], lock)
    assert shape(found) == [("by_a", ["x", "y"], []), ("new", ["new"], [])]
    assert found[1].why[0][0] == "model.new"
    assert "regroup" in found[1].why[0][1]


def test_a_model_alone_stays_alone_when_another_could_join_it():
    lock = Lock((LockedGroup("x", members("x")),))
    assert shape(assign([LockedGroup("by_a", members("x", "y"))], lock)) == [
        ("x", ["x"], []),
        ("y", ["y"], []),
    ]


def test_a_model_that_is_gone_keeps_its_place():
    lock = Lock((LockedGroup("by_a", members("x", "gone", "y")),))
    assert shape(assign([LockedGroup("by_a", members("x", "y"))], lock)) == [
        ("by_a", ["x", "gone", "y"], [1])
    ]


def test_a_group_of_which_nothing_is_left_is_gone():
    assert assign([], Lock((LockedGroup("by_a", members("x", "y")),))) == ()


def test_a_name_of_a_recorded_group_is_never_given_again():
    lock = Lock((LockedGroup("new", members("x", "y")),))
    assert shape(assign([LockedGroup("by_a", members("x", "y", "new"))], lock))[1] == ("new_", ["new"], [])


def test_once_recorded_nothing_changes():
    lock = Lock((LockedGroup("by_a", members("x", "gone", "y")), LockedGroup("z", members("z"))))
    wanted = [LockedGroup("by_a", members("x", "y", "z", "new"))]
    once = recorded(assign(wanted, lock))
    assert recorded(assign(wanted, once)) == once


def test_a_lock_is_read_as_it_was_written_one_line_a_member():
    lock = Lock((LockedGroup("by_a", members("x", "y")), LockedGroup("z", members("z"))))
    assert decode(encode(lock)) == lock
    assert len(encode(lock).splitlines()) == 2 + 2 * 2 + 3
    assert decode(encode(Lock())) == Lock()


def test_a_plan_keeps_to_its_lock():
    def outputs(*names):
        together = by(where(topic("a", "b"), "b > 0"), "a")
        return [sink(group(together, ("a",), f"n = max(b + {i})"), name, "a") for i, name in enumerate(names)]

    first = planned(*outputs("x", "y"))
    again = planned(*outputs("x", "y"), lock=first.lock)
    assert again == first
    more = planned(*outputs("x", "y", "z"), lock=first.lock)
    assert [q.name for q in more.queries] == ["events_by_a", "z"]
    assert more.queries[0] == first.queries[0]
    assert "newer" in more.separations[-1].why
    less = planned(*outputs("x"), lock=first.lock)
    assert less.queries[0].sql.count("union all") == 1
    assert "and false" in less.queries[0].sql
    assert less.lock.groups[0].members[1] == first.lock.groups[0].members[1]
