"""Serves `/metrics`, `/healthz` and `/readyz` of a run."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.ops.health import Health
from millstream.ops.metrics import RunIdentity, expose_metrics
from millstream.ops.query_status import RunTotals

_DEFAULT, _ANY = Health(), RunIdentity()


@contextmanager
def serve_metrics(
    totals: RunTotals, host: str, port: int, health: Health = _DEFAULT, identity: RunIdentity = _ANY
) -> Iterator[str]:
    """Serve HTTP while the block runs; yield the address."""
    try:
        server = _Server((host, port), _handler(totals, health, identity))
    except OSError as error:
        message = f"can't listen on {host}:{port}: {error.strerror or error}"
        remedy = "choose another --port, or 0 to disable it"
        raise MillstreamError(Diagnostic("MS881", message, None, remedy)) from None
    thread = Thread(target=server.serve_forever, name="http", daemon=True)
    thread.start()
    try:
        yield f"http://{host}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print errors, but not that a client has hung up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def _handler(totals: RunTotals, health: Health, identity: RunIdentity) -> type[BaseHTTPRequestHandler]:
    class MetricsHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/metrics":
                    accept = self.headers.get("Accept", "")
                    self._answer(200, *expose_metrics(totals, identity, accept))
                case "/healthz":
                    self._probe({status.query: health.not_live(status) for status in totals.all()})
                case "/readyz":
                    self._probe({status.query: health.not_ready(status) for status in totals.all()})
                case _:
                    self._answer(404, b"there are /metrics, /healthz and /readyz\n", "text/plain")

        def _probe(self, reasons: dict[str, list[str]]) -> None:
            queries = {query: not texts for query, texts in reasons.items()}
            good = bool(queries) and all(queries.values())
            reasons = reasons or {"run": ["no query has been started yet"]}
            body = {"good": good, "queries": queries, "reasons": {q: r for q, r in reasons.items() if r}}
            self._answer(200 if good else 503, json.dumps(body).encode() + b"\n", "application/json")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing, since probes come every few seconds."""

    return MetricsHandler
