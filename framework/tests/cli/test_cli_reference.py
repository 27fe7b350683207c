"""The reference pages are those that the program would write now."""

import re
from pathlib import Path

import pytest

from millstream.cli.reference import DOCS, PAGES
from millstream.codes import all_codes

PACKAGE = Path(__file__).resolve().parents[2] / "millstream"


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_current(name):
    written = (DOCS / name).read_text(encoding="utf-8")
    assert written == PAGES[name](), "run: uv run python -m millstream.cli.reference"


def test_every_code_in_the_source_has_a_row():
    used = {
        code
        for path in PACKAGE.rglob("*.py")
        if "codes" not in path.parts
        for code in re.findall(r'"(MS\d{3})"', path.read_text(encoding="utf-8"))
    }
    assert used - set(all_codes()) == set()
