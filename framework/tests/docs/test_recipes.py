"""The recipes of docs/recipes.md compile as one project, and their unit tests pass on Spark."""

import re

import pytest
from example.generated import ROOT
from support.spark import SPARK_WARNINGS

from millstream.compile import compile_project
from millstream.testing.session import TestSession

pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]
PAGE = (ROOT / "docs/recipes.md").read_text()
FILES = dict(re.findall(r"^```\w+ file=(\S+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
PROFILES = 'recipes: {target: local, outputs: {local: {master: "local[2]", kafka: embedded}}}\n'


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    root = tmp_path_factory.mktemp("recipes")
    files = FILES | {"profiles.yml": PROFILES, "pyproject.toml": '[tool.millstream]\nname = "recipes"\n'}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture(scope="module")
def session(root):
    made = TestSession(root)
    yield made
    made.close()


def test_all_recipes_compile_without_a_warning(root):
    assert compile_project(root).diagnostics == ()


@pytest.mark.parametrize("name", re.findall(r"- name: (\w+)\n    model: ", PAGE))
def test_each_unit_test_passes(session, name):
    (unit,) = [each for each in session.main.project.unit_tests if each.name == name]
    assert [f"{each.code} {each.message} {each.location}" for each in session.judge(unit).problems] == []


def test_each_model_has_a_unit_test():
    models = {path.split("/")[1].removesuffix(".sql") for path in FILES if path.endswith(".sql")}
    assert models - set(re.findall(r"model: (\w+)", PAGE)) == {"sales_per_hour", "customer_versions"}
