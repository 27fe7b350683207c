"""Java as it is found and judged."""

import os

import pytest

from millstream.core.errors import MillstreamError
from millstream.local.java import find_java, java_version

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs sh")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a function that makes a JAVA_HOME of a shell script."""

    def make(script, mode=0o755):
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/java").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin/java").chmod(mode)
        return tmp_path / "bin/java"

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return make


def test_the_java_of_java_home(home):
    program = home("echo 'openjdk version \"21.0.4\" 2024-07-16' >&2")
    installed = find_java()
    assert (installed.program, installed.version, installed.major) == (program, "21.0.4", 21)


def test_java_sees_no_secrets(home, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_PLAIN_NAME", "swordfish")
    home(f"env > {tmp_path}/seen; echo 'openjdk version \"21.0.4\"' >&2")
    find_java()
    seen = (tmp_path / "seen").read_text()
    assert f"JAVA_HOME={tmp_path}\n" in seen
    assert "swordfish" not in seen


def test_the_java_on_the_path(home, monkeypatch):
    program = home("echo 'openjdk version \"17\"' >&2")
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(program.parent))
    assert find_java().program == program


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("echo 'java version \"1.8.0_432\"' >&2", "MS802", "1.8.0_432 at "),
        ("echo Usage", "MS803", "does not report a version"),
    ],
)
def test_what_is_no_java_for_us(home, script, code, message):
    home(script)
    with pytest.raises(MillstreamError) as caught:
        find_java()
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert message in diagnostic.message
    assert "Java 17 or newer" in diagnostic.help


def test_no_java(home):
    with pytest.raises(MillstreamError, match=r"MS801.*not found in JAVA_HOME"):
        find_java()


def test_a_java_that_cannot_be_run(home):
    program = home("")
    program.write_bytes(b"\x7fELF but not really")
    with pytest.raises(MillstreamError, match=r"MS803.*can't be run"):
        find_java()


@pytest.mark.parametrize(
    ("message", "version"),
    [('openjdk version "21" 2023', (21, "21")), ('version "1.8.0"', (8, "1.8.0")), ("x", None)],
)
def test_java_versions(message, version):
    assert java_version(message) == version
