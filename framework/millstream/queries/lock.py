"""Which stateful models share a query, recorded next to the checkpoints: moving a model would lose its state.

A stateful query's checkpoint fits the branches that it was created with, in their order. So a recorded group
keeps its members, some of which may be former models. A new stateful model has its own query until `regroup`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.decoding import from_json
from millstream.core.encoding import to_json
from millstream.core.node_id import NodeId
from millstream.queries.removed_models import is_former


class GroupMember(Struct, frozen=True):
    """A branch of a group: the models that share one state."""

    models: tuple[NodeId, ...]


class LockedGroup(Struct, frozen=True):
    name: str
    members: tuple[GroupMember, ...]


class Lock(Struct, frozen=True):
    groups: tuple[LockedGroup, ...] = ()

    def group(self, name: str) -> LockedGroup | None:
        return next((group for group in self.groups if group.name == name), None)


class AssignedGroup(Struct, frozen=True):
    """A group as it will run."""

    name: str
    members: tuple[GroupMember, ...]
    why: tuple[tuple[NodeId, str], ...] = ()
    """Models that are separate only because of the lock, and why."""


def assign_groups(requested: Sequence[LockedGroup], lock: Lock | None) -> tuple[AssignedGroup, ...]:
    """Return the groups to run: recorded members stay in their group; `requested` if nothing is recorded."""
    if lock is None:
        return tuple(AssignedGroup(group.name, group.members) for group in requested)
    homes = {
        model: group.name for group in lock.groups for member in group.members for model in member.models
    }
    requested = [_by_home(group, homes) for group in requested]
    by_first_model = {member.models[0]: member for group in requested for member in group.members}
    of = {model: member for member in by_first_model.values() for model in member.models}
    assigned: list[AssignedGroup] = []
    placed: set[NodeId] = set()
    for group in lock.groups:
        members: list[GroupMember] = []
        for member in group.members:
            current = next((of[model] for model in member.models if model in of), None)
            if current is not None and current.models[0] not in placed:
                placed.add(current.models[0])
                members.append(current)
        if any(not is_former(model) for member in members for model in member.models):
            assigned.append(AssignedGroup(group.name, tuple(members)))
    names = {group.name for group in lock.groups}
    for group in requested:
        for member in group.members:
            if member.models[0] in placed or all(map(is_former, member.models)):
                continue
            name = member.models[0].last_name if len(group.members) > 1 else group.name
            while name in names:
                name += "_"
            names.add(name)
            why = f"it is newer than the state of {group.name}; `regroup` adds it to that query"
            reasons = tuple((model, why) for model in member.models) if len(group.members) > 1 else ()
            assigned.append(AssignedGroup(name, (member,), why=reasons))
    return tuple(assigned)


def restart_groups(lock: Lock, names: Collection[str]) -> Lock:
    """Return a lock by which some groups only keep their models, not the states that these share."""
    return Lock(
        tuple(
            LockedGroup(
                group.name,
                tuple(
                    GroupMember((model,))
                    for member in group.members
                    for model in member.models
                    if not is_former(model)
                ),
            )
            if group.name in names
            else group
            for group in lock.groups
        )
    )


def _by_home(group: LockedGroup, homes: Mapping[NodeId, str]) -> LockedGroup:
    """Return a group in which models of several queries never share a member, also if they share a state."""
    members: list[GroupMember] = []
    for member in group.members:
        parts: dict[str, list[NodeId]] = {}
        for model in member.models:
            parts.setdefault(homes.get(model, ""), []).append(model)
        members += [replace(member, models=tuple(models)) for models in parts.values()]
    return LockedGroup(group.name, tuple(members))


def record_groups(groups: Sequence[AssignedGroup]) -> Lock:
    """Return the lock to record for groups that run."""
    return Lock(tuple(LockedGroup(group.name, group.members) for group in groups))


def encode_lock(lock: Lock) -> bytes:
    """Return a lock as JSON, one line for each member, so that diffs are readable."""
    lines = ["{"]
    for index, group in enumerate(lock.groups):
        lines.append(f"  {to_json(group.name).decode()}: [")
        members = [f"    {to_json(member).decode()}" for member in group.members]
        lines += [line + "," for line in members[:-1]] + members[-1:]
        lines.append("  ]," if index + 1 < len(lock.groups) else "  ]")
    return ("\n".join([*lines, "}"]) + "\n").encode()


def decode_lock(content: bytes) -> Lock:
    groups = from_json(content, dict[str, tuple[GroupMember, ...]])
    return Lock(tuple(LockedGroup(name, members) for name, members in groups.items()))
