"""What keeps jars from coming is told with a remedy, and leaves nothing behind."""

import errno
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.core.errors import MillstreamError
from millstream.local.jars import fetch_jars, jars_folder


def failure(catalog):
    with pytest.raises(MillstreamError) as caught:
        fetch_jars(["first"], catalog=catalog)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def test_no_network(mirror, catalog, monkeypatch):
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", f"http://127.0.0.1:{nobody.getsockname()[1]}/m")
        diagnostic = failure(catalog)
    assert diagnostic.code == "MS804"
    assert diagnostic.message == "can't fetch jars from 127.0.0.1: Connection refused"
    assert "MILLSTREAM_MAVEN_REPOSITORY" in diagnostic.help
    assert "millstream debug --fetch" in diagnostic.help


def test_a_host_that_does_not_exist(mirror, catalog, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", "http://nowhere.invalid/maven")
    diagnostic = failure(catalog)
    assert diagnostic.code == "MS804"
    assert "nowhere.invalid" in diagnostic.message


def test_a_connection_that_is_always_cut(mirror, catalog):
    mirror.answers = ["cut"] * 20
    assert failure(catalog).code == "MS804"
    assert list(jars_folder().iterdir()) == []


def test_a_host_that_is_silent(mirror, catalog, monkeypatch):
    monkeypatch.setattr("millstream.local.jars.download._TIMEOUT", 0.1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", f"http://127.0.0.1:{silent.getsockname()[1]}/m")
        assert failure(catalog).message.endswith("it does not answer")


def test_a_mirror_without_the_jar(mirror, catalog):
    del mirror.files["/maven/org/example/tools/two/1.0/two-1.0.jar"]
    diagnostic = failure(catalog)
    assert diagnostic.code == "MS805"
    assert diagnostic.message == f"{mirror.url} does not have org.example.tools:two:1.0"


def test_a_folder_without_the_jar(mirror, catalog, monkeypatch, tmp_path):
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", tmp_path.as_uri())
    diagnostic = failure(catalog)
    assert diagnostic.code == "MS804"
    assert diagnostic.message.endswith("-1.0.jar does not exist")  # whichever is looked for first


@pytest.mark.parametrize(
    ("status", "message"), [(401, "refuses"), (403, "refuses"), (500, "answers HTTP 500")]
)
def test_a_mirror_that_refuses(mirror, catalog, status, message):
    mirror.answers = [status] * 20
    diagnostic = failure(catalog)
    assert diagnostic.code == "MS805"
    assert message in diagnostic.message


def test_a_wrong_checksum(mirror, catalog):
    mirror.files["/maven/org/example/tools/one/1.0/one-1.0.jar"] = b"<html>log in</html>"
    diagnostic = failure(catalog)
    assert diagnostic.code == "MS806"
    assert mirror.url in diagnostic.message
    assert "org.example.tools:one:1.0" in diagnostic.message
    assert not (jars_folder() / "one-1.0.jar").exists()
    assert not list(jars_folder().glob(".fetching-*"))


@pytest.mark.parametrize("address", ["ftp://x/maven", "repo.example.com", "https://", "http://[::1/m"])
def test_no_address(mirror, catalog, monkeypatch, address):
    monkeypatch.setenv("MILLSTREAM_MAVEN_REPOSITORY", address)
    assert failure(catalog).code == "MS808"


def test_a_cache_that_is_no_folder(mirror, catalog, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path / "file"))
    diagnostic = failure(catalog)
    assert diagnostic.code == "MS807"
    assert "MILLSTREAM_CACHE_DIR" in diagnostic.help


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_cache_that_is_not_writable(mirror, catalog, tmp_path):
    jars_folder().mkdir(parents=True)
    jars_folder().chmod(0o500)
    diagnostic = failure(catalog)
    assert (diagnostic.code, diagnostic.message.rpartition(": ")[2]) == ("MS807", "permission denied")


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="needs to mount a small disk")
def test_a_full_disk(mirror, catalog, tmp_path, monkeypatch):
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting is not allowed")
    try:
        monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(disk))
        diagnostic = failure(catalog)
        assert diagnostic.code == "MS807"
        assert diagnostic.message.endswith(os.strerror(errno.ENOSPC).lower())
        assert "free space" in diagnostic.help
        assert not list(Path(disk, "jars").glob(".fetching-*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)
        shutil.rmtree(disk)
