"""The projects that are measured against what is written by hand."""

from pathlib import Path

import pytest

from millstream.compile import compile_project
from millstream.compile.native_functions import translate_function
from millstream.core.text import FileText
from millstream.native import Translation
from millstream.project.functions import read_functions

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch):
    """Return what loads a benchmark's module, as its scripts do."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return lambda name: __import__(name, fromlist=["_"])


@pytest.mark.parametrize("name", ["stateless", "stateful"])
def test_a_project_compiles_and_has_a_sink_for_each_query(tmp_path, modules, name):
    compiled = compile_project(modules(f"projects.{name}").write(tmp_path), use_cache=False)
    assert compiled.diagnostics == ()
    sinks = {
        node.name for node in compiled.manifest.nodes.values() if node.config.get("materialized") == "sink"
    }
    assert sinks == {query.topic for query in modules(f"by_hand.{name}").queries(None, "", tmp_path)}


def test_the_functions_of_the_pipelines_run_natively(tmp_path, modules):
    modules("projects.pipelines").write(tmp_path, ["serial"], "events", "test")
    text = FileText("macros/scores.py", (tmp_path / "macros/scores.py").read_text())
    translated = {
        function.name: translate_function(function, text.content) for function in read_functions(text)[0]
    }
    assert translated.keys() >= {"optimize", "summarize"}
    assert all(isinstance(translation, Translation) for translation in translated.values())


def test_each_stored_model_of_the_example_is_a_query(modules):
    compiled = compile_project(BENCHMARKS.parent, use_cache=False)
    stored = {
        n.name for n in compiled.manifest.nodes.values() if n.config.get("materialized") in {"sink", "table"}
    }
    queries = modules("by_hand.example").queries(None, "", "checkpoints", "by_hand.")
    assert {query.name for query in queries} == stored | {"products", "user_profiles"}


def test_a_query_comes_after_those_that_it_reads(modules):
    queries = modules("by_hand.example").queries(None, "", "checkpoints")
    names = [query.name for query in queries]
    assert all(names.index(read) < names.index(query.name) for query in queries for read in query.reads)
