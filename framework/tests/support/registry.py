"""A real schema registry for tests, to which Confluent's own client registers schemas."""

import base64
import ssl
import subprocess
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from millstream.kafka.registry.local.apicurio import OLDEST
from millstream.local.java import newest_java

needs_java = pytest.mark.skipif(
    newest_java(OLDEST) is None, reason=f"the local schema registry needs Java {OLDEST} or newer"
)


def client_of(url):
    """Return Confluent's client, which repeats a request that gets no answer; by default it waits forever."""
    return SchemaRegistryClient({"url": url, "timeout": 30})


def certificate_in(folder):
    """Make a certificate of 127.0.0.1 that signs itself; return it and its key."""
    key, cert = folder / "key.pem", folder / "cert.pem"
    subject = ("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    command = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject)
    subprocess.run([*command, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


@contextmanager
def gateway(upstream, *, login="", answer=None, port=0, tls=None):
    """Yield the URL of a gateway to a registry, which wants a login, `name:password`, or gives its own answer to everything.

    With `tls`, its certificate and its key, it wants a client that shows the same certificate.
    """
    authorization = f"Basic {base64.b64encode(login.encode()).decode()}"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if login and self.headers.get("Authorization") != authorization:
                self.reply(401, b'{"error_code": 401, "message": "Unauthorized"}')
            elif answer is not None:
                self.reply(*(answer(self.path) if callable(answer) else answer))
            else:
                try:
                    with urllib.request.urlopen(f"{upstream}{self.path}") as response:
                        self.reply(response.status, response.read())
                except urllib.error.HTTPError as error:
                    self.reply(error.code, error.read())

        def reply(self, status, body):
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            context.load_verify_locations(tls[0])
            context.verify_mode = ssl.CERT_REQUIRED
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def skipped_for_java(reports):
    """Return the tests that were skipped because no Java is new enough."""
    return sorted(report.nodeid for report in reports if "schema registry needs Java" in str(report.longrepr))
