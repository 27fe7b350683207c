"""One Spark for all tests, with a session of its own for each file."""

import os
import signal
import sys
from pathlib import Path

if sys.dont_write_bytecode:
    # Each command that a test starts would compile all modules that it imports, which takes longer than Spark's start.
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(Path(__file__).parents[2] / ".pytest_cache" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# Each project of a test would leave a session; tests of sessions allow them.
os.environ["MILLSTREAM_NO_SESSION"] = "1"

import pytest
from hypothesis import HealthCheck, settings

from millstream.project.secrets import Secret
from millstream.project.values import Target

pytest.register_assert_rewrite("support.plans", "support.written")
# How long an example takes says more of the machine than of the code.
settings.register_profile(
    "tests", settings.default, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")

from support.broker import broker, broker_server  # noqa: E402, F401 - fixtures
from support.databases import database  # noqa: E402, F401 - fixtures
from support.long import in_part  # noqa: E402
from support.mariadb import mariadb, mariadb_process, mariadb_server  # noqa: E402, F401 - fixtures
from support.postgres import postgres, postgres_server  # noqa: E402, F401 - fixtures
from support.registry import skipped_for_java  # noqa: E402

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells start background processes so; commands that tests interrupt would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

SETTINGS = {
    "spark.sql.shuffle.partitions": 2,
    # One JVM for all tests of a process: classes and plans of thousands of queries add up.
    "spark.driver.memory": "4g",
    # Many short queries: compiling them to the fastest code takes longer than running them.
    "spark.driver.extraJavaOptions": Secret(
        "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -Dmillstream.tests=swordfish"
    ),
    "spark.hadoop.fs.tests.account.id": Secret("swordfish"),
}

INTERPRETED = {
    # Operators outside of whole stages, such as those that read Delta's log, generate code in each task, which
    # takes longer than the few rows of a test. Long tests run that code.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def pytest_configure(config):
    """Let pytest-xdist hand out files in the order of `pytest_collection_modifyitems`."""
    config.option.loadscopereorder = False


def pytest_collection_modifyitems(config, items):
    """Let tests marked `long` take as long as they take, unless `--timeout` limits them; leave out other parts.

    Files with Spark come first: the last files of workers are then short ones, so that they end together.
    """
    long = [item for item in items if item.get_closest_marker("long")]
    others = {item for item in long if not in_part(item.location[0], item.name)}
    if others:
        config.hook.pytest_deselected(items=list(others))
        items[:] = [item for item in items if item not in others]
    if config.getoption("timeout") is None:
        for item in items:
            if item.get_closest_marker("long"):
                item.add_marker(pytest.mark.timeout(0))
    with_spark = {item.path for item in items if "first_spark" in getattr(item, "fixturenames", ())}
    items.sort(key=lambda item: item.path not in with_spark)


def pytest_terminal_summary(terminalreporter):
    """Name the tests that this machine's Java is too old for: they are not skipped silently."""
    if skipped := skipped_for_java(terminalreporter.stats.get("skipped", ())):
        terminalreporter.section("tests that need Java 21 or newer")
        for name in skipped:
            terminalreporter.line(name)


@pytest.fixture(scope="session")
def catalog(tmp_path_factory):
    """A REST catalog of Iceberg tables, of which each test uses a namespace."""
    from support.rest_catalog import RestCatalog, rest_catalog

    folder = tmp_path_factory.mktemp("catalog") / "warehouse"
    folder.mkdir()
    with rest_catalog(folder) as uri:
        yield RestCatalog(uri)


@pytest.fixture(scope="session")
def first_spark(tmp_path_factory, pytestconfig):
    """Return the session that starts the JVM; it holds no views and no settings of any test."""
    from millstream.engine.spark.class_archive import class_archives
    from millstream.engine.spark.jars import jars_for, jars_of
    from millstream.engine.spark.session import start_spark
    from millstream.stores.registry import jar_files

    jars = jars_for(Target("tests", "local", {}))
    # Those of other stores are not on the class path, which is that of commands, as is the archive of classes.
    others = [jar for jar in jars_of((*jar_files(), "avro")) if jar not in jars]
    settings = SETTINGS | {"spark.jars": ",".join(map(str, others))}
    if pytestconfig.option.markexpr == "not long":
        settings |= INTERPRETED
    target = Target(
        "tests", "local", {"master": "local[2]", "spark": settings}, env_vars=("MILLSTREAM_TESTS_REGION",)
    )
    # One that Spark must not see, and one that the project declares.
    os.environ["MILLSTREAM_TESTS_TOKEN"] = "swordfish"
    os.environ["MILLSTREAM_TESTS_REGION"] = "north"
    # Commands that tests start have no time to make the archive of all classes.
    with class_archives(jars) as archives:
        session = start_spark("tests", target, jars, tmp_path_factory.mktemp("spark"), archives.options)
        archives.start(session)
        yield session
        session.stop()


@pytest.fixture(scope="module")
def spark(first_spark):
    """Return a session whose views, functions and settings no other file sees."""
    return first_spark.newSession()
