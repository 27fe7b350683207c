"""Java, jars and ports that a machine lacks: what the remedy says works."""

import os
import socket

import pytest

from millstream.core.errors import MillstreamError
from millstream.docs.serving import serve_folder
from millstream.local.jars import fetch_jars
from millstream.local.java import find_java
from millstream.ops.query_status import RunTotals
from millstream.ops.serving import serve_metrics


def refused(call, *arguments, **options):
    with pytest.raises(MillstreamError) as caught:
        call(*arguments, **options)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.help


# -- Java


@pytest.fixture
def java(tmp_path):
    """Return a function that makes the folder of a Java, whose program is a shell script."""

    def make(name, script):
        program = tmp_path / name / "bin/java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return str(tmp_path / name)

    return make


@pytest.mark.skipif(os.name == "nt", reason="needs sh")
@pytest.mark.parametrize(
    ("code", "script"),
    [("MS801", None), ("MS802", "echo 'openjdk version \"1.8.0\"' >&2"), ("MS803", "echo no version")],
)
def test_a_java_that_does_not_fit(java, tmp_path, monkeypatch, code, script):
    wrong = java("wrong", script) if script else str(tmp_path / "missing")
    new = java("new", "echo 'openjdk version \"21.0.4\"' >&2")
    monkeypatch.setenv("JAVA_HOME", wrong)
    code_of_home, remedy = refused(find_java)
    assert code_of_home == code
    assert remedy.endswith(", and set JAVA_HOME to its folder")
    monkeypatch.setenv("JAVA_HOME", new)
    assert find_java().major == 21
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", wrong + "/bin")
    assert refused(find_java) == (code, remedy.removesuffix(", and set JAVA_HOME to its folder"))
    monkeypatch.setenv("PATH", new + "/bin")
    assert find_java().major == 21


# -- jars

ONE = "/maven/org/example/tools/one/1.0/one-1.0.jar"
OTHER = "set another repository with MILLSTREAM_MAVEN_REPOSITORY"


def test_a_repository_that_is_not_there(mirror, catalog, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", "http://nowhere.invalid/maven")
    code, remedy = refused(fetch_jars, ["first"], catalog=catalog)
    expected = "or set a mirror that is reachable with MILLSTREAM_MAVEN_REPOSITORY"
    assert (code, expected in remedy) == ("MS804", True)
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", mirror.url)
    fetch_jars(["first"], catalog=catalog)


def test_a_jar_that_a_mirror_lacks(mirror, catalog):
    content = mirror.files.pop(ONE)
    code, remedy = refused(fetch_jars, ["first"], catalog=catalog)
    assert (code, remedy) == ("MS805", f"add it to the mirror, or {OTHER}")
    mirror.files[ONE] = content
    fetch_jars(["first"], catalog=catalog)


def test_a_jar_that_was_damaged(mirror, catalog):
    content, mirror.files[ONE] = mirror.files[ONE], b"<html>log in</html>"
    code, remedy = refused(fetch_jars, ["first"], catalog=catalog)
    assert (code, remedy) == ("MS806", f"fetch it again; if that does not help, {OTHER}")
    mirror.files[ONE] = content
    fetch_jars(["first"], catalog=catalog)


def test_a_cache_that_is_not_a_folder(mirror, catalog, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path / "file"))
    code, remedy = refused(fetch_jars, ["first"], catalog=catalog)
    assert (code, remedy.endswith("or set another folder with MILLSTREAM_CACHE_DIR")) == ("MS807", True)
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path / "other"))
    fetch_jars(["first"], catalog=catalog)


def test_an_address_that_is_not_valid(mirror, catalog, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", mirror.url.removeprefix("http://"))
    code, remedy = refused(fetch_jars, ["first"], catalog=catalog)
    expected = "write the address of a Maven repository: https://…, http://… or file:///…"
    assert (code, remedy) == ("MS808", expected)
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", mirror.url)
    fetch_jars(["first"], catalog=catalog)


# -- ports


def test_a_port_that_is_used(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as used:
        port = used.getsockname()[1]
        code, remedy = refused(serve_folder(tmp_path, port).__enter__)
        assert (code, remedy) == ("MS708", "choose another --port, or 0 for any free port")
        with serve_folder(tmp_path, 0) as (address, _):
            assert not address.endswith(f":{port}/")
        code, remedy = refused(serve_metrics(RunTotals(), "127.0.0.1", port).__enter__)
        assert (code, remedy) == ("MS881", "choose another --port, or 0 to disable it")
        with serve_metrics(RunTotals(), "127.0.0.1", 0):
            pass
