"""What a build is asked for, and what it tells while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from millstream.deployment.intents import Intent, Update
from millstream.errors import Diagnostic
from millstream.physical.lock import Lock
from millstream.physical.plan import Physical
from millstream.physical.values import Query
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project
from millstream.runner.batches import Batch, Offsets
from millstream.runner.results import Outcome
from millstream.topology import Topology


class Job(Struct, frozen=True):
    """A compiled project and what of it is to run."""

    project: Project
    topology: Topology
    physical: Physical
    lock: Lock | None = None
    """The groups that have state, as far as it was known when the queries were planned."""
    models: frozenset[str] | None = None
    """Ids of the models that are asked for; None: all."""
    intent: Intent = Update()
    manifest: bytes = b""
    """What is kept at the checkpoints, to tell later what runs there."""
    trigger: str | None = "available_now"
    """When queries look for new records; None: as a run does where its target says nothing."""

    @property
    def catalog(self) -> Catalog:
        return self.topology.catalog


class Setup(Struct, frozen=True):
    """Something that is done once, before queries run."""

    name: str
    said: str = ""
    done: bool = False


class Started(Struct, frozen=True):
    query: Query


class Going(Struct, frozen=True):
    query: str
    rows: int


class Ended(Struct, frozen=True):
    outcome: Outcome


class Told(Struct, frozen=True):
    """Something that a user should know of."""

    diagnostic: Diagnostic


class Compared(Struct, frozen=True):
    """A table that was made anew has the same rows as the one that runs."""

    model: str
    columns: tuple[str, ...] = ()
    """Beside its key."""
    rows: int = 0
    less: str = ""
    """Why that is not known, or not so."""


class Waiting(Struct, frozen=True):
    """A query is to be kept running, perhaps after others."""

    query: Query


class Running(Struct, frozen=True):
    """It started, for the first time or again."""

    query: Query
    anew: bool = False
    """It is rebuilt beside what is there."""


class Batched(Struct, frozen=True):
    query: str
    batch: Batch


class Ends(Struct, frozen=True):
    """Where the topics that are read end now, by partition."""

    topics: Mapping[str, Offsets]


class Idle(Struct, frozen=True):
    """There is nothing new to read."""

    query: str


class Failed(Struct, frozen=True):
    query: str
    problem: Diagnostic
    failures: int
    """Without a batch that ended well between them."""
    again: float
    """Seconds until it is started again."""


class LeftOut(Struct, frozen=True):
    """A model fails on its own: the others of its query go on without it."""

    query: str
    model: str
    problem: Diagnostic


class Stopped(Struct, frozen=True):
    query: str


OfBuild = Setup | Started | Going | LeftOut | Ended | Told | Compared
OfRun = Setup | Told | Waiting | Running | Batched | Ends | Idle | Failed | LeftOut | Stopped
Event = OfBuild | OfRun
Tell = Callable[[Event], None]
"""Called from several threads."""
