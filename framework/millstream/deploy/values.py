"""Jobs, and the events that a build or a run reports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct, field

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Intent, Update
from millstream.engine.queries.batch_result import BatchResult
from millstream.engine.queries.query_results import QueryResult
from millstream.plan.from_sql.catalog import Catalog
from millstream.project.values import Project
from millstream.queries.lock import Lock
from millstream.queries.physical_plan import PhysicalPlan
from millstream.queries.topology import Topology
from millstream.queries.values import Query
from millstream.sources.positions import Position


class Job(Struct, frozen=True):
    """A compiled project, and what to run of it."""

    project: Project
    topology: Topology
    physical: PhysicalPlan
    lock: Lock | None = None
    """The groups that had state when the queries were planned."""
    models: frozenset[NodeId] | None = None
    """Ids of the selected models; None for all."""
    intent: Intent = Update()
    manifest: bytes = b""
    """The manifest to store at the checkpoints."""
    misfits: Mapping[str, tuple[NodeId, ...]] = {}
    """The models because of which a query that they share with others can't continue."""
    trigger: str | None = "available_now"
    """When queries look for new records; None for a run's default."""
    wait: bool = False
    """Wait for another command that is using the target."""
    shared: bool = False
    """Other runs may run other queries of the target."""

    @property
    def catalog(self) -> Catalog:
        return self.topology.catalog

    @property
    def continues(self) -> bool:
        """Whether queries read on from where they are, as far as nothing changed."""
        return isinstance(self.intent, Update) and not (self.intent.rebuild or self.intent.ranges)


class SetupStep(Struct, frozen=True):
    """A preparation, such as starting Spark."""

    name: str
    message: str = ""
    done: bool = False


class QueryStarted(Struct, frozen=True):
    query: Query


class QueryProgress(Struct, frozen=True):
    query: str
    rows: int


class RunEnded(Struct, frozen=True):
    result: QueryResult


class DiagnosticEvent(Struct, frozen=True):
    """A note or warning."""

    diagnostic: Diagnostic


class TableCompared(Struct, frozen=True):
    """The comparison of a rebuilt table with the running version."""

    model: NodeId
    columns: tuple[str, ...] = ()
    """The compared columns, besides the key."""
    rows: int = 0
    less: str = ""
    """Why the tables were not compared, or how they differ."""


class RangeReplaced(Struct, frozen=True):
    """The rows of a range of a table were computed again."""

    model: NodeId
    column: str
    start: str = field(name="from")
    end: str = field(name="to")
    rows: int
    before: int
    """How many rows the range had before."""

    @property
    def text(self) -> str:
        rows = f"{self.rows:,} row{'' if self.rows == 1 else 's'} instead of {self.before:,}"
        return f"{rows}: {self.column} from {self.start} to {self.end}"


class QueryWaiting(Struct, frozen=True):
    """A query will run, perhaps after others have caught up."""

    query: Query


class QueryRunning(Struct, frozen=True):
    """A query started or restarted."""

    query: Query
    rebuilding: bool = False
    """It is rebuilt alongside the running version."""


class MachineUsage(Struct, frozen=True):
    """What the processes of a run use."""

    heap: dict[str, int] = {}
    """Bytes of the JVM's heap: `used`, `committed`, `max`."""
    collections: dict[str, tuple[int, float]] = {}
    """How often each garbage collector ran, and for how many seconds in total."""
    resident: dict[str, int] = {}
    """Bytes of memory of each process on this machine: `python`, `jvm`, `workers`."""
    at_once: int = 0
    """How many queries run a batch at a time, besides a quick one; 0: all."""
    cores: int = 0
    """The cores of Spark."""


class DataTested(Struct, frozen=True):
    """A data test of stored rows ran while the queries run."""

    test: NodeId
    """Its id."""
    passed: bool
    message: str = ""
    severity: str = "error"
    kind: str = ""
    """The kind of the test, such as `freshness`."""


class BatchCompleted(Struct, frozen=True):
    query: str
    batch: BatchResult


class FunctionLogged(Struct, frozen=True):
    """A Python function logged something in one of Spark's workers."""

    function: str
    models: tuple[str, ...]
    """Those that its query stores."""
    level: str
    message: str
    logger: str = ""
    exception: str = ""
    """A traceback, if it logged one."""
    location: dict[str, str] = field(default={}, name="at")
    """The row, as far as that is known: its model and key, or the position of its record."""
    left_out: int = 0
    """How many records its worker left out before, because they were too many."""


class LineLogged(Struct, frozen=True):
    """A line of the run's log: a row of a model, or what a function logged."""

    level: str
    text: str
    data: dict[str, Any] = {}


class TopicEnds(Struct, frozen=True):
    """Where the sources that are read end now."""

    streams: Mapping[str, Position]


class QueryIdle(Struct, frozen=True):
    """A query has nothing new to read."""

    query: str


class QueryFailed(Struct, frozen=True):
    query: str
    diagnostic: Diagnostic
    failures: int
    """Consecutive failures, without a completed batch."""
    again: float
    """Seconds until it is restarted."""


class LeftOut(Struct, frozen=True):
    """A model fails on its own; its query continues without it."""

    query: str
    model: NodeId
    diagnostic: Diagnostic


class QueryStopped(Struct, frozen=True):
    query: str
    repeats: bool = False
    """Its last batch did not finish in time; the next start runs it again."""


class ApplyStep(Struct, frozen=True):
    """An apply to a run: what happens to which queries."""

    step: Literal["began", "splitting", "split", "rebuilding", "caught_up", "handover", "replaced", "failed"]
    queries: tuple[str, ...] = ()
    message: str = ""


class QueryRemoved(Struct, frozen=True):
    """A query no longer belongs to the project."""

    query: str


OfBuild = (
    SetupStep
    | QueryStarted
    | QueryProgress
    | LeftOut
    | RunEnded
    | DiagnosticEvent
    | TableCompared
    | RangeReplaced
)
OfQuery = QueryWaiting | QueryRunning | BatchCompleted | QueryIdle | QueryFailed | LeftOut | QueryStopped
OfLog = FunctionLogged | LineLogged
OfRun = (
    SetupStep
    | DiagnosticEvent
    | TableCompared
    | RangeReplaced
    | TopicEnds
    | DataTested
    | MachineUsage
    | ApplyStep
    | QueryRemoved
    | OfLog
    | OfQuery
)
Event = OfBuild | OfRun
Tell = Callable[[Event], None]
"""Called from several threads."""
