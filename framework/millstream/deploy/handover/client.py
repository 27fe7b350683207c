"""Asks the run of a target, and reports its answers."""

from __future__ import annotations

from millstream.core.errors import MillstreamError
from millstream.deploy.handover.channel import RunConnection
from millstream.deploy.handover.values import (
    DeployFinished,
    DeployRequest,
    ProjectVersion,
    RangeReport,
    RangeRequest,
    Request,
    RequestRefused,
    RollBackRequest,
    StepReport,
    StepWarning,
    TableComparison,
)
from millstream.deploy.planning.intents import Apply, Update
from millstream.deploy.values import DiagnosticEvent, Tell


def request_deploy(
    run: RunConnection, version: ProjectVersion, intent: Apply | None, tell: Tell
) -> DeployFinished:
    """Let a run deploy a version, or roll back without an `intent`; raise if it refuses."""
    return _ask(run, RollBackRequest(version) if intent is None else DeployRequest(version, intent), tell)


def request_ranges(run: RunConnection, manifest: bytes, intent: Update, tell: Tell) -> None:
    """Let a run compute the ranges of an intent again; raise if it refuses."""
    _ask(run, RangeRequest(manifest, dict(intent.ranges), intent.fewer_rows), tell)


def _ask(run: RunConnection, request: Request, tell: Tell) -> DeployFinished:
    for answer in run.ask(request):
        match answer:
            case StepReport():
                tell(answer.event)
            case TableComparison(result=result) | RangeReport(result=result):
                tell(result)
            case StepWarning(diagnostic=diagnostic):
                tell(DiagnosticEvent(diagnostic))
            case RequestRefused(diagnostics=diagnostics):
                raise MillstreamError(*diagnostics)
            case DeployFinished():
                return answer
    raise AssertionError("the run has not answered")
