"""Asks the run of a target, and reports its answers."""

from __future__ import annotations

from millstream.core.errors import MillstreamError
from millstream.deploy.handover.channel import Run
from millstream.deploy.handover.values import (
    Comparison,
    Deploy,
    Finished,
    ProjectVersion,
    Refused,
    RollBack,
    Step,
    Warned,
)
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import DiagnosticEvent, Tell


def ask(run: Run, version: ProjectVersion, intent: Apply | None, tell: Tell) -> Finished:
    """Let a run deploy a version, or roll back without an `intent`; raise if it refuses."""
    for answer in run.ask(RollBack(version) if intent is None else Deploy(version, intent)):
        match answer:
            case Step():
                tell(answer.event)
            case Comparison(result=result):
                tell(result)
            case Warned(diagnostic=diagnostic):
                tell(DiagnosticEvent(diagnostic))
            case Refused(diagnostics=diagnostics):
                raise MillstreamError(*diagnostics)
            case Finished():
                return answer
    raise AssertionError("the run has not answered")
