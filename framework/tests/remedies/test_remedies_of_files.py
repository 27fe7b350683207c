"""Remedies outside of the SQL of models: schemas, environments, options and the recipes for CI."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import click
import pytest
from support.sql_plans import project

from millstream.cli.commands import build
from millstream.cli.failures import repeated_in
from millstream.cli.group import millstream
from millstream.cli.options import given_options
from millstream.cli.remedies import RepeatedOptions, repeated_options, with_options
from millstream.compile import compile_project
from millstream.deploy.checkpoints.environments import missing_environment
from millstream.project.names import Environment
from millstream.project.values import Target

ROOT = Path(__file__).parents[3]
EVENTS = "from {{ source('shop', 'events') }}"
SINK = "{{ config(materialized='sink', key='user_id', format='avro', schema='schemas/m.avsc') }} "


def written(root, select, type_):
    project(root, {"m": f"{SINK}select user_id, {select} {EVENTS}"})
    (root / "schemas").mkdir(exist_ok=True)
    fields = [{"name": "user_id", "type": ["null", "string"]}, {"name": "type", "type": type_}]
    schema = {"type": "record", "name": "m", "fields": fields}
    (root / "schemas/m.avsc").write_text(json.dumps(schema))
    return compile_project(root, use_cache=False).diagnostics


def test_a_column_that_can_be_null_fits_a_required_field_with_either_remedy(tmp_path):
    (diagnostic,) = written(tmp_path, "type", "string")
    assert (diagnostic.code, diagnostic.help) == (
        "MS124",
        "use coalesce(type, …), or let the field be null in the schema",
    )
    assert written(tmp_path, "coalesce(type, 'none') as type", "string") == ()
    assert written(tmp_path, "type", ["null", "string"]) == ()


@pytest.mark.parametrize(
    ("options", "command"),
    [
        ({"--environment": "alice"}, "`millstream apply -e alice`"),
        ({"--target": "live", "--environment": "alice"}, "`millstream apply -t live -e alice`"),
        ({"--target": "staging", "--from": "2026-01-01"}, "`millstream apply -t staging`"),
        ({"--vars": "{day: 1}"}, "`millstream apply --vars '{day: 1}'`"),
    ],
)
def test_the_command_that_creates_an_environment_names_it_once(options, command):
    environment = Environment("alice", "shop")
    (diagnostic,) = missing_environment(environment, Target("shop", "live", {})).diagnostics
    assert command in with_options(diagnostic.help, repeated_options(options))
    assert "--environment" not in diagnostic.help


RANGE = ["--from", "2026-01-01", "--to", "2026-01-02 12:00", "--accept-fewer-rows", "--no-tests"]
ELSEWHERE = ["--project-dir", "shop", "--profiles-dir", "secret", "--vars", "{day: 1}"]


def test_a_command_that_goes_on_does_what_the_refused_one_did(tmp_path, monkeypatch):
    monkeypatch.delenv("MILLSTREAM_TARGET", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shop").mkdir()
    (tmp_path / "secret").mkdir()
    group = click.Context(millstream, **millstream.context_settings)
    context = build.command.make_context("build", [*ELSEWHERE, *RANGE], group)
    options = repeated_options(given_options(context))
    assert repeated_in(["build", *ELSEWHERE, *RANGE]) == options
    written = " --project-dir shop --profiles-dir secret --vars '{day: 1}'"
    builds = " --from 2026-01-01 --to '2026-01-02 12:00' --accept-fewer-rows --no-tests"
    assert options == RepeatedOptions(project=written, build=builds)
    refused = "continue with millstream build --accept stored:a --select a, or rebuild: millstream apply"
    assert with_options(refused, options) == (
        f"continue with millstream build{written}{builds} --accept stored:a --select a, "
        f"or rebuild: millstream apply{written}"
    )
    rebuild = "millstream build --rebuild a+"
    assert with_options(rebuild, options) == f"millstream build{written} --rebuild a+"
    assert with_options("millstream apply --accept-differences", options).endswith(
        f"{written} --accept-differences"
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("models/m.sql", f"{{{{ config(xyz=1) }}}} select user_id {EVENTS}"),
        (
            "models/s.yml",
            "sources: [{name: s, topics: [{name: t, xyz: 1, columns: [{name: a, type: int}]}]}]",
        ),
    ],
)
def test_a_key_like_no_other_lists_some_and_where_all_are(tmp_path, path, text):
    root = project(tmp_path, {"m": f"select user_id {EVENTS}"})
    (root / path).write_text(text)
    (diagnostic,) = compile_project(root, use_cache=False).diagnostics
    assert len(diagnostic.help) < 200
    assert re.search(r", … \(\d+ more: see configuration\.md in the docs\)$", diagnostic.help)


def recipes():
    """Return the commands of the docs' workflows that install Millstream."""
    commands = []
    for page in sorted((ROOT / "docs").glob("*.md")):
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            commands += re.findall(r"(?:pip|uv) .*\bmillstream\b.*", block)
    return commands


def test_the_recipes_for_ci_install_the_wheel_that_the_docs_build():
    assert set(recipes()) == {"pip install wheels/millstream-*.whl"}


@pytest.mark.long
def test_the_install_command_of_the_recipes_runs(tmp_path):
    page = (ROOT / "docs/review.md").read_text(encoding="utf-8")
    (build,) = re.findall(r"^(uv build --wheel .*)$", page, re.MULTILINE)
    shop = tmp_path / "shop"
    shop.mkdir()
    command = build.replace("~/shop", str(shop))
    subprocess.run(command, cwd=ROOT, shell=True, check=True, capture_output=True)
    subprocess.run(["uv", "venv", "--quiet", tmp_path / "venv"], check=True)
    (install,) = set(recipes())
    install = install.replace("pip install", f"uv pip install --no-deps --python {tmp_path}/venv")
    subprocess.run(install, cwd=shop, shell=True, check=True, capture_output=True)
    assert (tmp_path / "venv/bin/millstream").is_file()
