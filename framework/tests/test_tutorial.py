"""The tutorial is true: its files are written, its commands run, its outputs compared."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.group import millstream

PAGE = Path(__file__).parents[2] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_tutorial_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = 0
    for kind, name, content in BLOCK.findall(PAGE.read_text()):
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        elif kind == "console":
            command, _, expected = content.partition("\n")
            result = CliRunner().invoke(millstream, command.removeprefix("$ millstream ").split())
            message = re.sub(r" in [\d.]+ s(: \d+ files? written)?\.", ".", result.output)
            assert message.strip() == expected.strip()
            commands += 1
    assert commands >= 4
