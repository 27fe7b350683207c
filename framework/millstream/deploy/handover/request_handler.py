"""Handles what commands ask of a run; what it executes changes only by them."""

from __future__ import annotations

import threading
from collections.abc import Callable

from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.checkpoints.applied import read_apply
from millstream.deploy.engine import Engine
from millstream.deploy.handover.channel import RequestSender
from millstream.deploy.handover.deploy import deploy_version
from millstream.deploy.handover.live_rollback import roll_back_run
from millstream.deploy.handover.splitting import split_run
from millstream.deploy.handover.values import (
    DeployFinished,
    DeployRequest,
    Request,
    RollBackRequest,
    answer_of,
)
from millstream.deploy.handover.version_loading import engine_of, load_version
from millstream.deploy.live.live_queries import LiveQueries
from millstream.deploy.values import ApplyStep, Event
from millstream.engine.queries.failures import problem_of


class AbandonedError(Exception):
    """The command that asked has ended, or the run stops."""


class RequestHandler:
    def __init__(self, live: LiveQueries, stopping: threading.Event) -> None:
        self._live = live
        self._stopping = stopping
        self._before: tuple[str, Engine] | None = None
        """The id of the last apply that has rebuilt something in this run, and the version before it."""

    def __call__(self, request: Request, caller: RequestSender) -> DeployFinished:
        tell = self._live.running.tell

        def go_on() -> None:
            if self._stopping.is_set() or not caller.waits:
                raise AbandonedError

        tell(ApplyStep("began"))
        try:
            return self._handle(request, caller, go_on)
        except AbandonedError:
            said = "the run stops" if self._stopping.is_set() else "the command has ended"
            tell(ApplyStep("failed", said=said))
            remedy = "repeat the command: it continues"
            raise MillstreamError(Diagnostic("MS890", f"not applied: {said}", None, remedy)) from None
        except MillstreamError as error:
            tell(ApplyStep("failed", said="; ".join(diagnostic.message for diagnostic in error.diagnostics)))
            raise
        except Exception as error:
            running = self._live.running
            diagnostic = problem_of("apply", error, str(running.log))
            tell(ApplyStep("failed", said=diagnostic.message))
            raise MillstreamError(diagnostic) from error

    def _handle(self, request: Request, caller: RequestSender, go_on: Callable[[], None]) -> DeployFinished:
        old = self._live.running
        match request:
            case DeployRequest(version=version, intent=intent):
                applied = read_apply(old.files, old.checkpoints)
                job = load_version(old, version, intent)
                split_run(self._live, job, go_on)
                old = self._live.running
                finished = deploy_version(self._live, engine_of(_telling(old, caller), job), go_on)
                now = read_apply(old.files, old.checkpoints)
                if now is not None and now != applied:
                    self._before = now.id, old
            case RollBackRequest(version=version):
                finished = roll_back_run(self._live, _telling(old, caller), self._before, version, go_on)
                self._before = None
        # The command does not listen any more.
        self._live.running = replace(self._live.running, tell=old.tell)
        for supervised in self._live.all():
            supervised.adopt(self._live.running)
        return finished


def _telling(engine: Engine, caller: RequestSender) -> Engine:
    """Return an engine that also reports to the command that has asked."""
    tell_run = engine.tell

    def tell(event: Event) -> None:
        tell_run(event)
        if (answer := answer_of(event)) is not None:
            caller.tell(answer)

    return replace(engine, tell=tell)
