"""What a command asks of a run, and what the run answers."""

from __future__ import annotations

from msgspec import Struct

from millstream.core.errors import Diagnostic
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import Compared, DiagnosticEvent, Setup


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


class Deploy(Struct, frozen=True, tag="deploy"):
    version: ProjectVersion
    intent: Apply


class RollBack(Struct, frozen=True, tag="roll_back"):
    version: ProjectVersion
    """The project on disk, if the run does not know the version that ran before."""


Request = Deploy | RollBack


class Hello(Struct, frozen=True):
    """The first line of a connection."""

    token: str
    millstream: str
    """The version of Millstream that asks."""
    request: Request


class Refused(Struct, frozen=True, tag="refused"):
    """The request failed, and the versions before it continue."""

    diagnostics: tuple[Diagnostic, ...]


class Finished(Struct, frozen=True, tag="finished"):
    replaced: tuple[str, ...] = ()
    """The queries that have another version now."""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


class Step(Struct, frozen=True, tag="step"):
    name: str
    said: str = ""
    done: bool = False

    @property
    def event(self) -> Setup:
        return Setup(self.name, self.said, self.done)


class Comparison(Struct, frozen=True, tag="compared"):
    result: Compared


class Warned(Struct, frozen=True, tag="told"):
    diagnostic: Diagnostic


Answer = Step | Comparison | Warned | Refused | Finished


def answer_of(event: object) -> Answer | None:
    """Return an event of a run for the command that has asked for it; None if it does not matter there."""
    match event:
        case Setup(name=name, said=said, done=done):
            return Step(name, said, done)
        case Compared():
            return Comparison(event)
        case DiagnosticEvent(diagnostic=diagnostic):
            return Warned(diagnostic)
    return None
