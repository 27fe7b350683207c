"""The names of what a project stores in an isolated environment: the one rule for all of them.

    env-<project>-<environment>--<name in production>

A project's name has no `-`, and an environment's neither has `--` nor ends with `-`. So the first `--` ends
the prefix, and no two environments have a name in common, also where Kafka takes `.` and `_` for the same.
"""

from __future__ import annotations

import re

from msgspec import Struct

from millstream.core.node_id import NodeId

LONGEST = 40
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
_START = "env-"
_STOP = "--"

Offsets = dict[int, int]


class Environment(Struct, frozen=True):
    """An isolated environment of a target: what it stores is its own, and all else is production's."""

    name: str
    project: str
    deferred: frozenset[NodeId] | None = None
    """Ids of the relations that are read from production; None until that is decided."""
    began: dict[str, Offsets] = {}
    """Where the records of a deferred topic begin that its running version has written."""

    @property
    def folder(self) -> str:
        """Return the name of its folders, next to production's checkpoints and tables."""
        return f"{_START}{self.project}-{self.name}"

    @property
    def prefix(self) -> str:
        """Return what its topics, consumer groups, subjects and database schemas begin with."""
        return f"{self.folder}{_STOP}"

    def title(self, target: str) -> str:
        """Return its name for people, with that of its target."""
        return f"{target}, environment {self.name}"

    def named(self, name: str) -> str:
        """Return the name in this environment of what has a name in production."""
        return name if name.startswith(self.prefix) else f"{self.prefix}{name}"

    def defers(self, relation: NodeId) -> bool:
        """Return whether a relation is read from production."""
        if self.deferred is None:
            raise AssertionError(f"what the environment {self.name} defers is not decided")
        return relation in self.deferred

    def check(self, relation: NodeId, topic: str = "") -> None:
        """Raise if production would be written: the table of a relation, or a topic."""
        if self.defers(relation) or (topic and not topic.startswith(self.prefix)):
            raise AssertionError(f"{topic or relation} is production's: '{self.name}' must not write it")


def environment_name(environment: Environment | None, name: str) -> str:
    return name if environment is None else environment.named(name)


def is_name(text: str) -> bool:
    """Return whether an environment can have this name."""
    return len(text) <= LONGEST and _NAME.fullmatch(text) is not None


def environment_in(text: str, project: str) -> str | None:
    """Return the environment of a project whose prefix or folder a name has."""
    start = f"{_START}{project}-"
    name = text.removeprefix(start).partition(_STOP)[0]
    return name if text.startswith(start) and is_name(name) else None


def is_environments(topic: str, project: str) -> bool:
    """Return whether a name in production would belong to an environment of the project."""
    return _STOP in topic and environment_in(topic, project) is not None
