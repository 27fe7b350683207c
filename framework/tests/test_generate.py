"""The generator of benchmark projects."""

import runpy
from pathlib import Path

import pytest

from millstream.compile import compile_project

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "generate.py"
generate = runpy.run_path(str(SCRIPT))["generate"]


def files(root: Path) -> dict[str, str]:
    return {str(p.relative_to(root)): p.read_text() for p in root.rglob("*") if p.is_file()}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_projects_compile_without_a_diagnostic(tmp_path, seed):
    generate(tmp_path, 60, seed)
    compiled = compile_project(tmp_path, use_cache=False)
    assert compiled.diagnostics == ()
    models = [node for node in compiled.manifest.nodes.values() if node.kind == "model"]
    assert len(models) == 60
    assert all(10 <= len(model.columns) <= 20 for model in models)
    assert all(len(model.depends_on) == 2 for model in models)


@pytest.mark.parametrize("models", [1, 8])
def test_a_project_of_fewer_models_than_layers_compiles(tmp_path, models):
    generate(tmp_path, models)
    compiled = compile_project(tmp_path, use_cache=False)
    assert compiled.diagnostics == ()
    assert sum(node.kind == "model" for node in compiled.manifest.nodes.values()) == models


def test_shares_of_kinds_and_macros(tmp_path):
    generate(tmp_path, 100)
    sql = {
        path: text
        for path, text in files(tmp_path).items()
        if path.startswith("models") and path.endswith("sql")
    }
    assert sum("/aggregate_" in path for path in sql) == 25
    assert sum("/join_" in path for path in sql) == 15
    called = ("cents_to_euros(", "null_if_blank(", "bucket(")
    assert sum(any(name in text for name in called) for text in sql.values()) == 25


def test_the_same_seed_writes_the_same(tmp_path):
    for folder, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate(tmp_path / folder, 30, seed)
    assert files(tmp_path / "a") == files(tmp_path / "b")
    assert files(tmp_path / "a") != files(tmp_path / "c")


def test_a_smaller_project_leaves_nothing_of_a_larger_one(tmp_path):
    generate(tmp_path, 50)
    generate(tmp_path, 10)
    assert sum(path.endswith(".sql") and path.startswith("models") for path in files(tmp_path)) == 10
