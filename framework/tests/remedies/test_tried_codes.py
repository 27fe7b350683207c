"""Which codes have a remedy that is tried in a test: a new code needs one, and the others become fewer."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from remedies_of_projects import COMMAND_CASES, MODEL, PROJECT_CASES
from support.sql_plans import project

from millstream.cli.group import millstream
from millstream.compile import compile_project
from millstream.core.errors import MillstreamError

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "millstream"
RUNS = TESTS / "crash/test_python_writers_in_runs.py"
"""A run is stopped, the change applied, and the run started again, as MS898 asks for."""
_CODE = re.compile(r'"(MS\d{3})"')


@pytest.mark.parametrize("case", PROJECT_CASES, ids=[case.code for case in PROJECT_CASES])
def test_an_error_of_a_project_is_gone_with_the_edit_that_the_remedy_asks_for(tmp_path, case):
    root = project(tmp_path, {"m": MODEL})
    write(root, {case.path: case.wrong, **case.others})
    (diagnostic,) = problems_of(root)
    assert (diagnostic.code, case.remedy in diagnostic.help) == (case.code, True), diagnostic
    if case.right:
        write(root, {case.path: case.right})
    else:
        (root / case.path).unlink()
    write(root, case.fixed)
    assert problems_of(root) == ()


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(text.encode(errors="surrogateescape"))


def problems_of(root):
    try:
        return compile_project(root, use_cache=False).diagnostics
    except MillstreamError as error:
        return error.diagnostics


@pytest.mark.parametrize(
    "case",
    [
        # A package takes a quarter of a minute; that of a secret is in each run.
        pytest.param(
            case,
            id=case.code,
            marks=[pytest.mark.long] if case.command[0] == "package" and case.code != "MS666" else [],
        )
        for case in COMMAND_CASES
    ],
)
def test_an_error_of_a_command_is_gone_with_what_the_remedy_asks_for(tmp_path, monkeypatch, case):
    root = project(tmp_path, {"m": MODEL})
    monkeypatch.chdir(root)
    monkeypatch.setenv("KAFKA_PASSWORD", "of a test")
    write(root, case.wrong)
    ((code, remedy),) = reported_by(case.command)
    assert (code, case.remedy in remedy) == (case.code, True), remedy
    write(root, case.right)
    assert reported_by(case.instead or case.command) == []


def reported_by(command):
    result = CliRunner().invoke(millstream, [*command, "--output", "json"], catch_exceptions=False)
    diagnostics = json.loads(result.stdout)["diagnostics"]
    return [(diagnostic["code"], diagnostic["help"]) for diagnostic in diagnostics]


def used():
    positions = (
        path for path in PACKAGE.rglob("*.py") if path.parent.name != "codes" and path.stem != "codes"
    )
    return {code for path in positions for code in _CODE.findall(path.read_text(encoding="utf-8"))}


def tried():
    positions = [*TESTS.glob("remedies/*.py"), *TESTS.rglob("test_*remed*.py"), RUNS]
    return {code for path in positions for code in _CODE.findall(path.read_text(encoding="utf-8"))}


def test_the_list_of_codes_whose_remedy_is_not_tried_is_complete():
    lines = (TESTS / "remedies/untried.txt").read_text(encoding="utf-8").splitlines()
    reasons = dict(line.split(": ", 1) for line in lines)
    assert sorted(used() - tried()) == list(reasons)
    assert all(reasons.values())
