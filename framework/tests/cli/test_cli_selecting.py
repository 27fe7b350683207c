"""Selections of `build`, `run` and `test`: several values, empty ones, and models that share a query."""

import json
import os
import subprocess

import pytest
from click.testing import CliRunner
from support.commands import MILLSTREAM, PATIENCE
from support.shops import PROFILES, PROJECT, SOURCES, TOTALS

from millstream.cli.group import millstream
from millstream.cli.multi_value_options import repeat_options

SINK = "{{{{ config(materialized='sink'{more}) }}}} select id, kind from {{{{ source('web', 'events') }}}}"
NAMES = {"--select", "-s"}


@pytest.fixture
def three(tmp_path, monkeypatch):
    """Return a project with two sinks that share a query, and a table."""
    files = {"pyproject.toml": PROJECT, "profiles.yml": PROFILES, "models/sources.yml": SOURCES}
    files |= {f"models/{name}.sql": SINK.format(more="") for name in ("plain", "kinds")}
    for path, text in (
        files | {"models/totals.sql": "{{ config(unbounded_state='accept') }}\n" + TOTALS}
    ).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(*arguments):
    return CliRunner().invoke(millstream, arguments, prog_name="millstream")


@pytest.mark.parametrize(
    ("arguments", "means"),
    [
        ("--select a b", "--select a --select b"),
        ("-s a b -t x", "-s a -s b -t x"),
        ("--select=a b", "--select=a --select b"),
        ("--select a --select b", "--select a --select b"),
        ("--target x y --select a", "--target x y --select a"),
        ("--select a -- b", "--select a -- b"),
    ],
)
def test_an_option_takes_all_values_up_to_the_next_one(arguments, means):
    assert [*repeat_options(arguments.split(), NAMES)] == means.split()


@pytest.mark.parametrize("flags", [("plain", "kinds"), ("plain", "--select", "kinds"), ("plain kinds",)])
def test_several_values_are_added_up(three, flags):
    result = called("ls", "--select", *flags)
    assert (result.exit_code, result.stdout.split()) == (0, ["shop.kinds", "shop.plain"])


def test_several_values_are_left_out(three):
    result = called("ls", "--select", "resource_type:model", "--exclude", "plain", "kinds", "--no-color")
    assert (result.exit_code, result.stdout.split()) == (0, ["shop.totals"])


@pytest.mark.parametrize("command", ["build", "run", "test"])
def test_a_selection_of_nothing_ends_before_spark_starts(three, command):
    result = called(command, "--select", "plian")
    assert result.exit_code == 2
    assert "error[MS603]: 'plian' selects nothing" in result.stderr
    assert "did you mean 'plain'?" in result.stderr
    assert not (three / ".millstream").exists()


@pytest.mark.parametrize("flags", [("--select", "plain", "--exclude", "plain"), ("--exclude", "*")])
def test_leaving_out_all_that_is_selected_is_an_error(three, flags):
    result = called("build", *flags)
    assert result.exit_code == 2
    assert "error[MS610]: no model is selected" in result.stderr


def test_a_rebuild_of_nothing_is_an_error(three):
    result = called("build", "--rebuild", "totls")
    assert result.exit_code == 2
    assert "did you mean 'totals'?" in result.stderr


def test_nothing_modified_is_nothing_to_build(three):
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=three, check=True)
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "All"]
    subprocess.run(["git", "add", "."], cwd=three, check=True)
    subprocess.run(commit, cwd=three, check=True)
    result = called("build", "--select", "state:modified", "--state", "main")
    assert result.exit_code == 0, result.stderr
    assert "'state:modified' selects nothing" in result.stderr


@pytest.fixture
def with_view(three):
    (three / "models/seen.sql").write_text("select id, kind from {{ source('web', 'events') }}")
    (three / "models/of_seen.sql").write_text(
        "{{ config(materialized='sink') }} select id from {{ ref('seen') }}"
    )
    return three


def test_what_reads_a_view_is_built_only_if_it_is_selected(with_view, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/nowhere")  # nothing is started
    built = called("build", "--select", "seen")
    assert (built.exit_code, built.stdout) == (0, "")
    assert "MS613" in built.stderr
    assert "'seen' is a view, so nothing is stored" in built.stderr
    assert "--select seen+" in built.stderr
    run = called("run", "--select", "seen")
    assert run.exit_code == 2
    assert "error[MS613]" in run.stderr
    assert "of_seen" in called("explain", "--select", "seen+").stdout


def test_a_run_names_what_else_it_makes_before_anything_starts(three, tmp_path):
    ended = subprocess.run(
        [*MILLSTREAM, "run", "--select", "plain", "--output", "json", "--port", "0"],
        env=os.environ | {"JAVA_HOME": str(tmp_path / "nothing")},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    first, last = map(json.loads, ended.stdout.splitlines())
    assert (first["event"], first["code"], first["severity"]) == ("problem", "MS611", "warning")
    assert first["message"].startswith("'kinds' will be built, too: query events_topics computes")
    assert "config(group='plain')" in first["help"]
    assert (ended.returncode, last["event"], last["code"]) == (2, "problem", "MS801")


@pytest.mark.long
def test_a_build_names_what_else_it_makes_and_the_group_that_is_named_separates_them(three):
    def build():
        ended = subprocess.run(
            [*MILLSTREAM, "build", "--select", "plain", "totals", "--no-tests"],
            capture_output=True, text=True, timeout=2 * PATIENCE, check=True,
        )  # fmt: skip
        return ended.stderr

    output = build()
    assert output.index("'kinds' will be built, too") < output.index("Spark")
    assert "3 models built" in output
    (three / "models/plain.sql").write_text(SINK.format(more=", group='plain'"))
    output = build()
    assert "will be built, too" not in output
    assert "2 models built" in output
