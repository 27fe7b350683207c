"""A real HTTP server that receives what webhooks send."""

import json
import queue
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 60


class Receiver:
    """An HTTP server that answers with a status, once it may."""

    def __init__(self):
        self.received = queue.SimpleQueue()
        self.status = 200
        self.may_answer = threading.Event()
        self.may_answer.set()

    def next(self):
        return json.loads(self.received.get(timeout=PATIENCE))


@contextmanager
def receiving():
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            assert self.headers["Content-Type"] == "application/json"
            receiver.received.put(body)
            receiver.may_answer.wait(PATIENCE)
            self.send_response(receiver.status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def do_GET(self):
            receiver.received.put('"it was redirected"')
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/services/hidden"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield receiver
    finally:
        receiver.may_answer.set()
        server.shutdown()
        server.server_close()
        thread.join()
