"""Which codes have a remedy that is tried in a test: a new code needs one, and the others become fewer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from remedies_of_projects import MODEL, PROJECT_CASES
from support.written import project

from millstream.compile import compile_project

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "millstream"
_CODE = re.compile(r'"(MS\d{3})"')


@pytest.mark.parametrize("case", PROJECT_CASES, ids=[case.code for case in PROJECT_CASES])
def test_an_error_of_a_project_is_gone_with_the_edit_that_the_remedy_asks_for(tmp_path, case):
    root = project(tmp_path, {"m": MODEL})
    for path, text in {case.path: case.wrong, **case.others}.items():
        (root / path).write_text(text)
    (diagnostic,) = compile_project(root, use_cache=False).diagnostics
    assert (diagnostic.code, case.remedy in diagnostic.help) == (case.code, True), diagnostic
    (root / case.path).write_text(case.right)
    assert compile_project(root, use_cache=False).diagnostics == ()


def used():
    places = (path for path in PACKAGE.rglob("*.py") if path.parent.name != "codes" and path.stem != "codes")
    return {code for path in places for code in _CODE.findall(path.read_text(encoding="utf-8"))}


def tried():
    places = [*TESTS.glob("remedies/*.py"), *TESTS.rglob("test_*remed*.py")]
    return {code for path in places for code in _CODE.findall(path.read_text(encoding="utf-8"))}


def test_the_list_of_codes_whose_remedy_is_not_tried_is_complete():
    untried = (TESTS / "remedies/untried.txt").read_text(encoding="utf-8").split()
    assert sorted(used() - tried()) == untried
