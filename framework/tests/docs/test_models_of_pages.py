"""The models of a page compile as one project, and their unit tests pass on Spark."""

import re

import pytest
from example.generated import ROOT
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.testing.session import TestSession

pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]
PAGES = {
    name: (ROOT / f"docs/{name}.md").read_text()
    for name in ("recipes", "kafka_streams", "dbt", "versions", "sources", "lake", "writers")
}
UNTESTED = {
    "recipes": {"sales_per_hour"},
    "kafka_streams": {"customers", "newest_orders"},
    "dbt": set(),
    "versions": {"all_orders", "customers"},
    "sources": set(),
    "lake": set(),
    "writers": set(),
}
"""Models that only others read."""
PROFILES = 'recipes: {target: local, outputs: {local: {master: "local[2]", kafka: embedded}}}\n'


def files_of(page):
    return dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGES[page], re.DOTALL | re.MULTILINE))


def project_of(page, root):
    settings = {"profiles.yml": PROFILES, "pyproject.toml": '[tool.millstream]\nname = "recipes"\n'}
    for path, text in (files_of(page) | settings).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.mark.parametrize("page", PAGES)
def test_all_models_compile_without_a_warning(page, tmp_path):
    assert compile_project(project_of(page, tmp_path)).diagnostics == ()


def check_unit_tests(root):
    session = TestSession(root)
    try:
        for unit in session.main.project.unit_tests:
            diagnostics = [
                f"{diagnostic.code} {diagnostic.message} {diagnostic.location}"
                for diagnostic in session.judge(unit).diagnostics
            ]
            assert (unit.name, diagnostics) == (unit.name, [])
    finally:
        session.close()


@pytest.mark.long
def test_each_unit_test_of_a_recipe_passes(tmp_path):
    check_unit_tests(project_of("recipes", tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("page", [name for name in PAGES if name != "recipes"])
def test_each_unit_test_of_another_page_passes(page, tmp_path):
    check_unit_tests(project_of(page, tmp_path))


@pytest.mark.parametrize("page", PAGES)
def test_each_model_has_a_unit_test(page):
    models = {path.split("/")[1].removesuffix(".sql") for path in files_of(page) if path.endswith(".sql")}
    assert models - set(re.findall(r"model: (\w+)", PAGES[page])) == UNTESTED[page]
