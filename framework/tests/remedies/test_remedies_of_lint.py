"""Remedies of `millstream lint`: comments, names and rules that are wrong."""

import json

import pytest
from click.testing import CliRunner
from support.sql_plans import project

from millstream.cli.group import millstream

SINK = "{{ config(materialized='sink', key='user_id') }}\n"
MODEL = (
    SINK + "select user_id,\n  cast(at as date) as day {comment}\nfrom {{{{ source('shop', 'events') }}}}\n"
)
OTHER = "select user_id from {{ source('shop', 'events') }}\n"


@pytest.fixture
def lint(tmp_path):
    root = project(tmp_path, {"m": ""})

    def run(comment, *arguments):
        head, tail = MODEL.split("{comment}")
        (root / "models/m.sql").write_text(head + comment + tail.replace("{{{{", "{{").replace("}}}}", "}}"))
        command = ["lint", "--project-dir", str(root), "--output", "json", *arguments]
        result = CliRunner().invoke(millstream, command, catch_exceptions=False)
        diagnostics = json.loads(result.stdout)["diagnostics"]
        return result.exit_code, [(d["code"], d["help"]) for d in diagnostics if d["code"] != "lossy-cast"]

    run.root = root
    return run


GOOD = "-- lint: ignore lossy-cast: only days count"


def test_a_comment_needs_a_reason(lint):
    code, ((name, remedy),) = lint("-- lint: ignore lossy-cast")
    assert (code, name, remedy) == (2, "MS734", "write why: lint: ignore lossy-cast: <reason>")
    assert lint(GOOD) == (0, [])


def test_a_comment_without_a_finding_is_removed(lint):
    code, ((name, remedy),) = lint("-- lint: ignore unused-model: nobody knows")
    assert (code, name, "run `millstream lint" in remedy and "--fix" in remedy) == (0, "MS735", True)
    assert lint("-- lint: ignore unused-model: nobody knows", "--fix") == (0, [])
    assert "  cast(at as date) as day\nfrom" in (lint.root / "models/m.sql").read_text()


def test_a_rule_must_exist(lint):
    code, ((name, remedy),) = lint("-- lint: ignore lossy-casts: only days count")
    assert (code, name, remedy) == (2, "MS736", "did you mean 'lossy-cast'?")
    assert lint(GOOD, "--rule", "losy-cast") == (2, [("MS736", "did you mean 'lossy-cast'?")])
    assert lint(GOOD, "--rule", "lossy-cast") == (0, [])


def test_an_option_of_another_model_names_a_rule(lint):
    (lint.root / "models/other.sql").write_text("{{ config(lint={'lossy-casts': 'off'}) }}\n" + OTHER)
    assert lint(GOOD, "--select", "m") == (2, [("MS736", "did you mean 'lossy-cast'?")])
    (lint.root / "models/other.sql").write_text("{{ config(lint={'lossy-cast': 'off'}) }}\n" + OTHER)
    assert lint(GOOD, "--select", "m") == (0, [])


def test_a_rule_that_fails(lint):
    (lint.root / "lint").mkdir()
    rule = "from millstream.lint import rule\n\n\n@rule('mine')\ndef mine(project):\n    yield {}\n"
    for wrong in ("'a text'", "1 / 0"):
        (lint.root / "lint/mine.py").write_text(rule.format(wrong))
        code, ((name, remedy),) = lint(GOOD)
        assert (code, name, "yields `model.finding(…)`" in remedy) == (2, "MS737", True), wrong
        # It is the project's, whichever models are selected.
        assert lint(GOOD, "--select", "m") == (2, [(name, remedy)])
    (lint.root / "lint/mine.py").write_text(rule.format("from ()"))
    assert lint(GOOD) == (0, [])
    (lint.root / "lint/mine.py").write_text("import nothing_that_exists\n")
    assert lint(GOOD)[1][0][0] == "MS737"
