"""A site over HTTP, for this machine alone: browsers on it read the site as if it were on the web."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from millstream.errors import Diagnostic, MillstreamError

HOST, PORT = "127.0.0.1", 8080
_NAMES = frozenset(("127.0.0.1", "localhost"))


@contextmanager
def serving(folder: Path, port: int = PORT) -> Iterator[tuple[str, ThreadingHTTPServer]]:
    """Give the address and a server that answers once somebody calls its `serve_forever`."""
    try:
        server = ThreadingHTTPServer((HOST, port), partial(_Handler, directory=str(folder)))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MillstreamError(
            Diagnostic(
                "MS708",
                f"nothing can listen on {HOST}:{port}: {reason.lower()}",
                None,
                "choose another --port, or 0 for any that is free",
            )
        ) from None
    try:
        yield f"http://{HOST}:{server.server_address[1]}/", server
    finally:
        server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    """Files of the site and nothing else: no lists of folders, no other site's questions."""

    def do_GET(self) -> None:
        if self._asked_here():
            super().do_GET()

    def do_HEAD(self) -> None:
        if self._asked_here():
            super().do_HEAD()

    def _asked_here(self) -> bool:
        """Refuse names that somebody else gave this machine, through which their pages could read ours."""
        name = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host") or ""
        if name in _NAMES:
            return True
        self.send_error(421, "Misdirected Request")
        return False

    def list_directory(self, path: object) -> None:  # noqa: ARG002  # type: ignore[override]  # a folder is no page
        self.send_error(404, "Not Found")

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        """Say nothing: a reader's clicks are no news."""
