"""The archive of a server's classes: of names that are complete, made while a command runs."""

import subprocess
from pathlib import Path

import pytest
from support.archives import awaited

from millstream.machine.archive import archive_for
from millstream.machine.jars import fetch
from millstream.machine.java import java
from millstream.machine.server.class_archive import flags, keep_names, made_meanwhile

NAME = "org.apache.kafka.common.utils.AppInfoParser"


@pytest.fixture
def jars(tmp_path, monkeypatch):
    found = fetch(["broker"])["broker"]
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path))
    return found


@pytest.fixture
def archive(jars):
    return lambda: archive_for("server", java(), jars)


@pytest.fixture
def jvm(jars):
    return (str(java().program), "-cp", ":".join(map(str, jars)))


def written(archive):
    (option,) = flags(archive)
    file = Path(option.removeprefix("-XX:DumpLoadedClassList="))
    file.write_text(f"java/lang/Object id: 0\n{NAME.replace('.', '/')} id: 1\n")
    return file


def test_names_are_written_once(archive):
    first, other = archive(), archive()
    written(first), written(other)
    keep_names(first, complete=True)
    assert NAME.replace(".", "/") in archive().names.read_text()
    assert not flags(archive())
    keep_names(other, complete=False)
    assert [each.suffix for each in first.names.parent.iterdir()] == [".classes"]


def test_names_that_are_not_complete_make_no_archive(archive, jvm):
    recorded = archive()
    written(recorded)
    keep_names(recorded, complete=False)
    with made_meanwhile(archive(), jvm):
        pass
    assert not list(recorded.names.parent.iterdir())


def test_it_has_the_classes_of_its_names(archive, jvm):
    recorded = archive()
    written(recorded)
    keep_names(recorded, complete=True)
    with made_meanwhile(archive(), jvm):
        awaited(lambda: archive().file)
    assert [each.suffix for each in sorted(recorded.names.parent.iterdir())] == [".jsa", ".lock"]
    command = [*jvm, *flags(archive()), "-Xshare:on", "-Xlog:class+load", NAME]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert f"{NAME} source: shared objects file" in shown


def test_a_command_that_ends_earlier_leaves_the_names_to_another(archive, jvm):
    recorded = archive()
    written(recorded)
    keep_names(recorded, complete=True)
    with made_meanwhile(archive(), jvm):
        pass
    assert [each.suffix for each in sorted(recorded.names.parent.iterdir())] == [".classes", ".lock"]
    with made_meanwhile(archive(), jvm):
        awaited(lambda: archive().file)


def test_one_command_at_a_time_makes_it(archive, jvm, tmp_path):
    recorded = archive()
    written(recorded)
    keep_names(recorded, complete=True)
    with (
        made_meanwhile(archive(), ("sleep", "600")),
        made_meanwhile(archive(), ("touch", str(tmp_path / "second"))),
    ):
        pass
    assert not (tmp_path / "second").exists()


def test_a_cache_that_cannot_be_used_means_none():
    assert flags(None) == ()
    keep_names(None, complete=True)
    with made_meanwhile(None, ()):
        pass
