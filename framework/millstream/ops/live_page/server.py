"""Serves the live page, its figures and the project's site on this machine only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from millstream.core.encoding import to_json
from millstream.docs.serving import SiteHandler, serve_folder
from millstream.ops.live_page.page import LivePage
from millstream.ops.live_page.values import DrawnLineage

_ASSETS = files("millstream.ops.live_page") / "assets"
_TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "json": "application/json"}
_SITE = "/site/"


@contextmanager
def serving_page(page: LivePage, lineage: DrawnLineage, site: Path, port: int) -> Iterator[str]:
    """Serve while the block runs; yield the address."""
    handler = _handler(page, lineage)
    with serve_folder(site, port, handler) as (address, server):
        thread = threading.Thread(target=server.serve_forever, name="live page", daemon=True)
        thread.start()
        try:
            yield address
        finally:
            page.end()
            server.shutdown()
            thread.join()


def _handler(page: LivePage, lineage: DrawnLineage) -> type[SiteHandler]:
    drawn = to_json(lineage)
    assets = {f"/{name}": (_ASSETS / name).read_bytes() for name in ("index.html", "live.css", "live.js")}

    class LivePageHandler(SiteHandler):
        def do_GET(self) -> None:  # noqa: N802 - as the base class has it
            path = self.path.partition("?")[0]
            path = "/index.html" if path == "/" else path
            if path.startswith(_SITE):
                self.path = path.removeprefix(_SITE[:-1])
                super().do_GET()
            elif not self.is_local():
                return
            elif path in assets:
                self._answer(path, assets[path])
            elif path == "/lineage.json":
                self._answer(path, drawn)
            elif path == "/run.json":
                self._answer(path, to_json(page.shown()))
            else:
                self.send_error(404, "Not Found")

        def _answer(self, path: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", f"{_TYPES[path.rpartition('.')[2]]}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return LivePageHandler
