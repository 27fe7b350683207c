"""Hooks that make the tests in a project's YAML and SQL files pytest items.

pytest loads this plugin in every folder, so it imports the rest only if the folder is a project.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.testing.plugin.fixtures import ReadTopic, RunModel
    from millstream.testing.plugin.project_tests import ProjectTests

_TESTS = pytest.StashKey["ProjectTests | None"]()
_SUFFIXES = {".yml", ".yaml", ".sql"}
REPORTER = "millstream-reporter"
"""The name of the plugin through which `millstream test` passes its request and receives results."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("millstream")
    group.addoption(
        "--update-expectations",
        action="store_true",
        help="replace the expected rows of failing unit tests by the actual ones",
    )
    group.addoption(
        "--model-coverage",
        action="store_true",
        help="show which models, branches of CASE and IF, and filters no unit test reaches",
    )


def project_tests(config: pytest.Config) -> ProjectTests | None:
    """Return the tests of the project in pytest's root folder; None if it is not a project."""
    if _TESTS not in config.stash:
        config.stash[_TESTS] = _find_tests(config)
    return config.stash[_TESTS]


def _find_tests(config: pytest.Config) -> ProjectTests | None:
    root = config.rootpath
    try:
        if "[tool.millstream" not in (root / "pyproject.toml").read_text(encoding="utf-8"):
            return None
    except (OSError, ValueError):
        return None
    from millstream.testing.plugin.project_tests import ProjectTests, TestRequest

    reporter: Any = config.pluginmanager.get_plugin(REPORTER)
    update, coverage = config.getoption("update_expectations"), config.getoption("model_coverage")
    request = reporter.request if reporter else TestRequest()
    return ProjectTests(root, request, update=update, coverage=coverage)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix not in _SUFFIXES or (tests := project_tests(parent.config)) is None:
        return None
    if not tests.has(file_path):
        return None
    from millstream.testing.plugin.items import ProjectFile

    return ProjectFile.from_parent(parent, path=file_path, tests=tests)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if (tests := project_tests(config)) is None:
        return
    selected = [item for item in items if tests.is_selected(item)]
    if len(selected) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if not tests.is_selected(item)])
        items[:] = selected


def pytest_runtestloop(session: pytest.Session) -> None:
    tests = project_tests(session.config)
    if tests and not session.config.option.collectonly:
        from millstream.testing.plugin.items import DataItem, UnitItem

        units = [(item.nodeid, item.unit) for item in session.items if isinstance(item, UnitItem)]
        tests.start(units, with_data=any(isinstance(item, DataItem) for item in session.items))


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    tests = config.stash.get(_TESTS, None)
    if tests is not None:
        tests.summary(terminalreporter)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop Spark before pytest prints its last line, which has the time that all took."""
    if tests := session.config.stash.get(_TESTS, None):
        reporter: Any = session.config.pluginmanager.get_plugin(REPORTER)
        if reporter:
            reporter.coverage = tests.coverage()
        tests.close()


# -- for tests in Python


@pytest.fixture(scope="session")
def millstream_tests(request: pytest.FixtureRequest) -> ProjectTests:
    tests = project_tests(request.config)
    if tests is None:
        pytest.fail(f"{request.config.rootpath} is not a Millstream project: it has no [tool.millstream]")
    return tests


@pytest.fixture(scope="session")
def project(millstream_tests: ProjectTests) -> Any:
    """Return the project: its sources, models, functions and settings."""
    return millstream_tests.session.main.project


@pytest.fixture
def spark(millstream_tests: ProjectTests) -> SparkSession:
    """Return a Spark session whose views and settings are not shared with other tests."""
    return millstream_tests.session.spark().newSession()


@pytest.fixture
def run_model(millstream_tests: ProjectTests) -> RunModel:
    """Run a model over rows: `run_model("orders", inputs={"ref('raw')": [{...}]})`."""
    from millstream.testing.plugin.fixtures import RunModel

    return RunModel(millstream_tests.session)


@pytest.fixture
def topic(millstream_tests: ProjectTests) -> ReadTopic:
    """Read the rows of a source, a sink or a table: `topic("orders")`."""
    from millstream.testing.plugin.fixtures import ReadTopic

    return ReadTopic(millstream_tests.session)
