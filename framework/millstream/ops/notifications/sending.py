"""Sends notices in threads of their own."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from typing import Any

from msgspec import to_builtins

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.values import DiagnosticEvent, Event, Tell
from millstream.ops.metrics import Identity
from millstream.ops.notifications.destinations import Command, DeliveryError, Destination, Payload, Webhook
from millstream.ops.notifications.notices import Notice, Notices
from millstream.plan.durations import milliseconds
from millstream.project.secrets import Secret, mask, secrets_in
from millstream.project.target_shapes import NOTICE_INTERVAL
from millstream.project.values import Target

MOST = 100
"""Notices that wait for one destination."""
AGAIN = (2.0, 10.0)
"""Seconds until a delivery is tried a second and a third time."""
CLOSING = 5.0
"""Seconds that a run which stops waits for notices to be sent."""


class Sender:
    """A destination, and the thread that sends notices to it."""

    def __init__(
        self,
        destination: Destination,
        notices: Notices,
        payload_of: Callable[[Notice], dict[str, Any]],
        report: Callable[[Diagnostic], None],
    ) -> None:
        self._destination = destination
        self._notices = notices
        self._payload_of = payload_of
        self._report = report
        self._queue: queue.Queue[Payload | None] = queue.Queue(MOST)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._failing = False
        self._thread = threading.Thread(target=self._work, name="notifications", daemon=True)
        self._thread.start()

    def tell(self, event: Event) -> None:
        with self._lock:  # events come from several threads
            notices = self._notices.of(event)
        self._put(notices)

    def end(self, diagnostic: Diagnostic) -> None:
        """Report the error that ends the run."""
        self._put(self._notices.of_end(diagnostic))

    def _put(self, notices: Iterable[Notice]) -> None:
        for notice in notices:
            try:
                self._queue.put_nowait(self._payload_of(notice))
            except queue.Full:
                self._failed(f"{MOST} notifications are waiting already")

    def close(self) -> None:
        """Start sending what is queued for the last time."""
        self._closing.set()
        with suppress(queue.Full):  # then the thread does not wait, and finds that it is closing
            self._queue.put_nowait(None)

    def join(self, deadline: float) -> None:
        self._thread.join(max(0.0, deadline - time.monotonic()))
        if self._thread.is_alive():
            self._failed("the run stopped first")

    def _work(self) -> None:
        while not (self._closing.is_set() and self._queue.empty()):
            payload = self._queue.get()
            if payload is not None:
                self._send(payload)

    def _send(self, payload: Payload) -> None:
        for wait in (*AGAIN, None):
            try:
                self._destination.deliver(payload)
            except DeliveryError as error:
                if wait is None or self._closing.wait(wait):
                    self._failed(str(error))
                    return
            else:
                self._failing = False
                return

    def _failed(self, why: str) -> None:
        """Report a failure, once until a notice is delivered again."""
        with self._lock:
            was_failing, self._failing = self._failing, True
        if not was_failing:
            message = f"a notification was not sent: {self._destination.name}: {why}"
            remedy = "fix `notifications` of the target; the run continues"
            self._report(Diagnostic("MS850", message, None, remedy, severity="warning"))


@contextmanager
def notifying(target: Target, identity: Identity, tell: Tell) -> Iterator[Tell]:
    """Yield a function that passes events to `tell`, and sends notices as the target says."""
    secrets = secrets_in(target.settings)

    def payload_of(notice: Notice) -> dict[str, Any]:
        shown = {name: value for name, value in to_builtins(notice).items() if name != "said"}
        about = f"{identity.project} ({identity.target}): {notice.said}"
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        fields = {"text": about, "time": now, "project": identity.project, "target": identity.target, **shown}
        return {
            name: mask(value, secrets) if isinstance(value, str) else value for name, value in fields.items()
        }

    def report(diagnostic: Diagnostic) -> None:
        tell(DiagnosticEvent(diagnostic))

    notifications: Sequence[dict[str, Any]] = target.settings.get("notifications") or ()
    senders = [
        Sender(
            _destination(settings), Notices(_interval(settings), settings.get("on") or ()), payload_of, report
        )
        for settings in notifications
    ]

    def tell_all(event: Event) -> None:
        tell(event)
        for sender in senders:
            sender.tell(event)

    try:
        yield tell_all
    except Exception as error:
        for sender in senders:
            sender.end(_diagnostic(error))
        raise
    finally:
        deadline = time.monotonic() + CLOSING
        for sender in senders:
            sender.close()
        for sender in senders:
            sender.join(deadline)


def _diagnostic(error: Exception) -> Diagnostic:
    if isinstance(error, MillstreamError):
        return error.diagnostics[0]
    return Diagnostic("MS900", f"internal error in Millstream: {type(error).__name__}")


def _destination(settings: dict[str, Any]) -> Destination:
    url = settings.get("webhook")
    if url is None:
        return Command(settings["command"])
    return Webhook(url if isinstance(url, Secret) else Secret(url), settings.get("format") or "slack")


def _interval(settings: dict[str, Any]) -> float:
    return milliseconds(settings.get("every") or NOTICE_INTERVAL) / 1000
