"""Serves a site over HTTP on this machine only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from millstream.core.errors import Diagnostic, MillstreamError

HOST, PORT = "127.0.0.1", 8080
_NAMES = frozenset(("127.0.0.1", "localhost"))


@contextmanager
def serve_folder(
    folder: Path, port: int = PORT, handler: type[SiteHandler] | None = None
) -> Iterator[tuple[str, ThreadingHTTPServer]]:
    """Yield the address and the server; call its `serve_forever`."""
    try:
        server = ThreadingHTTPServer((HOST, port), partial(handler or SiteHandler, directory=str(folder)))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"can't listen on {HOST}:{port}: {reason.lower()}"
        remedy = "choose another --port, or 0 for any free port"
        raise MillstreamError(Diagnostic("MS708", message, None, remedy)) from None
    try:
        yield f"http://{HOST}:{server.server_address[1]}/", server
    finally:
        server.server_close()


class SiteHandler(SimpleHTTPRequestHandler):
    """Serves the files of the site only: no folder listings, and no requests of other sites."""

    def do_GET(self) -> None:
        if self.is_local():
            super().do_GET()

    def do_HEAD(self) -> None:
        if self.is_local():
            super().do_HEAD()

    def translate_path(self, path: str) -> str:
        """Return the file of a path; no file's name contains NUL, which the base class can't open."""
        return super().translate_path(path.replace("%00", "%EF%BF%BD").replace("\0", "\ufffd"))

    def is_local(self) -> bool:
        """Refuse other host names of this machine, through which other sites could read this one."""
        name = (self.headers.get("Host") or "").rpartition(":")[0] or self.headers.get("Host") or ""
        if name in _NAMES:
            return True
        self.send_error(421, "Misdirected Request")
        return False

    def list_directory(self, path: object) -> None:  # noqa: ARG002  # type: ignore[override]  # folders are not pages
        self.send_error(404, "Not Found")

    def end_headers(self) -> None:
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        """Log nothing."""
