"""`millstream compile`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.core.target_folder import MARKER

COMPILED = Path("target/compiled/models")


def test_sql_and_manifest_are_written(run, shop):
    result = run("compile")
    assert result.code == 0
    assert result.err == ""
    assert result.out.startswith("Compiled 2 models to target/")
    assert (shop / COMPILED / "staging/stg_clicks.sql").read_text().startswith("select c.user_id")
    assert "model.totals" in json.loads((shop / "target/manifest.json").read_text())["nodes"]


LIVE = """\
shop:
  target: local
  outputs:
    local: {}
    live:
      master: "{{ env_var('MS_MASTER') }}"
      kafka:
        bootstrap_servers: "{{ env_var('MS_BOOTSTRAP') }}"
        security_protocol: SASL_SSL
        sasl_mechanism: PLAIN
        sasl_username: shop
        sasl_password: "{{ env_var('MS_PASSWORD') }}"
"""


@pytest.mark.parametrize(
    "command",
    ["compile", "ls", "lineage", "explain", "docs generate", "docs generate --format alerts"],
)
def test_what_connects_to_nothing_needs_no_secrets(run, shop, command):
    (shop / "profiles.yml").write_text(LIVE)
    result = run(*command.split(), "-t", "live")
    assert (result.code, result.err) == (0, "")
    strict = run(*command.split(), "-t", "live", "--strict-env")
    assert strict.code == 2
    for name in ("MS_MASTER", "MS_BOOTSTRAP", "MS_PASSWORD"):
        assert f"error[MS114]: environment variable '{name}' is not set" in strict.err


@pytest.mark.parametrize(
    "command", ["build", "run", "plan", "apply", "test", "debug", "consume web.clicks", "show totals"]
)
def test_what_connects_needs_them(run, shop, command):
    (shop / "profiles.yml").write_text(LIVE)
    result = run(*command.split(), "-t", "live")
    assert result.code == 2
    assert "environment variable 'MS_PASSWORD' is not set" in result.out + result.err


def test_the_sql_of_a_single_model_is_printed(run, shop):
    result = run("compile", "--select", "totals")
    assert result.out == "select user_id, sum(amount) as total from models.stg_clicks group by user_id\n"
    assert not (shop / COMPILED / "staging").exists()
    assert (shop / COMPILED / "totals.sql").exists()


def test_what_did_not_change_is_not_written_again(run, shop):
    run("compile")
    file = shop / COMPILED / "totals.sql"
    os.utime(file, (1, 1))
    assert "0 files written" in run("compile").out
    assert file.stat().st_mtime == 1


def test_what_is_stale_is_removed(run, shop):
    run("compile")
    (shop / "models/staging/stg_clicks.sql").rename(shop / "models/stg_clicks.sql")
    result = run("compile", "--output", "json")
    assert result.json["removed"] == ["target/compiled/models/staging/stg_clicks.sql"]
    assert not (shop / COMPILED / "staging").exists()


def test_selecting_removes_nothing(run, shop):
    run("compile")
    run("compile", "--select", "totals")
    assert (shop / COMPILED / "staging/stg_clicks.sql").exists()


def test_all_errors_are_told_and_nothing_is_written(run, shop):
    (shop / "models/a.sql").write_text("select x from {{ ref('totls') }}\n")
    (shop / "models/b.sql").write_text("select totl from {{ ref('totals') }}\n")
    result = run("compile")
    assert result.code == 2
    assert result.out == ""
    assert " --> models/a.sql:1:" in result.err
    assert " --> models/b.sql:1:8" in result.err
    assert "did you mean 'totals'?" in result.err
    assert result.err.endswith("2 errors in 4 models\n")
    assert not (shop / "target/manifest.json").exists()


def test_errors_as_json(run, shop):
    (shop / "models/b.sql").write_text("select totl from {{ ref('totals') }}\n")
    result = run("compile", "--output", "json")
    assert result.code == 2
    assert result.err == ""
    (diagnostic,) = result.json["diagnostics"]
    assert (diagnostic["path"], diagnostic["line"], diagnostic["column"], diagnostic["end"]) == (
        "models/b.sql",
        1,
        8,
        12,
    )
    assert diagnostic["line_text"] == "select totl from {{ ref('totals') }}"


def test_result_as_json(run, shop):
    output = run("compile", "-s", "totals", "--output", "json").json
    assert output["manifest"] == "target/manifest.json"
    assert [(m["id"], m["path"], m["compiled_path"]) for m in output["models"]] == [
        ("model.totals", "models/totals.sql", "target/compiled/models/totals.sql")
    ]


def test_quiet_says_nothing_when_all_is_good(run, shop):
    assert run("compile", "--quiet") == (0, "", "")


def test_a_selector_that_means_nothing_is_an_error_where_nothing_else_is_selected(run, shop):
    result = run("compile", "--select", "tag:nothing")
    assert result.code == 2
    assert result.err.startswith("error[MS603]")
    result = run("compile", "--select", "tag:nothing", "totals")
    assert result.code == 0
    assert result.err.startswith("warning[MS603]")


def test_project_and_vars_from_options(run, shop, monkeypatch):
    (shop / "models/totals.sql").write_text("select '{{ var('shop') }}' as name")
    (shop / "models/totals.yml").unlink()
    monkeypatch.chdir("/")
    result = run("compile", "--project-dir", str(shop), "--vars", "shop: Bonn", "-s", "totals")
    assert result.out == "select 'Bonn' as name\n"


def test_no_cache_gives_the_same(run, shop):
    run("compile")
    cached, uncached = (
        run("compile", "--output", "json").json,
        run("compile", "--no-cache", "--output", "json").json,
    )
    assert (cached["from_cache"], uncached["from_cache"]) == (2, 0)
    assert cached["models"] == uncached["models"]


@pytest.mark.skipif(os.name == "nt", reason="the folder can't be made read-only")
def test_a_target_that_cannot_be_written_is_told(run, shop):
    (shop / "target").write_text("a file")
    result = run("compile")
    assert result.code == 2
    assert "error[MS702]" in result.err


def test_two_at_a_time_leave_whole_files(run, shop):
    both = [subprocess.Popen([sys.executable, "-m", "millstream", "compile", "-q"]) for _ in range(4)]
    assert [process.wait(60) for process in both] == [0] * 4
    json.loads((shop / "target/manifest.json").read_text())
    assert [path.name for path in (shop / "target").rglob(".*") if path.is_file()] == [MARKER]


UNIT_TESTS = """\
unit_tests:
  - name: sums
    model: totals
    given:
      - input: ref('stg_clicks')
        rows:
          - {user_id: a, amout: 1}
    expect:
      rows:
        - {user_id: a, totl: 1}
"""


def test_columns_that_unit_tests_misname_are_found_without_running_them(run, shop):
    (shop / "tests").mkdir()
    (shop / "tests/sums.yml").write_text(UNIT_TESTS)
    result = run("compile", "--output", "json")
    assert result.code == 2
    assert [
        (diagnostic["code"], diagnostic["line"], diagnostic["help"])
        for diagnostic in result.json["diagnostics"]
    ] == [
        ("MS650", 7, "did you mean 'amount'?"),
        ("MS650", 10, "did you mean 'total'?"),
    ]
    assert not (shop / "target/manifest.json").exists()
    (shop / "tests/sums.yml").write_text(UNIT_TESTS.replace("amout", "amount").replace("totl", "total"))
    assert run("compile").code == 0


def test_a_command_without_unit_tests_leaves_them_to_be_checked_by_compile(run, shop):
    (shop / "tests").mkdir()
    (shop / "tests/sums.yml").write_text(UNIT_TESTS)
    assert run("ls").code == 0
    assert run("compile").code == 2


def test_an_unchanged_project_is_not_loaded_again(run, shop):
    (shop / "tests").mkdir()
    (shop / "tests/sums.yml").write_text(UNIT_TESTS.replace("amout", "amount").replace("totl", "total"))
    assert run("compile").code == 0
    code = (
        "import sys; from millstream.cli.group import millstream\n"
        "try: millstream.main(['compile'], prog_name='millstream')\nexcept SystemExit as end: print(end.code)\n"
        "print([m for m in ('jinja2', 'sqlglot', 'millstream.testing.units.check') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.splitlines()[-2:] == ["0", "[]"]
