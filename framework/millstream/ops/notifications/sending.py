"""Sends notices in threads of their own."""

from __future__ import annotations

import json
import queue
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from http.client import HTTPException
from typing import Any, Literal, Protocol
from urllib.error import HTTPError, URLError

from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.deploy.values import DiagnosticEvent, Event, Tell
from millstream.ops.metrics import RunIdentity
from millstream.ops.notifications.notices import Notice, Notices
from millstream.plan.durations import duration_millis
from millstream.project.secrets import Secret, mask_secrets, secrets_in
from millstream.project.target_shapes import NOTICE_INTERVAL
from millstream.project.values import Target

PATIENCE = 10.0
"""Seconds that a delivery may take."""
Payload = Mapping[str, str | int]


class DeliveryError(Exception):
    """Why a notice was not delivered; the text contains no part of an address."""


class Destination(Protocol):
    name: str

    def deliver(self, payload: Payload) -> None: ...


class WebhookDestination:
    name = "the webhook"

    def __init__(self, url: Secret, format_: Literal["slack", "json"]) -> None:
        self._url = url
        self._format = format_
        self._opener = urllib.request.build_opener(_NoRedirects)

    def deliver(self, payload: Payload) -> None:
        body = {"text": _escaped(str(payload["text"]))} if self._format == "slack" else payload
        headers = {"Content-Type": "application/json"}
        try:
            request = urllib.request.Request(self._url.reveal(), json.dumps(body).encode(), headers)  # noqa: S310 -- profiles.py allows only http and https
            self._opener.open(request, timeout=PATIENCE).close()
        except HTTPError as error:
            error.close()
            raise DeliveryError(f"it answered with status {error.code}") from None
        except URLError as error:
            reason = error.reason
            text = (reason.strerror or type(reason).__name__) if isinstance(reason, OSError) else "no answer"
            raise DeliveryError(text) from None
        except (OSError, HTTPException, ValueError) as error:
            # Their texts may contain a part of the address.
            raise DeliveryError(type(error).__name__) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirected POST would arrive as a GET without its body."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


class CommandDestination:
    """A program that reads the notice as JSON from stdin."""

    def __init__(self, arguments: Sequence[str]) -> None:
        self.name = f"the command {arguments[0]}"
        self._arguments = list(arguments)

    def deliver(self, payload: Payload) -> None:
        try:
            done = subprocess.run(  # noqa: S603 -- the command of the target, without a shell
                self._arguments,
                input=json.dumps(payload).encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=PATIENCE,
                check=False,
                start_new_session=True,  # signals to the run's group would end it
            )
        except subprocess.TimeoutExpired:
            raise DeliveryError(f"it did not end within {PATIENCE:g} s") from None
        except OSError as error:
            raise DeliveryError(error.strerror or str(error)) from None
        if done.returncode:
            raise DeliveryError(f"it ended with exit code {done.returncode}")


MOST = 100
"""Notices that wait for one destination."""
AGAIN = (2.0, 10.0)
"""Seconds until a delivery is tried a second and a third time."""
CLOSING = 5.0
"""Seconds that a run which stops waits for notices to be sent."""


class NoticeSender:
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
def send_notices(target: Target, identity: RunIdentity, tell: Tell) -> Iterator[Tell]:
    """Yield a function that passes events to `tell`, and sends notices as the target says."""
    secrets = secrets_in(target.settings)

    def payload_of(notice: Notice) -> dict[str, Any]:
        shown = {name: value for name, value in to_builtins(notice).items() if name != "message"}
        about = f"{identity.project} ({identity.target}): {notice.message}"
        now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        fields = {"text": about, "time": now, "project": identity.project, "target": identity.target, **shown}
        return {
            name: mask_secrets(value, secrets) if isinstance(value, str) else value
            for name, value in fields.items()
        }

    def report(diagnostic: Diagnostic) -> None:
        tell(DiagnosticEvent(diagnostic))

    notifications: Sequence[dict[str, Any]] = target.settings.get("notifications") or ()
    senders = [
        NoticeSender(
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
        return CommandDestination(settings["command"])
    return WebhookDestination(
        url if isinstance(url, Secret) else Secret(url), settings.get("format") or "slack"
    )


def _interval(settings: dict[str, Any]) -> float:
    return duration_millis(settings.get("every") or NOTICE_INTERVAL) / 1000


def _escaped(text: str) -> str:
    """Escape what Slack takes for links and mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
