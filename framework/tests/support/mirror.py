"""A Maven repository on this machine."""

import hashlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from millstream.local.jars import Jar

CONTENT = {"one": b"1" * 200_000, "two": b"22" * 1000, "three": b"3"}


class Mirror:
    """Serves `files`; `answers` are given first, in turn: a status, or "cut" for a broken connection."""

    def __init__(self):
        self.files = {}
        self.answers = []
        self.requests = []
        self.logins = []
        mirror = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                mirror.requests.append(self.path)
                mirror.logins.append(self.headers.get("Authorization"))
                answer = mirror.answers.pop(0) if mirror.answers else 200
                content = mirror.files.get(self.path)
                if answer == 200 and content is None:
                    answer = 404
                if answer == "cut":
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content[: len(content) // 2])
                    return
                self.send_response(answer)
                self.end_headers()
                if answer == 200:
                    self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/maven"


def jar_of(name, content):
    return Jar("org.example.tools", name, "1.0", hashlib.sha256(content).hexdigest(), len(content))
