"""The archive of Spark's classes: made by a second JVM, which ends with the command."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyspark
import pytest

from millstream.machine.archive import Archive, archive_for
from millstream.machine.java import java
from millstream.runner.spark import class_archive
from millstream.runner.spark.class_archive import archive_maker, class_options

NAMES = (
    "java/util/BitSet",
    "org/apache/spark/sql/Row id: 7",
    "@lambda-proxy x y",
    "no/such/Class",
    "org/apache/avro/Schema",
)
COMMAND = """
import time
from millstream.runner.spark.class_archive import _ending_with_command
with _ending_with_command(["sleep", "600"]) as process:
    print(process.pid, flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_CACHE_DIR", str(tmp_path))
    return tmp_path / "archives"


def found():
    return archive_for("spark", java(), ())


def awaited(condition):
    deadline = time.monotonic() + 120
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return value


def loaded_from(archive, spark):
    """Return the classes that a JVM with Spark's class path finds in an archive."""
    path = spark._jvm.java.lang.System.getProperty("java.class.path")
    listed = Path(archive.file).with_suffix(".txt")
    listed.write_text("\n".join(NAMES))
    command = [str(java().program), "-Xshare:on", "-Xlog:class+load", archive.flag, "-cp", path]
    log = subprocess.run(
        [*command, "millstream.spark.ClassLoading", str(listed), "9"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    lines = [line.split(" source: ") for line in log.splitlines() if " source: " in line]
    return {
        name.rpartition("] ")[2] for name, source in lines if source.startswith("shared objects file (top)")
    }


def names(*lines):
    file = Path(f"{found().name}.classes")
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def test_known_names_become_an_archive(first_spark, cache):
    known = names(*NAMES)
    with archive_maker(found()) as maker:
        assert maker.option == ""
        maker.start(first_spark)
        awaited(lambda: maker.is_complete)
        maker.stop(complete=True)
    assert {"org.apache.spark.sql.Row", "org.apache.avro.Schema"} <= loaded_from(found(), first_spark)
    assert not list(cache.glob(".writing-*"))
    assert not known.exists()
    with archive_maker(found()) as maker:
        assert maker is None


def test_names_are_followed_while_they_are_written(first_spark, cache, monkeypatch):
    monkeypatch.setattr(class_archive, "_FIRST", 2)
    with archive_maker(found()) as maker:
        option = maker.option
        with Path(option.partition("=")[2]).open("w") as growing:
            print(*NAMES[:2], sep="\n", file=growing, flush=True)
            maker.start(first_spark)
            awaited(lambda: found().file)
            small = loaded_from(found(), first_spark)
            print(*NAMES[2:], sep="\n", file=growing, flush=True)
            awaited(lambda: maker.is_complete)
            maker.stop(complete=True)
    assert "org.apache.spark.sql.Row" in small
    assert "org.apache.avro.Schema" not in small
    assert {"org.apache.spark.sql.Row", "org.apache.avro.Schema"} <= loaded_from(found(), first_spark)
    assert not list(cache.glob("*.classes"))


def test_a_command_that_ends_earlier_keeps_the_names_for_the_next(first_spark, cache):
    with archive_maker(found()) as maker:
        option = maker.option
        Path(option.partition("=")[2]).write_text("org/apache/avro/Schema\n")
        maker.start(first_spark)
        maker.stop(complete=True)
    assert not found().file
    assert {file.suffix for file in cache.iterdir()} == {".classes", ".lock"}
    with archive_maker(found()) as maker:
        maker.start(first_spark)
        awaited(lambda: maker.is_complete)
        maker.stop(complete=True)
    assert "org.apache.avro.Schema" in loaded_from(found(), first_spark)


def test_names_of_a_jvm_that_broke_down_are_not_kept(first_spark, cache):
    with archive_maker(found()) as maker:
        option = maker.option
        Path(option.partition("=")[2]).write_text("org/apache/avro/Schema\n")
        maker.stop(complete=False)
    assert {file.suffix for file in cache.iterdir()} == {".lock"}


def test_one_command_at_a_time_makes_it(cache):
    with archive_maker(found()) as first, archive_maker(found()) as second:
        assert first is not None
        assert second is None


@pytest.mark.parametrize("folder", ["plain", "two words", 'a "quoted" \\ one'])
def test_spark_gets_the_option_as_it_is(folder):
    options = class_options(Archive("spark", file=f"/{folder}/spark.jsa"), None)
    home = Path(pyspark.__file__).parent
    launcher = ["-cp", str(home / "jars/*"), "org.apache.spark.launcher.Main"]
    submit = [
        "org.apache.spark.deploy.SparkSubmit",
        "--conf",
        f"spark.driver.extraJavaOptions=-Da=b {options}",
    ]
    made = subprocess.run(
        [str(java().program), *launcher, *submit, "app.py"],
        env=os.environ | {"SPARK_HOME": str(home), "SPARK_SCALA_VERSION": "2.13"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    assert f"-XX:SharedArchiveFile=/{folder}/spark.jsa" in made


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_second_jvm_ends_with_a_command_that_is_killed(number):
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
    ) as command:  # fmt: skip
        process = int(command.stdout.readline())
        assert is_alive(process)
        (os.killpg if number == signal.SIGINT else os.kill)(command.pid, number)
    awaited(lambda: not is_alive(process))
