"""A small catalog, and a Maven repository on this machine that has what is in it."""

import threading

import pytest
from support.mirror import CONTENT, Mirror, jar_of


@pytest.fixture
def catalog():
    one, two, three = (jar_of(name, content) for name, content in CONTENT.items())
    return {"first": (one, two), "second": (two, three)}


@pytest.fixture
def mirror(catalog, tmp_path, monkeypatch):
    mirror = Mirror()
    for jars in catalog.values():
        for jar in jars:
            mirror.files[f"/maven/{jar.path}"] = CONTENT[jar.artifact]
    thread = threading.Thread(target=mirror.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", mirror.url)
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    yield mirror
    mirror.server.shutdown()
    mirror.server.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    """Try again at once."""
    monkeypatch.setattr("millstream.local.jars.download._PAUSES", (0.0, 0.0))
