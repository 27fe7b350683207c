"""The plugin in a process of its own, and what `millstream test` makes of it: none of these needs Spark."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from millstream.core.errors import MillstreamError
from millstream.testing.plugin.project_tests import ProjectTests, TestRequest

WRONG = """
- name: of_nothing
  model: passed
  given: [{input: source.web.events, rows: [{idd: 3}]}]
  expect: []
- {name: open, model: passed, expect: []}
"""
BARE = "import sys, pytest; code = pytest.main(['-q', '-p', 'no:cacheprovider']); print([m for m in sys.modules if m.startswith(('millstream.', 'pyspark'))]); sys.exit(code)"


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    return done.returncode, done.stdout + done.stderr


def with_tests(shop, text=WRONG):
    (shop.root / "tests").mkdir(exist_ok=True)
    (shop.root / "tests/unit.yml").write_text("unit_tests:\n" + text.strip() + "\n")
    return shop.root


def test_elsewhere_it_imports_next_to_nothing(tmp_path):
    (tmp_path / "test_one.py").write_text("def test_one(): pass\n")
    (tmp_path / "models.yml").write_text("unit_tests: [{name: t}]\n")
    code, message = run(tmp_path, "-c", BARE)
    assert code == 0
    assert "1 passed" in message
    assert "['millstream.testing', 'millstream.testing.plugin', 'millstream.testing.plugin.hooks']" in message


def test_every_test_of_a_project_is_in_a_file_that_is_collected(shop):
    (shop.root / "seeds/kinds.yml").write_text(
        "seeds: [{name: kinds, columns: [{name: kind, tests: [unique]}], tests: [{row_count: {min: 1}}]}]\n"
    )
    (shop.root / "tests").mkdir()
    (shop.root / "tests/none.sql").write_text("select * from {{ ref('kinds') }} where kind is null")
    tests = ProjectTests(shop.root, TestRequest(), update=False, coverage=False)
    files = [path for path in shop.root.rglob("*") if path.suffix in {".yml", ".sql"} and tests.has(path)]
    collected = {node.id for file in files for node in tests.nodes_in(file)}
    ids = {id_ for id_, node in tests.session.nodes.items() if node.kind in {"test", "unit_test"}}
    tests.close()
    assert collected == ids >= {"test.unique_kinds_kind", "test.row_count_kinds", "test.none"}


def test_unit_tests_that_are_wrong_start_no_spark(shop):
    tests = ProjectTests(with_tests(shop), TestRequest(), update=False, coverage=False)
    units = [(unit.name, unit) for unit in tests.session.main.project.unit_tests]
    tests.start(units, with_data=False)
    for name, unit in units:
        with pytest.raises(MillstreamError):
            tests.verdict(name, unit)
    tests.close()
    assert tests.session._spark is None


@pytest.mark.long
def test_items_have_names_places_and_reports(shop):
    root = with_tests(shop)
    code, message = run(root, "-m", "pytest", "-q", "--co")
    assert message.splitlines()[:2] == ["tests/unit.yml::of_nothing", "tests/unit.yml::open"]
    code, message = run(root, "-m", "pytest", "-q", "-k", "nothing", "--junitxml=r.xml")
    assert code == 1
    assert "error[MS650]: unit test 'of_nothing': web.events has no column 'idd'" in message
    assert "--> tests/unit.yml:4:" in message
    assert "Traceback" not in message
    (case,) = ET.parse(root / "r.xml").getroot().iter("testcase")
    assert case.get("name") == "of_nothing"


@pytest.mark.long
def test_workers_of_xdist_send_the_results_of_a_project(shop):
    code, message = run(with_tests(shop), "-m", "pytest", "-q", "-n", "1")
    assert code == 1
    assert "INTERNALERROR" not in message
    assert message.strip().splitlines()[-1].startswith("2 failed")


@pytest.mark.long
def test_compile_errors_are_reported_as_usual(shop):
    root = with_tests(shop)
    (root / "models/passed.sql").write_text("select nothing from {{ source('web', 'events') }}")
    code, message = run(root, "-m", "pytest", "-q")
    assert code == 2
    assert "error[MS402]" in message
    assert "Traceback" not in message


@pytest.mark.long
def test_the_command_says_the_same_for_programs(shop):
    root = with_tests(shop)
    code, message = run(root, "-m", "millstream", "test", "--unit", "--output", "json")
    results = json.loads(message)
    assert code == 2
    assert [(result["id"], result["status"]) for result in results["results"]] == [
        ("unit_test.passed.of_nothing", "error"),
        ("unit_test.passed.open", "error"),
    ]
    (diagnostic,) = results["results"][0]["diagnostics"]
    assert (diagnostic["code"], diagnostic["path"], diagnostic["line"]) == ("MS650", "tests/unit.yml", 4)
    assert json.loads((root / "target/test_results.json").read_bytes())["results"] == results["results"]


@pytest.mark.long
def test_selectors_choose_tests(shop):
    root = with_tests(shop)
    code, message = run(root, "-m", "millstream", "test", "--select", "totals", "--no-color")
    assert code == 0
    assert "no test is selected" in message
    code, message = run(
        root, "-m", "millstream", "test", "--select", "passed", "--exclude", "open", "--quiet"
    )
    assert code == 2
    assert "of_nothing" in message
    assert "FAILED tests/unit.yml::open" not in message
