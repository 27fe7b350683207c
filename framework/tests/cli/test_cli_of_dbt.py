"""Commands and options of dbt: what to use instead."""

import re

import pytest

from millstream.cli import dbt
from millstream.cli.registry import COMMANDS


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("snapshot",), "a table with `versions`"),
        (("deps",), "copy their macros"),
        (("source", "freshness"), "the data test `freshness`"),
        (("parse",), "`millstream compile`"),
        (("retry",), "`millstream build`"),
        (("clone",), "--environment NAME"),
        (("run-operation", "x"), "a template never queries"),
        (("list",), "`millstream ls`"),
        (("show", "--select", "x"), "`millstream show MODEL`"),
        (("show", "--inline", "x"), "`millstream query SQL`"),
        (("docs", "generate", "--select", "x"), "the whole project"),
        (("ls", "-m", "x"), "use --select"),
        (("ls", "--models", "x"), "use --select"),
        (("build", "--threads", "4"), "`master` of the target"),
        (("build", "--fail-fast"), "are skipped"),
        (("build", "--store-failures"), "`severity: dead_letter`"),
        (("build", "--defer"), "--environment NAME"),
    ],
)  # fmt: skip
def test_what_dbt_has_names_what_to_use_instead(run, shop, arguments, remedy):
    result = run(*arguments)
    assert result.code == 2
    assert "MS701" in result.err
    assert "did you mean" not in result.err
    assert remedy in result.err


def test_every_command_of_a_remedy_exists():
    texts = [*dbt.COMMANDS.values(), *dbt.OPTIONS.values()]
    named = {name for text in texts for name in re.findall(r"`millstream ([a-z-]+)", text)}
    assert named <= {entry.name for entry in COMMANDS}
    assert not dbt.COMMANDS.keys() & {entry.name for entry in COMMANDS}
