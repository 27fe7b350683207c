"""A function's digest covers what it imports from the project; libraries count by their version."""

from importlib import metadata

import pytest
from support.shops import Shop

from millstream.compile import compile_project
from millstream.core.errors import MillstreamError
from millstream.project.load import load_project

FUNCTION = """
import json
from pathlib import Path

import numpy
from rates import europe
from rates.asia import factor as of_asia
from rates.unused import nothing

LIMITS = json.loads(Path("rates/limits.json").read_text())
ZONES = json.loads((Path(__file__).resolve().parents[1] / "rates" / "zones.json").read_text("utf-8"))


def rated(value: float) -> float:
    from rates.late import shift

    return numpy.float64(europe.times(value)) * of_asia() + shift() + LIMITS["most"] + ZONES["north"]


def plain(value: float) -> float:
    return value
"""
FILES = {
    "macros/rated.py": FUNCTION,
    "rates/__init__.py": "",
    "rates/europe.py": "from .common import FACTOR\n\n\ndef times(value):\n    return value * FACTOR\n",
    "rates/common.py": "import os\nFACTOR = 2 * int(open(os.path.join(os.path.dirname(__file__), 'one.txt')).read())\n",
    "rates/one.txt": "1",
    "rates/zones.json": '{"north": 7}\n',
    "rates/asia.py": "def factor():\n    return OWN\n\n\nOWN = 3\n\n\ndef other():\n    return 4\n",
    "rates/late.py": "def shift():\n    return 1\n",
    "rates/limits.json": '{"most": 5}\n',
    "rates/unused.py": "nothing = 1\n",
}


class Files(Shop):
    def write(self, path, text):
        """Write a file with its indentation."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def shop(tmp_path):
    project = Files(tmp_path, "")
    for path, text in FILES.items():
        project.write(path, text)
    return project


def functions(shop):
    return load_project(shop.root, None, None, None).functions


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("rates/europe.py", "value * FACTOR", "value + FACTOR"),
        ("rates/common.py", "2", "3"),
        ("rates/asia.py", "OWN = 3", "OWN = 4"),
        ("rates/late.py", "return 1", "return 2"),
        ("rates/limits.json", "5", "6"),
        ("rates/zones.json", "7", "8"),
        ("rates/one.txt", "1", "2"),
        ("rates/__init__.py", "", "import rates.asia\n\nrates.asia.OWN = 9\n"),
    ],
)
def test_what_a_function_imports(shop, path, old, new):
    before = functions(shop)
    shop.write(path, FILES[path].replace(old, new, 1))
    after = functions(shop)
    assert before["rated"].digest != after["rated"].digest
    assert before["plain"].digest == after["plain"].digest


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("rates/asia.py", "return 4", "return 5"),
        ("rates/europe.py", "def times", "# a comment\ndef times"),
        ("rates/unused.py", "1", "2"),
        ("macros/rated.py", "def plain", "# a comment\ndef plain"),
    ],
)
def test_what_it_does_not_read(shop, path, old, new):
    before = functions(shop)
    shop.write(path, FILES[path].replace(old, new))
    assert functions(shop)["rated"].digest == before["rated"].digest


def test_libraries_with_their_versions(shop):
    by_name = functions(shop)
    assert by_name["rated"].libraries == {"numpy": metadata.version("numpy")}
    assert by_name["plain"].libraries == {}


def test_a_cached_compile_notices_an_edited_import(shop):
    shop.model(
        "sent",
        "{{ config(materialized='sink') }} select rated(value) as x from {{ source('web', 'events') }}",
    )
    first = compile_project(shop.root)
    assert not [diagnostic for diagnostic in first.diagnostics if diagnostic.severity == "error"]
    assert compile_project(shop.root).from_cache
    shop.write("rates/common.py", "FACTOR = 7\n")
    again = compile_project(shop.root)
    assert again.catalog != first.catalog


@pytest.mark.parametrize(
    ("statement", "message", "remedy"),
    [
        ("from rates.nothing import x", "the project has no module 'rates.nothing'", "add rates/nothing.py"),
        ("import rates.nothing", "the project has no module 'rates.nothing'", "add rates/nothing.py"),
        ("import marts.nothing as n", "the project has no module 'marts.nothing'", "add marts/nothing.py"),
        ("from marts import nothing", "'marts' has no 'nothing'", "add marts/nothing.py"),
        (
            "from . import rated",
            "a relative import does not work in this file",
            "write from macros import rated",
        ),
        (
            "from ..rates import x as y",
            "a relative import does not work in this file",
            "from rates import x as y",
        ),
        ("from rates.common import FACTORS", "'rates.common' has no 'FACTORS'", "did you mean 'FACTOR'?"),
    ],
)
def test_an_import_of_nothing_is_reported(shop, statement, message, remedy):
    shop.write("marts/notes.txt", "a folder without Python")
    (shop.root / "macros/late.py").write_text(f"def late() -> int:\n    {statement}\n    return 1\n")
    for _ in range(2):
        (diagnostic,) = compile_project(shop.root).diagnostics
        assert (diagnostic.code, diagnostic.message, str(diagnostic.location)) == (
            "MS324",
            message,
            "macros/late.py:2:5",
        )
        assert remedy in diagnostic.help
    (shop.root / "macros/late.py").write_text("def late() -> int:\n    return 1\n")
    assert compile_project(shop.root).diagnostics == ()


@pytest.mark.parametrize(
    "statement",
    [
        "from rates import europe, __name__",
        "from rates.common import FACTOR as f",
        "import rates.common",
        "try:\n        from rates.fast import x\n    except ImportError:\n        x = 1",
        "import library_elsewhere.nothing",
        "from tests.nothing import x",  # a library of this name hides a folder without __init__.py
        "from rates.star import anything",
    ],
)
def test_imports_that_may_work_are_not(shop, tmp_path, monkeypatch, statement):
    library = tmp_path / "libraries/tests"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(library.parent))
    (shop.root / "rates/star.py").write_text("from numpy import *\n")
    (shop.root / "tests").mkdir(exist_ok=True)
    (shop.root / "macros/late.py").write_text(f"def late() -> int:\n    {statement}\n    return 1\n")
    assert compile_project(shop.root).diagnostics == ()


@pytest.mark.parametrize("path", ["rates/late.py", "rates/asia.py", "rates/common.py", "rates/__init__.py"])
def test_a_syntax_error_in_an_imported_module_is_found(shop, path):
    shop.write(path, "def shift(:\n    return 1\n")
    (diagnostic,) = compile_project(shop.root).diagnostics
    assert (diagnostic.code, diagnostic.location.path, diagnostic.location.line) == ("MS310", path, 1)
    with pytest.raises(MillstreamError, match="Python syntax error"):
        load_project(shop.root, None, None, None)


def test_a_syntax_error_in_a_module_that_nothing_imports_is_none(shop):
    shop.write("rates/other.py", "def shift(:\n")
    assert compile_project(shop.root).diagnostics == ()
