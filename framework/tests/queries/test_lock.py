"""Groups that have state stay as they are."""

from msgspec.structs import replace
from planned_projects import planned
from support.building import sink
from support.plans import by, group, topic, where

from millstream.core.node_id import NodeId
from millstream.queries.lock import (
    AssignedGroup,
    GroupMember,
    Lock,
    LockedGroup,
    assign_groups,
    decode_lock,
    encode_lock,
    record_groups,
    restart_groups,
)

FORMER = GroupMember((NodeId("former", "by_a:gone"),))


def members(*names):
    return tuple(GroupMember((NodeId("model", name),)) for name in names)


def shape(assigned):
    return [(group.name, [m.models[0].removeprefix("model.") for m in group.members]) for group in assigned]


def test_what_is_new_is_grouped_as_wanted():
    assert shape(assign_groups([LockedGroup("by_a", members("x", "y"))], None)) == [("by_a", ["x", "y"])]


def test_a_recorded_order_stays():
    lock = Lock((LockedGroup("by_a", members("y", "x")),))
    assert shape(assign_groups([LockedGroup("by_a", members("x", "y"))], lock)) == [("by_a", ["y", "x"])]


def test_a_new_model_starts_on_its_own_and_is_told_so():
    lock = Lock((LockedGroup("by_a", members("x", "y")),))
    groups = assign_groups([LockedGroup("by_a", members("x", "new", "y"))], lock)
    assert shape(groups) == [("by_a", ["x", "y"]), ("new", ["new"])]
    assert groups[1].why[0][0] == "model.new"
    assert "regroup" in groups[1].why[0][1]


def test_a_model_alone_stays_alone_when_another_could_join_it():
    lock = Lock((LockedGroup("x", members("x")),))
    assert shape(assign_groups([LockedGroup("by_a", members("x", "y"))], lock)) == [
        ("x", ["x"]),
        ("y", ["y"]),
    ]


def test_a_former_model_keeps_its_place_as_long_as_others_do():
    lock = Lock((LockedGroup("by_a", (*members("x"), FORMER, *members("y"))),))
    requested = [LockedGroup("by_a", (FORMER, *members("x", "y")))]
    assert assign_groups(requested, lock) == (AssignedGroup("by_a", lock.groups[0].members),)
    assert assign_groups([LockedGroup("by_a", (FORMER,))], lock) == ()
    assert shape(assign_groups([LockedGroup("by_a", members("x"))], lock)) == [("by_a", ["x"])]


def test_models_that_share_a_state_stay_in_their_queries():
    alone = Lock((LockedGroup("x", members("x")), LockedGroup("y", members("y"))))
    shared = [
        LockedGroup("x", (GroupMember((NodeId("model", "x"), NodeId("model", "y"), NodeId("model", "new"))),))
    ]
    groups = assign_groups(shared, alone)
    assert shape(groups) == [("x", ["x"]), ("y", ["y"]), ("new", ["new"])]


def test_a_group_that_starts_again_keeps_its_models_only():
    lock = Lock(
        (
            LockedGroup("by_a", (GroupMember((NodeId("model", "x"), NodeId("model", "y"))), FORMER)),
            LockedGroup("z", (FORMER,)),
        )
    )
    assert restart_groups(lock, ["by_a"]) == Lock((LockedGroup("by_a", members("x", "y")), lock.groups[1]))


def test_a_group_of_which_nothing_is_left_is_gone():
    assert assign_groups([], Lock((LockedGroup("by_a", members("x", "y")),))) == ()


def test_a_name_of_a_recorded_group_is_never_given_again():
    lock = Lock((LockedGroup("new", members("x", "y")),))
    assert shape(assign_groups([LockedGroup("by_a", members("x", "y", "new"))], lock))[1] == ("new_", ["new"])


def test_once_recorded_nothing_changes():
    lock = Lock((LockedGroup("by_a", (*members("x", "y"), FORMER)), LockedGroup("z", members("z"))))
    requested = [LockedGroup("by_a", (*members("x", "y", "z", "new"), FORMER))]
    once = record_groups(assign_groups(requested, lock))
    assert record_groups(assign_groups(requested, once)) == once


def test_a_lock_is_read_as_it_was_written_one_line_a_member():
    lock = Lock((LockedGroup("by_a", members("x", "y")), LockedGroup("z", members("z"))))
    assert decode_lock(encode_lock(lock)) == lock
    assert len(encode_lock(lock).splitlines()) == 2 + 2 * 2 + 3
    assert decode_lock(encode_lock(Lock())) == Lock()


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
    left = replace(outputs("x", "y")[1], model=NodeId("former", "events_by_a:y"))
    lock = Lock((LockedGroup("events_by_a", (*members("x"), GroupMember((left.model,)))),))
    (less,) = planned(*outputs("x"), left, lock=lock).queries
    assert ([*less.stored], less.sql.count("union all"), less.sql.count("< 0")) == (["model.x"], 1, 2)
    assert [member.facts for member in less.signature.former] == [
        first.queries[0].signature.operators[1].facts
    ]
