"""Plugins of pytest that other packages have: which of them `millstream test` loads. None of this needs Spark."""

import os
import subprocess
import sys

import pytest
from testing.plugin.test_plugin import with_tests

PLUGIN = """
def pytest_addoption(parser):
    print("the plugin is loaded", flush=True)
    parser.addoption("--extra", action="store_true")
"""


@pytest.fixture
def installed(tmp_path):
    """Return the environment of a process for which a package with a plugin is installed."""
    folder = tmp_path / "installed"
    (folder / "extra-1.dist-info").mkdir(parents=True)
    (folder / "extra-1.dist-info/METADATA").write_text("Metadata-Version: 2.1\nName: extra\nVersion: 1\n")
    (folder / "extra-1.dist-info/entry_points.txt").write_text("[pytest11]\nextra = extra_plugin\n")
    (folder / "extra_plugin.py").write_text(PLUGIN)
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    return environment | {"PYTHONPATH": str(folder)}


def is_loaded(root, environment, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "millstream", "test", *arguments],
        cwd=root, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "of_nothing FAILED" in done.stdout, done.stdout + done.stderr
    return "the plugin is loaded" in done.stdout


def test_plugins_that_are_only_installed_are_loaded_for_tests_in_python(shop, installed):
    root = with_tests(shop)
    assert is_loaded(root, installed)
    assert not is_loaded(root, installed, "--unit")


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pytest.ini", "[pytest]\naddopts = --extra\n"),
        ("tests/conftest.py", ""),
        ("conftest.py", ""),
    ],
)
def test_a_project_that_configures_pytest_has_all_plugins(shop, installed, file, text):
    root = with_tests(shop)
    (root / file).write_text(text)
    assert is_loaded(root, installed, "--unit")


def test_options_in_the_environment_may_be_those_of_plugins(shop, installed):
    assert is_loaded(with_tests(shop), installed | {"PYTEST_ADDOPTS": "--extra"}, "--unit")


def test_a_conftest_works_as_before(shop, installed):
    root = with_tests(shop)
    (root / "conftest.py").write_text("def pytest_sessionstart(session): print('the hook has run')\n")
    done = subprocess.run(
        [sys.executable, "-m", "millstream", "test", "--unit"],
        cwd=root, env=installed, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "the hook has run" in done.stdout
