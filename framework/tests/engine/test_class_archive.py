"""The archive of Spark's classes: made by a second JVM, which ends with the command."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from support.archives import awaited

from millstream.engine.spark import class_archive
from millstream.engine.spark.class_archive import ClassArchives, class_archives
from millstream.local.archive import Archive
from millstream.local.java import find_java

NAMES = (
    "java/util/BitSet",
    "org/apache/spark/sql/Row id: 7",
    "@lambda-proxy x y",
    "no/such/Class",
    "org/apache/avro/Schema",
    "java/util/Timer",
)
COMMAND = """
import os, signal, time
from millstream.local.archive_threads import _ending_with_command
signal.signal(signal.SIGQUIT, signal.SIG_DFL)  # shells start background processes without it
with _ending_with_command(["sleep", "600"], os.environ) as process:
    print(process.pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path))
    return tmp_path / "archives"


@pytest.fixture(autouse=True)
def enough(monkeypatch):
    monkeypatch.setattr(class_archive, "_FIRST", 2)
    monkeypatch.setattr(class_archive, "_ENOUGH", 5)


def cached(cache, kind):
    return list(cache.glob(kind))


def written_names(archives):
    """Return the file that Spark's JVM has to write names to."""
    (option,) = [option for option in shlex.split(archives.options) if "DumpLoadedClassList" in option]
    return Path(option.partition("=")[2])


def loaded_from(file, spark):
    """Return the classes that a JVM with Spark's class path finds in an archive."""
    path = spark._jvm.java.lang.System.getProperty("java.class.path")
    names_file = file.with_suffix(".txt")
    names_file.write_text("\n".join(NAMES))
    command = [str(find_java().program), "-Xshare:on", "-Xlog:class+load", f"-XX:SharedArchiveFile={file}"]
    log = subprocess.run(
        [*command, "-cp", path, "millstream.spark.ClassLoading", "0", "9", str(names_file)],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    names_file.unlink()
    lines = [line.split(" source: ") for line in log.splitlines() if " source: " in line]
    return {
        name.rpartition("] ")[2] for name, source in lines if source.startswith("shared objects file (top)")
    }


def is_alive(process):
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    return bool(state.stdout.strip()) and not state.stdout.startswith("Z")


def test_a_small_archive_comes_first_and_then_one_of_all(first_spark, cache, tmp_path):
    with class_archives(()) as archives:
        names = written_names(archives)
        with names.open("w") as growing:
            print(*NAMES[:4], sep="\n", file=growing, flush=True)
            archives.start(first_spark)
            (first,) = awaited(lambda: cached(cache, "spark-first-*.jsa"))
            small = shutil.copy(first, tmp_path)
            print(*NAMES[4:], sep="\n", file=growing, flush=True)
            (complete,) = awaited(lambda: set(cached(cache, "spark-*.jsa")) - {first})
            awaited(lambda: not first.exists() and not names.exists())
    assert "org.apache.spark.sql.Row" in (early := loaded_from(Path(small), first_spark))
    assert "org.apache.avro.Schema" not in early
    assert {"org.apache.spark.sql.Row", "org.apache.avro.Schema"} <= loaded_from(complete, first_spark)
    assert {file.suffix for file in cache.iterdir()} == {".jsa", ".lock"}
    with class_archives(()) as archives:
        assert shlex.split(archives.options) == [f"-XX:SharedArchiveFile={complete}"]


def test_a_command_that_ends_earlier_keeps_enough_names_for_another(first_spark, cache):
    with class_archives(()) as archives:
        names = written_names(archives)
        names.write_text("\n".join(NAMES))
        archives.start(first_spark)
    assert not cached(cache, "*.jsa")
    assert [file.read_text() for file in cached(cache, "*.classes")] == ["\n".join(NAMES)]
    with class_archives(()) as archives:
        assert archives.options == ""
        archives.start(first_spark)
        awaited(lambda: not cached(cache, "*.classes"))
    (complete,) = cached(cache, "*.jsa")
    assert "org.apache.avro.Schema" in loaded_from(complete, first_spark)


def test_few_names_make_no_archive_of_all(first_spark, cache):
    with class_archives(()) as archives:
        written_names(archives).write_text("\n".join(NAMES[:2]))
        archives.start(first_spark)
        awaited(lambda: not archives._thread.is_alive())
    (first,) = cached(cache, "*.jsa")
    assert first.name.startswith("spark-first-")
    assert not cached(cache, "*.classes")
    with class_archives(()) as archives:
        assert f"-XX:SharedArchiveFile={first}" in shlex.split(archives.options)
        assert written_names(archives).parent == cache


def test_one_command_at_a_time_makes_it():
    with class_archives(()) as first, class_archives(()) as second:
        assert first.options
        assert not second.options


def test_what_a_killed_command_left_is_removed(cache):
    with class_archives(()) as archives:
        names = written_names(archives)
    for end in ("", ".classes"):
        names.with_name(f"{names.stem}{end}").write_text("x")
    with class_archives(()):
        assert {file.suffix for file in cache.iterdir()} == {".lock"}


def test_it_is_not_tried_forever():
    for _ in range(5):
        with class_archives(()) as archives:
            assert archives.options
    with class_archives(()) as archives:
        assert not archives.options


def test_a_spark_elsewhere_has_none(cache):
    with class_archives(None) as archives:
        assert not archives.options
    assert not cache.exists()


@pytest.mark.parametrize("folder", ["plain", "two words", 'a "quoted" \\ one'])
def test_spark_gets_the_option_as_it_is(folder):
    options = ClassArchives(Archive(""), Archive("", file=f"/{folder}/spark.jsa")).options
    home = Path(pyspark.__file__).parent
    launcher = ["-cp", str(home / "jars/*"), "org.apache.spark.launcher.Main"]
    submit = [
        "org.apache.spark.deploy.SparkSubmit",
        "--conf",
        f"spark.driver.extraJavaOptions=-Da=b {options}",
    ]
    output = subprocess.run(
        [str(find_java().program), *launcher, *submit, "app.py"],
        env=os.environ | {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    assert f"-XX:SharedArchiveFile=/{folder}/spark.jsa" in output


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGQUIT])
def test_the_second_jvm_ends_with_a_command_that_is_killed(number):
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as command:  # fmt: skip
        process = int(command.stdout.readline())
        assert is_alive(process)
        (os.kill if number == signal.SIGKILL else os.killpg)(command.pid, number)
    awaited(lambda: not is_alive(process))
