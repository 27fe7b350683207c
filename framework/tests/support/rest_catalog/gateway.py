"""A gateway before a REST catalog, which lets in who has a token, as most catalogs do."""

import json
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import parse_qsl

_PASSED = ("Content-Type", "ETag")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _forward(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.endswith("/oauth/tokens"):
            self._log_in(dict(parse_qsl(body.decode())))
            return
        if self.headers.get("Authorization") != f"Bearer {self.server.token}":
            error = {"message": "Credentials are not valid", "type": "NotAuthorizedException", "code": 401}
            self._answer(401, {"Content-Type": "application/json"}, json.dumps({"error": error}).encode())
            return
        headers = {"Content-Type": self.headers.get("Content-Type", "application/json")}
        request = urllib.request.Request(
            f"{self.server.uri}{self.path}", body or None, headers, method=self.command
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                self._answer(answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            self._answer(error.code, error.headers, error.read())

    def _log_in(self, form):
        if f"{form.get('client_id')}:{form.get('client_secret')}" == self.server.credential:
            token = {"access_token": self.server.token, "token_type": "bearer", "expires_in": 3600}
            self._answer(200, {"Content-Type": "application/json"}, json.dumps(token).encode())
            return
        error = {"error": "invalid_client", "error_description": "Credentials are not valid"}
        self._answer(401, {"Content-Type": "application/json"}, json.dumps(error).encode())

    def _answer(self, status, headers, body):
        self.send_response(status)
        for name in _PASSED:
            if headers.get(name):
                self.send_header(name, headers[name])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_POST = do_HEAD = do_DELETE = _forward  # noqa: N815 -- names that Python's server calls

    def log_message(self, *_):
        pass


@contextmanager
def gateway(uri, token, credential=""):
    """Run the gateway, and yield its address; for a credential, it gives the token."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.uri, server.token, server.credential = uri, token, credential
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
