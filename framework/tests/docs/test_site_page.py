"""The commands of docs/site.md do what it says."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.group import millstream

PAGE = Path(__file__).resolve().parents[3] / "docs" / "site.md"
COMMANDS = re.findall(r"^millstream (docs generate.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_there_are_commands():
    assert len(COMMANDS) == 7


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "pyproject.toml").write_text('[tool.millstream]\nname = "shop"\n')
    targets = "{local: {}, production: {kafka: {bootstrap_servers: 'kafka:9092'}}}"
    (tmp_path / "profiles.yml").write_text(f"shop: {{target: local, outputs: {targets}}}\n")
    (tmp_path / "models").mkdir()
    (tmp_path / "models/one.sql").write_text("{{ config(materialized='view') }}\nselect 1 as one\n")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command.partition(" > ")[0])
    result = CliRunner().invoke(millstream, words)
    assert (result.exit_code, result.stderr) == (0, "")
    positions = [words[words.index("--to") + 1]] if "--to" in words else []
    positions += ["target/docs/index.html"] if words == ["docs", "generate"] else []
    assert all((tmp_path / path).is_file() for path in positions)
    assert result.stdout
