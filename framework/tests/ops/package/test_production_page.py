"""docs/production.md: its target compiles, its commands exist, and its files are those of a package."""

import re
import shlex
from pathlib import Path

import click
import yaml

from millstream.cli.group import millstream
from millstream.ops.package.deployments import deployment_files
from millstream.ops.package.facts import facts_of
from millstream.ops.package.project_files import project_files
from millstream.project.load import load_project

PAGE = (Path(__file__).resolve().parents[4] / "docs/production.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line, comments=True)
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]


def test_the_target_is_read(shop):
    (profile,) = re.findall(r"^```yaml\n(shop:.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (shop / "profiles.yml").write_text(profile)
    project = load_project(shop, "production", None, None)
    facts = facts_of(project, None, 3)
    assert [variable.name for variable in facts.variables if not variable.optional] == [
        "BOOTSTRAP",
        "KAFKA_PASSWORD",
    ]
    included = [words[words.index("--include") + 1] for words in COMMANDS if "--include" in words]
    files = project_files(project, included, None)
    assert yaml.safe_load(profile)["shop"]["outputs"]["production"]["kafka"]["ssl_ca_location"] in files


def test_commands_exist():
    commands = [words[1:] for words in COMMANDS if words[0] in {"millstream", "./start"}]
    assert ["debug"] in commands
    group = click.Context(millstream, **millstream.context_settings)
    for words in commands:
        if words:
            name, *rest = words
            millstream.get_command(group, name).make_context(name, rest, parent=group)


def test_files_are_those_of_a_package(shop):
    files = deployment_files(facts_of(load_project(shop, "production", None, None), None, 3), "1")
    cells = set(re.findall(r"^\| (`[^|]*?`) \|", PAGE, re.MULTILINE))
    named = {
        name
        for cell in cells
        for name in re.findall(r"`([^`]+)`", cell)
        if "." not in name or name == "Dockerfile"
    }
    written = {path.split("/")[0] + ("/" if "/" in path else "") for path in files}
    assert {"install", "start", "Dockerfile", "systemd/", "kubernetes/", "chart/"} <= named & written
    for words in COMMANDS:
        for word in words:
            if word.startswith(("systemd/", "target/package/")):
                path = word.removeprefix("target/package/")
                assert path in files or f"{path.rstrip('/')}/" in written, word
