"""Where notices go: a webhook or a command."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Literal, Protocol
from urllib.error import HTTPError, URLError

from millstream.project.secrets import Secret

PATIENCE = 10.0
"""Seconds that a delivery may take."""
Payload = Mapping[str, str | int]


class DeliveryError(Exception):
    """Why a notice was not delivered; the text contains no part of an address."""


class Destination(Protocol):
    name: str

    def deliver(self, payload: Payload) -> None: ...


class Webhook:
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


def _escaped(text: str) -> str:
    """Escape what Slack takes for links and mentions."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Command:
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
