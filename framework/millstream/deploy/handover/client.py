"""Asks the run of a target, and reports its answers."""

from __future__ import annotations

from millstream.core.errors import MillstreamError
from millstream.deploy.handover.channel import RunConnection
from millstream.deploy.handover.values import (
    DeployFinished,
    DeployRequest,
    ProjectVersion,
    RequestRefused,
    RollBackRequest,
    StepReport,
    StepWarning,
    TableComparison,
)
from millstream.deploy.planning.intents import Apply
from millstream.deploy.values import DiagnosticEvent, Tell


def request_deploy(
    run: RunConnection, version: ProjectVersion, intent: Apply | None, tell: Tell
) -> DeployFinished:
    """Let a run deploy a version, or roll back without an `intent`; raise if it refuses."""
    for answer in run.ask(RollBackRequest(version) if intent is None else DeployRequest(version, intent)):
        match answer:
            case StepReport():
                tell(answer.event)
            case TableComparison(result=result):
                tell(result)
            case StepWarning(diagnostic=diagnostic):
                tell(DiagnosticEvent(diagnostic))
            case RequestRefused(diagnostics=diagnostics):
                raise MillstreamError(*diagnostics)
            case DeployFinished():
                return answer
    raise AssertionError("the run has not answered")
