"""Archives of classes: kept for one Java and class path, and only when whole."""

import os
import time
from pathlib import Path

import pytest

from millstream.local.archive import archive_for, drop_archive, keep_archive
from millstream.local.java import JavaInstallation

JAVA = JavaInstallation(Path("/usr/bin/java"), "17.0.15", 17)
JARS = (Path("/jars/a.jar"),)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path))


def written(java=JAVA, jars=JARS):
    archive = archive_for("broker", java, jars)
    Path(archive.written).write_bytes(b"classes")
    return archive


def test_the_first_jvm_writes_one_and_the_next_reads_it():
    first = written()
    assert first.flag == f"-XX:ArchiveClassesAtExit={first.written}"
    keep_archive(first)
    second = archive_for("broker", JAVA, JARS)
    assert second.flag == f"-XX:SharedArchiveFile={second.file}"
    assert Path(second.file).read_bytes() == b"classes"


@pytest.mark.parametrize(
    ("java", "jars"),
    [(JavaInstallation(JAVA.program, "21.0.1", 21), JARS), (JAVA, (*JARS, Path("/jars/b.jar")))],
)
def test_another_java_or_class_path_has_its_own(java, jars):
    keep_archive(written())
    assert archive_for("broker", java, jars).written


def test_another_build_of_a_java_has_its_own(tmp_path):
    (tmp_path / "lib").mkdir()
    modules = tmp_path / "lib/modules"
    modules.write_bytes(b"one")
    build = JavaInstallation(tmp_path / "bin/java", "21.0.1", 21)
    keep_archive(written(build))
    assert archive_for("broker", build, JARS).file
    modules.write_bytes(b"another")
    assert archive_for("broker", build, JARS).written


def test_one_that_was_cut_short_is_not_used():
    keep_archive(written())
    os.truncate(archive_for("broker", JAVA, JARS).file, 3)
    assert archive_for("broker", JAVA, JARS).written


def test_what_is_dropped_is_gone():
    archive = written()
    drop_archive(archive)
    keep_archive(archive)
    assert archive_for("broker", JAVA, JARS).written
    keep_archive(written())
    drop_archive(archive_for("broker", JAVA, JARS))
    assert archive_for("broker", JAVA, JARS).file
    drop_archive(archive_for("broker", JAVA, JARS), used=True)
    assert archive_for("broker", JAVA, JARS).written


def test_those_of_a_java_that_is_long_gone_are_removed():
    keep_archive(written(JavaInstallation(JAVA.program, "17.0.1", 17)))
    (old,) = Path(archive_for("broker", JAVA, JARS).name).parent.glob("*.jsa")
    os.utime(old, (0, 0))
    keep_archive(written())
    assert not old.exists()


def test_what_a_killed_jvm_began_to_write_is_removed():
    begun, now = (Path(archive_for("broker", JAVA, JARS).written) for _ in range(2))
    for file in (begun, now):
        file.write_bytes(b"half")
    os.utime(begun, (time.time() - 7200,) * 2)
    keep_archive(written())
    assert (begun.exists(), now.exists()) == (False, True)


def test_a_cache_that_is_no_folder_means_no_archive(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path / "file"))
    assert archive_for("broker", JAVA, JARS) is None
