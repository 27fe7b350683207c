"""Remedies of `millstream fmt`: what it leaves as it is, and what to do then."""

import json
import sys

import pytest
from click.testing import CliRunner
from support.sql_plans import project

from millstream.cli.group import millstream
from millstream.fmt.layout import _mode

GLUED = "SELECT e.user{% if true %}_id{% endif %} FROM {{ source('shop', 'events') }} AS e\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    root = project(tmp_path, {"m": GLUED})
    monkeypatch.chdir(root)
    return root


def fmt(*arguments):
    result = CliRunner().invoke(millstream, ["fmt", *arguments, "--output", "json"], catch_exceptions=False)
    diagnostics = json.loads(result.stdout)["diagnostics"]
    return result.exit_code, [(diagnostic["code"], diagnostic["help"]) for diagnostic in diagnostics]


def test_lines_that_would_change_their_meaning_can_be_switched_off(shop):
    code, ((name, remedy),) = fmt("models/m.sql")
    assert (code, name) == (2, "MS732")
    assert "between `-- fmt: off` and `-- fmt: on`" in remedy
    assert (shop / "models/m.sql").read_text() == GLUED
    head, tail = GLUED.split(" FROM")
    (shop / "models/m.sql").write_text(f"-- fmt: off\n{head}\n-- fmt: on\nFROM{tail}")
    assert fmt("models/m.sql") == (0, [])
    assert (shop / "models/m.sql").read_text().endswith("\nfrom {{ source('shop', 'events') }} as e\n")


def test_a_bracket_that_is_not_closed(shop):
    (shop / "models/m.sql").write_text("select (1 as x]\n")
    code, ((name, remedy),) = fmt("models/m.sql")
    assert (code, name, "fix the brackets" in remedy) == (2, "MS731", True)
    (shop / "models/m.sql").write_text("select (1) as x\n")
    assert fmt("models/m.sql") == (0, [])


def test_a_folder_without_sql(shop):
    (shop / "seeds").mkdir(exist_ok=True)
    code, ((name, remedy),) = fmt("seeds")
    assert (code, name, remedy) == (2, "MS733", "name a file or folder of models, macros or tests")
    assert fmt("--check", "models")[1] != [(name, remedy)]


def test_sqlfmt_must_be_installed(shop, monkeypatch):
    _mode.cache_clear()
    with monkeypatch.context() as patched:
        patched.setitem(sys.modules, "sqlfmt.dialect", None)
        code, ((name, remedy),) = fmt("models/m.sql")
    assert (code, name, "pip install 'millstream[fmt]'" in remedy) == (2, "MS730", True)
    assert fmt("models/m.sql")[1] != [(name, remedy)]
