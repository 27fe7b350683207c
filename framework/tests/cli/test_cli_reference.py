"""The reference pages are those that the program would write now."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from millstream.cli.reference import DOCS, PAGES
from millstream.core.all_codes import PARTS, all_codes
from millstream.sources.registry import modules_of_kinds
from millstream.stores.registry import STORES, store_module

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


def test_no_two_errors_have_the_same_code():
    parts = [import_module(f"millstream.core.codes.{name}").CODES for name in PARTS]
    parts += [store_module(store, "codes").CODES for store in STORES]
    parts += [module.CODES for module in modules_of_kinds("codes")]
    meanings = {(code, meaning) for part in parts for code, meaning in part.items()}  # databases share theirs
    assert len(meanings) == len(all_codes())
