"""What a command asks of a run, and what the run answers."""

from __future__ import annotations

from msgspec import Struct

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import DiagnosticEvent, RangeReplaced, SetupStep, TableCompared
from millstream.plan.time_ranges import TimeRange


class ProjectVersion(Struct, frozen=True):
    """A compiled version of a project, and from where a run can load what is not compiled."""

    root: str
    target: str
    manifest: bytes
    """With the encoded plan."""
    contents: str
    """A digest of the files that queries execute or read."""
    vars: str | None = None
    """The option `--vars` of the command."""
    profiles_dir: str | None = None
    tests: bool = True


class DeployRequest(Struct, frozen=True, tag="deploy"):
    version: ProjectVersion
    intent: Apply


class RollBackRequest(Struct, frozen=True, tag="roll_back"):
    version: ProjectVersion
    """The project on disk, if the run does not know the version that ran before."""


class NewTopicsRequest(Struct, frozen=True, tag="new_topics"):
    """Topics that match the pattern of a source may have appeared: what runs shall read them, too."""


class RangeRequest(Struct, frozen=True, tag="range"):
    """Rows of tables shall be computed again."""

    manifest: bytes
    """The version of the project that asks: the one that runs."""
    ranges: dict[NodeId, TimeRange]
    fewer_rows: bool


Request = DeployRequest | RollBackRequest | NewTopicsRequest | RangeRequest


class Handshake(Struct, frozen=True):
    """The first line of a connection."""

    token: str
    millstream: str
    """The version of Millstream that asks."""
    request: Request


class RequestRefused(Struct, frozen=True, tag="refused"):
    """The request failed, and the versions before it continue."""

    diagnostics: tuple[Diagnostic, ...]


class DeployFinished(Struct, frozen=True, tag="finished"):
    replaced: tuple[str, ...] = ()
    """The queries that have another version now."""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class StepReport(Struct, frozen=True, tag="step"):
    name: str
    message: str = ""
    done: bool = False

    @property
    def event(self) -> SetupStep:
        return SetupStep(self.name, self.message, self.done)


class TableComparison(Struct, frozen=True, tag="compared"):
    result: TableCompared


class RangeReport(Struct, frozen=True, tag="replaced"):
    result: RangeReplaced


class StepWarning(Struct, frozen=True, tag="told"):
    diagnostic: Diagnostic


Answer = StepReport | TableComparison | RangeReport | StepWarning | RequestRefused | DeployFinished


def answer_of(event: object) -> Answer | None:
    """Return an event of a run for the command that has asked for it; None if it does not matter there."""
    match event:
        case SetupStep(name=name, message=message, done=done):
            return StepReport(name, message, done)
        case TableCompared():
            return TableComparison(event)
        case RangeReplaced():
            return RangeReport(event)
        case DiagnosticEvent(diagnostic=diagnostic):
            return StepWarning(diagnostic)
    return None
