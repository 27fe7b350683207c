"""The tests of a project's YAML and SQL files are pytest items; loaded everywhere, it does nothing elsewhere.

What it needs is imported when there is a project: pytest starts in folders that have nothing to do with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.testing.fixtures import RunModel, TopicOf
    from millstream.testing.session import Tests

_TESTS = pytest.StashKey["Tests | None"]()
_SUFFIXES = {".yml", ".yaml", ".sql"}
CHOICE = "millstream-choice"
"""The plugin by which `millstream test` says what it wants."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("millstream")
    group.addoption(
        "--update-expectations",
        action="store_true",
        help="write what came out into the unit tests that fail, as what they expect",
    )
    group.addoption(
        "--model-coverage",
        action="store_true",
        help="tell which models, branches of CASE and IF, and filters no unit test reaches",
    )


def tests_of(config: pytest.Config) -> Tests | None:
    """Return the tests of the project that pytest runs in; None where it is none."""
    if _TESTS not in config.stash:
        config.stash[_TESTS] = _found(config)
    return config.stash[_TESTS]


def _found(config: pytest.Config) -> Tests | None:
    root = config.rootpath
    try:
        if "[tool.millstream" not in (root / "pyproject.toml").read_text(encoding="utf-8"):
            return None
    except (OSError, ValueError):
        return None
    from millstream.testing.session import Tests

    told: Any = config.pluginmanager.get_plugin(CHOICE)
    update, coverage = config.getoption("update_expectations"), config.getoption("model_coverage")
    return Tests(root, told and told.choice, update=update, coverage=coverage)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in _SUFFIXES or (tests := tests_of(parent.config)) is None:
        return None
    if not tests.has(file_path):
        return None
    from millstream.testing.items import ProjectFile

    return ProjectFile.from_parent(parent, path=file_path)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (tests := tests_of(config)) is None:
        return
    kept = [item for item in items if tests.wants(item)]
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if not tests.wants(item)])
        items[:] = kept


def pytest_runtestloop(session: pytest.Session) -> None:
    tests = tests_of(session.config)
    if tests and not session.config.option.collectonly:
        tests.follow(session.items)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    tests = config.stash.get(_TESTS, None)
    if tests is not None:
        tests.summary(terminalreporter)


def pytest_unconfigure(config: pytest.Config) -> None:
    if tests := config.stash.get(_TESTS, None):
        if tests.choice is not None:
            tests.choice.coverage = tests.coverage() if tests.bed.covering is not None else ()
        tests.close()


# -- for tests in Python


@pytest.fixture(scope="session")
def millstream_tests(request: pytest.FixtureRequest) -> Tests:
    found = tests_of(request.config)
    if found is None:
        pytest.fail(f"{request.config.rootpath} is no Millstream project: it has no [tool.millstream]")
    return found


@pytest.fixture(scope="session")
def project(millstream_tests: Tests) -> Any:
    """Return the project: its sources, models, functions and settings."""
    return millstream_tests.bed.main.project


@pytest.fixture
def spark(millstream_tests: Tests) -> SparkSession:
    """Return a session of Spark whose views and settings no other test sees."""
    return millstream_tests.bed.spark().newSession()


@pytest.fixture
def run_model(millstream_tests: Tests) -> RunModel:
    """Return what runs a model over rows: `run_model("orders", inputs={"ref('raw')": [{...}]})`."""
    from millstream.testing.fixtures import RunModel

    return RunModel(millstream_tests.bed)


@pytest.fixture
def topic(millstream_tests: Tests) -> TopicOf:
    """Return what the topic of a source or a sink holds now: `topic("orders")` gives its rows."""
    from millstream.testing.fixtures import TopicOf

    return TopicOf(millstream_tests.bed)
