"""The archive of a server's classes: of names that are complete, made while a command runs."""

import os
import subprocess
from pathlib import Path
from threading import enumerate as enumerate_threads

import pytest
from support.archives import awaited

from millstream.local.archive import archive_for
from millstream.local.jars import fetch_jars
from millstream.local.java import find_java
from millstream.local.server.class_archive import archive_meanwhile, archive_options, drop_names, keep_names

NAME = "org.apache.kafka.common.utils.AppInfoParser"


@pytest.fixture
def jars(tmp_path, monkeypatch):
    files = fetch_jars(["broker"])["broker"]
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path))
    return files


@pytest.fixture
def archive(jars):
    return lambda: archive_for("server", find_java(), jars)


@pytest.fixture
def jvm(jars):
    return (str(find_java().program), "-cp", ":".join(map(str, jars)))


def written(archive):
    (option,) = archive_options(archive)
    file = Path(option.removeprefix("-XX:DumpLoadedClassList="))
    file.write_text(f"java/lang/Object id: 0\n{NAME.replace('.', '/')} id: 1\n")
    return file


def recorded(archive):
    first = archive()
    written(first)
    keep_names(first)
    return first


def test_names_are_written_once(archive):
    first, other = archive(), archive()
    written(first), written(other)
    keep_names(first)
    assert NAME.replace(".", "/") in archive().names.read_text()
    assert not archive_options(archive())
    drop_names(other)
    assert [path.suffix for path in first.names.parent.iterdir()] == [".classes"]


def test_names_that_are_not_complete_make_no_archive(archive, jvm):
    first = archive()
    written(first)
    drop_names(first)
    with archive_meanwhile(archive(), jvm):
        pass
    assert not list(first.names.parent.iterdir())


def test_it_has_the_classes_of_its_names(archive, jvm):
    first = recorded(archive)
    with archive_meanwhile(archive(), jvm):
        awaited(lambda: archive().file)
    assert [path.suffix for path in sorted(first.names.parent.iterdir())] == [".jsa", ".lock"]
    command = [*jvm, *archive_options(archive()), "-Xshare:on", "-Xlog:class+load", NAME]
    shown = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert f"{NAME} source: shared objects file" in shown


def test_a_command_that_ends_earlier_leaves_the_names_to_another(archive, jvm):
    first = recorded(archive)
    with archive_meanwhile(archive(), jvm):
        pass
    assert [path.suffix for path in sorted(first.names.parent.iterdir())] == [".classes", ".lock"]
    with archive_meanwhile(archive(), jvm):
        awaited(lambda: archive().file)


def test_one_command_at_a_time_makes_it(archive, tmp_path):
    def writing(name):
        return ("sh", "-c", f"touch {tmp_path}/{name}; exec sleep 600", "sh")

    recorded(archive)
    with archive_meanwhile(archive(), writing("first")):
        awaited((tmp_path / "first").exists)
        with archive_meanwhile(archive(), ("touch", str(tmp_path / "second"))):
            assert not [thread for thread in enumerate_threads() if thread.name == "class archive"][1:]
    with archive_meanwhile(archive(), writing("third")):
        awaited((tmp_path / "third").exists)


def test_another_command_may_make_it_once_the_first_has_failed(archive, tmp_path, jvm):
    recorded(archive)
    with archive_meanwhile(archive(), ("false",)):
        awaited(lambda: not archive().names.exists())
        recorded(archive)
        with archive_meanwhile(archive(), jvm):
            awaited(lambda: archive().file)


def test_names_that_it_cannot_be_made_of_are_not_kept(archive, jvm):
    first = archive()
    written(first).write_text("no list of classes")
    keep_names(first)
    with archive_meanwhile(archive(), jvm):
        awaited(lambda: not first.names.exists())
    assert not archive().file
    assert archive_options(archive())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_means_none(archive, tmp_path):
    archive()
    (tmp_path / "archives").chmod(0)
    assert archive() is None


def test_without_an_archive_nothing_is_done():
    assert archive_options(None) == ()
    with archive_meanwhile(None, ()):
        pass
