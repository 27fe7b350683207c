"""One model with an error: commands that only read the project go on with what does not depend on it."""

from __future__ import annotations

import pytest
from support.sql_plans import project

EVENTS = "{{ source('shop', 'events') }}"
MODELS = {
    "good": f"select user_id, type from {EVENTS}",
    "reader": "select user_id from {{ ref('good') }}",
    "below": "select user_id from {{ ref('broken') }}",
}
BROKEN = {
    "a column that does not exist": (f"select usr_id from {EVENTS}", "MS402"),
    "SQL that can't be parsed": (f"select user_id type amount {EVENTS} from", "MS401"),
    "a model that does not exist": ("select user_id from {{ ref('nothing') }}", "MS203"),
    "Jinja that can't be parsed": ("select {% if x %} user_id", "MS201"),
    "an option that does not exist": ("{{ config(keyy='x') }} select 1 as x", "MS120"),
    "a plan that can't run": (f"select user_id, row_number() over (order by at) as r from {EVENTS}", "MS5"),
}


@pytest.fixture(params=BROKEN)
def broken(request, tmp_path):
    sql, code = BROKEN[request.param]
    return project(tmp_path, MODELS | {"broken": sql}), code


def test_ls_lists_all_and_fails_where_the_model_is_selected(run, broken):
    root, code = broken
    result = run("ls", "--resource-type", "model", "--output", "name", "--project-dir", str(root))
    assert sorted(result.out.split()) == ["below", "broken", "good", "reader"]
    assert (result.code, code in result.err) == (2, True)


@pytest.mark.parametrize(("select", "exit_code"), [("good+", 0), ("reader", 0), ("broken", 2), ("below", 2)])
def test_ls_reports_an_error_elsewhere_without_failing(run, broken, select, exit_code):
    root, code = broken
    result = run("ls", "--select", select, "--output", "name", "--project-dir", str(root))
    assert (result.code, code in result.err) == (exit_code, True)
    assert select.rstrip("+") in result.out.split()


@pytest.mark.parametrize(("select", "exit_code"), [("reader", 0), ("broken", 2), ("below", 2)])
def test_compile_writes_models_that_do_not_depend_on_it(run, broken, select, exit_code):
    root, code = broken
    result = run("compile", "--select", select, "--project-dir", str(root))
    assert (result.code, code in result.err) == (exit_code, True)
    written = {path.name for path in (root / "target/compiled").rglob("*.sql")}
    assert written == ({f"{select}.sql"} if exit_code == 0 else set())
    assert ("select user_id" in result.out) == (exit_code == 0)
    assert not (root / "target/manifest.json").exists()


def test_the_manifest_of_the_last_compile_without_errors_stays(run, tmp_path):
    root = project(tmp_path, MODELS | {"broken": f"select user_id from {EVENTS}"})
    assert run("compile", "--project-dir", str(root)).code == 0
    before = (root / "target/manifest.json").read_bytes()
    (root / "models/broken.sql").write_text(f"select usr_id from {EVENTS}")
    result = run("compile", "--select", "reader", "--output", "json", "--project-dir", str(root))
    document = result.json
    assert (result.code, document["manifest"]) == (0, None)
    assert [diagnostic["code"] for diagnostic in document["diagnostics"]] == ["MS402"]
    assert (root / "target/manifest.json").read_bytes() == before


@pytest.mark.parametrize(
    ("name", "exit_code"), [("reader", 0), ("reader.user_id", 0), ("below", 2), ("broken", 2)]
)
def test_lineage_shows_what_does_not_depend_on_it(run, broken, name, exit_code):
    root, code = broken
    result = run("lineage", name, "--project-dir", str(root))
    assert (result.code, code in result.err) == (exit_code, True)
    assert name.partition(".")[0] in result.out


@pytest.mark.parametrize("command", ["ls", "compile", "lineage"])
def test_an_error_outside_of_models_ends_the_command(run, tmp_path, command):
    root = project(tmp_path, MODELS)
    (root / "models/more.yml").write_text("models: [")
    result = run(command, "--select", "reader", "--project-dir", str(root))
    assert (result.code, "MS105" in result.err, "reader" in result.out) == (2, True, False)


@pytest.mark.parametrize("command", ["ls", "compile", "lineage", "test", "explain", "build"])
def test_a_selector_with_a_typo_is_an_error_of_every_command(run, tmp_path, command):
    root = project(tmp_path, {"good": f"select user_id from {EVENTS}"})
    result = run(command, "--select", "goood", "--project-dir", str(root))
    assert (result.code, "MS603" in result.err) == (2, True)
