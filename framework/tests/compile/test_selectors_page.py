"""Each selector of the page about selectors chooses what the page says, in the example project."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.group import millstream
from millstream.compile.selectors.methods import METHOD_NAMES

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/selectors.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `([^` ]+)` \| (.+) \|$", PAGE, re.MULTILINE)
ABOUT_TESTS = ("test_name:", "test_type:", "unit_test:")


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Return a copy of the example project with the selectors of the page."""
    folder = tmp_path_factory.mktemp("selectors")
    for part in ("pyproject.toml", "profiles.yml"):
        shutil.copy(ROOT / part, folder / part)
    for part in ("models", "macros", "seeds", "tests"):
        shutil.copytree(ROOT / part, folder / part)
    (selectors,) = re.findall(r"^```yaml file=selectors.yml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (folder / "selectors.yml").write_text(selectors)
    return folder


def nodes(root, *options):
    result = CliRunner().invoke(
        millstream, ["ls", "--project-dir", str(root), "--output", "json", *options], catch_exceptions=False
    )
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["nodes"]


def without_tests(all_nodes):
    return [node for node in all_nodes if node["resource_type"] not in {"test", "unit_test"}]


@pytest.mark.parametrize(
    ("selector", "text"), [row for row in ROWS if not row[0].startswith("state:")], ids=lambda value: value
)
def test_each_selector_of_a_table_chooses_what_its_line_says(shop, selector, text):
    chosen = nodes(shop, "--select", selector)
    assert chosen
    expected = text.rpartition(": ")[2] if text.endswith("`") else ""
    if expected:
        names = [
            node["name"] for node in (chosen if selector.startswith(ABOUT_TESTS) else without_tests(chosen))
        ]
        assert sorted(names) == sorted(re.findall(r"`([^`]+)`", expected))


def commands():
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *lines = part.splitlines()
            yield pytest.param(command, lines, id=command)


@pytest.mark.parametrize(("command", "lines"), [*commands()])
def test_each_command_prints_what_the_page_shows(shop, command, lines):
    options = command.removeprefix("millstream ls ").split()
    assert [".".join(node["fqn"]) for node in without_tests(nodes(shop, *options))] == lines


def test_the_page_has_every_method():
    methods = {selector.partition(":")[0].partition(".")[0] for selector, _ in ROWS if ":" in selector}
    assert set(METHOD_NAMES) - methods == {"result"}
