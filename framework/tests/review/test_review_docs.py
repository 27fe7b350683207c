"""What docs/review.md and the hooks say exists."""

import re
import shlex
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from millstream.cli.group import millstream
from millstream.compile.selectors.methods import BEYOND_NODES
from millstream.review.values import LEVELS

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/review.md").read_text(encoding="utf-8")
DEPLOYING = (ROOT / "docs/deploying.md").read_text(encoding="utf-8")
NAMED = re.findall(r"millstream (?:review|ls|build|plan|apply|run)\b[^\n`]*", PAGE + DEPLOYING)
COMMANDS = [line for line in NAMED if "…" not in line]


def options(command):
    shown = CliRunner().invoke(millstream, [command, "--help"], prog_name="millstream").stdout
    return set(re.findall(r"--[a-z-]+", shown))


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_have_these_options(line):
    words = shlex.split(line.partition(">")[0])
    assert {word for word in words if word.startswith("--")} <= options(words[1])


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL))
def test_recipes_are_yaml(block):
    assert yaml.safe_load(block)


def test_hooks_are_commands():
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {hook["id"] for hook in hooks} == set(re.findall(r"id: (millstream-\w+)", PAGE))
    for hook in hooks:
        _, command, *rest = hook["entry"].split()
        flags = [word for word in [*rest, *hook.get("args", ())] if word.startswith("--")]
        assert set(flags) <= options(command)


def test_every_selector_of_state_is_described():
    for value in BEYOND_NODES["state"]:
        assert f"`state:{value}`" in PAGE, value


def test_levels_are_those_of_the_option():
    from millstream.cli.review_output import _LEVELS

    assert _LEVELS == LEVELS
