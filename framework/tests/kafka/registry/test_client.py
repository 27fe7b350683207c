"""What a user is told of a registry that does not answer as it should."""

import json
import socket
import ssl
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.registry import certificate_in, needs_java

from millstream.core.errors import MillstreamError
from millstream.core.text import Location
from millstream.kafka.registry.client import Registry
from millstream.kafka.registry.connection import connect_registry
from millstream.kafka.registry.settings import RegistryAddress, client_settings
from millstream.project.secrets import Secret
from millstream.project.values import Target

LOCATION = Location("profiles.yml", 4, 7, 10)


@contextmanager
def answering(status, body, *, cert=None, seen=None):
    """Yield the URL of a server that gives one answer to everything."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if seen is not None:
                seen.append((self.path, self.headers.get("Authorization")))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if cert:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*cert)
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http{'s' if cert else ''}://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def registry(url, **settings):
    return Registry(RegistryAddress(url, {"url": url, **settings}, LOCATION))


def read_subject(url, settings):
    with closing(registry(url, **settings)) as connection:
        connection.subject("orders-value")


def failure(url, **settings):
    with pytest.raises(MillstreamError) as failed:
        read_subject(url, settings)
    (diagnostic,) = failed.value.diagnostics
    assert diagnostic.location == LOCATION
    assert diagnostic.help
    return diagnostic


def test_nobody_answers():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    diagnostic = failure(url)
    assert (diagnostic.code, url in diagnostic.message) == ("MS891", True)


def test_a_registry_that_never_answers(monkeypatch):
    monkeypatch.setattr("millstream.kafka.registry.settings._SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        diagnostic = failure(f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert diagnostic.code == "MS891"
    assert diagnostic.message.endswith("it does not answer in time")


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (401, b'{"error_code": 401, "message": "Unauthorized"}', "MS892"),
        (403, b"<html>forbidden</html>", "MS892"),
        (404, b'{"error_code": 40401, "message": "no"}', "MS893"),
        (404, b"<html>nothing here</html>", "MS891"),
        (200, b"<html>welcome</html>", "MS891"),
        (200, b'{"a": 1}', "MS891"),
        (422, b'{"error_code": 42201, "message": "Invalid schema"}', "MS894"),
        (500, b'{"error_code": 50001, "message": "Error in the backend data store"}', "MS896"),
    ],
)
def test_answers(status, body, code):
    with answering(status, body) as url:
        assert failure(url).code == code


def test_a_login_is_sent_and_never_shown():
    seen = []
    body = json.dumps({"error_code": 401, "message": "the password hunter2 is wrong"}).encode()
    with answering(500, body, seen=seen) as url:
        diagnostic = failure(url, username="me", password=Secret("hunter2"))
        token = failure(url, token=Secret("tok-1"))
    assert "hunter2" not in str(diagnostic)
    assert "tok-1" not in str(token)
    assert {login for _, login in seen} == {"Basic bWU6aHVudGVyMg==", "Bearer tok-1"}


def test_a_password_in_the_address_is_never_shown():
    with answering(404, b"") as url:
        diagnostic = failure(url.replace("http://", "http://me:hunter2@"))
    assert "hunter2" not in str(diagnostic)
    assert url in diagnostic.message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"username": "me"}, "'password'"),
        ({"password": "x"}, "'username'"),
        ({"token": "t", "username": "u", "password": "p"}, "exclude"),
        ({"key": "k.pem"}, "'certificate'"),
        ({"ca": "missing.pem"}, "does not exist"),
    ],
)
def test_settings_that_do_not_fit_together(settings, message):
    diagnostic = failure("http://127.0.0.1:1", **settings)
    assert diagnostic.code == "MS895"
    assert message in diagnostic.message


@pytest.mark.parametrize("url", ["localhost:8081", "http://[", "ftp://x"])
def test_invalid_addresses(url):
    assert failure(url).code in {"MS891", "MS895"}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return certificate_in(tmp_path_factory.mktemp("tls"))


def test_a_certificate_must_be_trusted(certificate):
    with answering(404, b'{"error_code": 40401, "message": "no"}', cert=certificate) as url:
        distrusted = failure(url)
        assert (distrusted.code, distrusted.help) == ("MS891", "name the certificates to trust with ca: …")
        assert failure(url, ca=str(certificate[0])).code == "MS893"


def test_a_file_that_is_no_certificate(tmp_path):
    (tmp_path / "ca.pem").write_text("none")
    assert failure("https://127.0.0.1:1", ca=str(tmp_path / "ca.pem")).code == "MS895"


def test_paths_are_relative_to_the_project(tmp_path):
    (tmp_path / "ca.pem").write_text("x")
    address = RegistryAddress("https://x", {"url": "https://x", "ca": "ca.pem"}, LOCATION, str(tmp_path))
    assert client_settings(address)["ssl.ca.location"] == str(tmp_path / "ca.pem")


def test_a_cluster_without_a_registry(tmp_path):
    target = Target("p", "prod", {"kafka": {"bootstrap_servers": "x:9092"}}, LOCATION)
    with (
        pytest.raises(MillstreamError, match=r"MS895.*'prod' has no schema registry"),
        connect_registry(target, tmp_path, {}),
    ):
        pass


@needs_java
def test_the_id_of_a_schema(server, register, name):
    id_ = register(f"{name}-value", '{"type": "object", "properties": {}}')
    with closing(registry(server.url)) as connection:
        assert (connection.schema(id_).id, connection.schema(id_).text) == (
            id_,
            '{"type":"object","properties":{}}',
        )
        with pytest.raises(MillstreamError, match=r"MS893.*id 4000000"):
            connection.schema(4_000_000)
