"""The examples of docs/testing.md are tests of the example project."""

import inspect
import re
import shutil
from pathlib import Path

import pytest
import yaml
from example.generated import ROOT
from support.spark import SPARK_WARNINGS

from millstream.testing.plugin.fixtures import RunModel
from millstream.testing.session import TestSession

pytestmark = [pytest.mark.usefixtures("first_spark"), SPARK_WARNINGS]
GUIDE = (ROOT / "docs/testing.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
YAML = re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    root = tmp_path_factory.mktemp("guide")
    for part in ("pyproject.toml", "profiles.yml"):
        shutil.copy(ROOT / part, root / part)
    for part in ("models", "macros", "seeds"):
        shutil.copytree(ROOT / part, root / part)
    (root / "tests").mkdir()
    units = [text for text in YAML if text.startswith("unit_tests:")]
    for number, text in enumerate(units):
        (root / f"tests/guide_{number}.yml").write_text(text)
    test_session = TestSession(root)
    yield test_session
    test_session.close()


@pytest.mark.long
def test_all_unit_tests_of_the_guide_pass(session):
    units = session.main.project.unit_tests
    assert len(units) == sum(text.count("- name: ") for text in YAML if text.startswith("unit_tests:"))
    errors = [diagnostic for unit in units for diagnostic in session.judge(unit).diagnostics]
    assert [(diagnostic.message, str(diagnostic.location)) for diagnostic in errors] == []


@pytest.mark.parametrize("number", range(len(PYTHON)))
def test_the_tests_in_python_pass(session, number):
    names = {}
    exec(compile(PYTHON[number], str(Path("docs/testing.md")), "exec"), names)
    fixtures = {"run_model": RunModel(session), "spark": session.spark()}
    (test,) = [value for name, value in names.items() if name.startswith("test_")]
    test(**{name: fixtures[name] for name in inspect.signature(test).parameters})


def test_the_data_tests_of_the_guide_can_be_read(session):
    described = {}
    for file in (ROOT / "models").rglob("*.yml"):
        for model in yaml.safe_load(file.read_text()).get("models", ()):
            described[model["name"]] = file.relative_to(ROOT)
    files = []
    for text in (text for text in YAML if text.startswith("models:")):
        # In the place of what the example says of the model.
        (model,) = yaml.safe_load(text)["models"]
        files.append(described[model["name"]])
        (Path(session.root) / files[-1]).write_text(text)
    nodes = TestSession(Path(session.root)).main.compiled.manifest.nodes
    kinds = [(node.test, node.config["severity"]) for node in nodes.values() if Path(node.path) in files]
    kinds = [kind for kind in kinds if kind[0]]
    assert set(kinds) == {
        ("not_null", "error"), ("unique", "error"), ("expression", "error"), ("row_count", "error"),
        ("freshness", "warn"), ("expression", "dead_letter"),
    }  # fmt: skip
