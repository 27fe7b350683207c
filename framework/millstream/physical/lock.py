"""Which stateful models share a query, kept beside the checkpoints: moving one would lose what it knows.

A stateful query's checkpoint fits the branches that it was made with, in their order. So a recorded group
keeps its members; a new stateful model starts as a query of its own, until somebody asks to group anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct


class Member(Struct, frozen=True, omit_defaults=True):
    """A branch of a group: the models above one state."""

    models: tuple[str, ...]
    of: str = ""
    """The shared rows that it reads."""
    columns: tuple[tuple[str, str], ...] = ()
    """What it reads of them: name and type."""
    sql: str = ""
    """What keeps its state in the checkpoint when its models are gone."""


class LockedGroup(Struct, frozen=True):
    name: str
    members: tuple[Member, ...]


class Lock(Struct, frozen=True):
    groups: tuple[LockedGroup, ...] = ()

    def group(self, name: str) -> LockedGroup | None:
        return next((group for group in self.groups if group.name == name), None)


class Assigned(Struct, frozen=True):
    """A group as it is to run."""

    name: str
    members: tuple[Member, ...]
    removed: frozenset[int] = frozenset()
    """Places of members whose models are gone."""
    why: tuple[tuple[str, str], ...] = ()
    """Models that are apart only because of the lock, and why."""


def assign(wanted: Sequence[LockedGroup], lock: Lock | None) -> tuple[Assigned, ...]:
    """Return the groups to run: as wanted where nothing is recorded, else as recorded.

    A member that is recorded stays where it is, whatever is wanted now.
    """
    if lock is None:
        return tuple(Assigned(group.name, group.members) for group in wanted)
    now = {member.models[0]: member for group in wanted for member in group.members}
    of = {model: member for member in now.values() for model in member.models}
    found: list[Assigned] = []
    placed: set[str] = set()
    for group in lock.groups:
        members: list[Member] = []
        removed: set[int] = set()
        for place, member in enumerate(group.members):
            current = next((of[model] for model in member.models if model in of), None)
            if current is None or current.models[0] in placed:
                removed.add(place)
                members.append(member)
            else:
                placed.add(current.models[0])
                members.append(current)
        if len(removed) < len(members):
            found.append(Assigned(group.name, tuple(members), frozenset(removed)))
    names = {group.name for group in lock.groups}
    for group in wanted:
        for member in group.members:
            if member.models[0] in placed:
                continue
            name = member.models[0].rpartition(".")[2] if len(group.members) > 1 else group.name
            while name in names:
                name += "_"
            names.add(name)
            why = f"it is newer than {group.name}, whose state it would not find; `regroup` brings it in"
            told = tuple((model, why) for model in member.models) if len(group.members) > 1 else ()
            found.append(Assigned(name, (member,), why=told))
    return tuple(found)


def recorded(groups: Sequence[Assigned]) -> Lock:
    """Return what to keep of the groups that run."""
    return Lock(tuple(LockedGroup(group.name, group.members) for group in groups))


def encode(lock: Lock) -> bytes:
    """Return a lock as JSON, one line a member, so that a change of it can be reviewed."""
    lines = ["{"]
    for place, group in enumerate(lock.groups):
        lines.append(f"  {msgspec.json.encode(group.name).decode()}: [")
        members = [f"    {msgspec.json.encode(member).decode()}" for member in group.members]
        lines += [line + "," for line in members[:-1]] + members[-1:]
        lines.append("  ]," if place + 1 < len(lock.groups) else "  ]")
    return ("\n".join([*lines, "}"]) + "\n").encode()


def decode(content: bytes) -> Lock:
    groups = msgspec.json.decode(content, type=dict[str, tuple[Member, ...]])
    return Lock(tuple(LockedGroup(name, members) for name, members in groups.items()))
