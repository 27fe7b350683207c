"""After random edits, an editor shows what `millstream compile` reports: same codes, texts and places."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from mutants.everyday import everyday
from mutants.projects import OPERATORS, files_of, write_project
from support.language_client import Editor
from support.long import seeds

from millstream.cli.group import millstream

GENERATE = Path(__file__).parents[3] / "benchmarks/generate.py"


class EditedProject:
    """An editor over a project, with a copy on disk that has the same edits, for `millstream compile`."""

    def __init__(self, folder: Path, name: str, seed: int) -> None:
        self.root, self.saved = folder / "edited" / name, folder / "saved" / name
        if name == "generated":
            command = [sys.executable, str(GENERATE), str(self.root), "--models", "30", "--seed", str(seed)]
            subprocess.run(command, check=True, capture_output=True)
        else:
            write_project(name, self.root)
        shutil.copytree(self.root, self.saved)
        self.paths = [path.relative_to(self.root).as_posix() for path in files_of(self.root)]
        self.good = {path: (self.root / path).read_text(encoding="utf-8") for path in self.paths}
        self.random = Random(seed)
        self.editor = Editor(self.root)

    def edit(self) -> str:
        """Change a file by a mistake, or back, as an editor does before anything is saved; return what."""
        wrong = [path for path, text in self.editor.texts.items() if text != self.good[path]]
        if wrong and self.random.random() < (0.8 if len(wrong) > 1 else 0.3):
            path = self.random.choice(wrong)
            what, text = "undo", self.good[path]
        else:
            path = self.random.choice(self.paths)
            what, text = self._make_mistake(path)
        if path not in self.editor.texts:
            self.editor.open(path)
        self.editor.type(path, text)
        (self.saved / path).write_text(text, encoding="utf-8", newline="")
        return f"{path}: {what}"

    def _make_mistake(self, path: str) -> tuple[str, str]:
        good = self.good[path]
        if self.random.random() < 0.5:
            what, renamed, text = everyday(path, good, self.random)
            if renamed == path:
                return what, text
        start = good.index("[tool.millstream") if path.endswith(".toml") else 0
        what, text = OPERATORS[Path(path).suffix](good[start:], self.random)
        return what, good[:start] + text

    def shown(self) -> list[tuple[str, int, int, str, str]]:
        """Return what the editor shows once all edits are compiled."""
        self.editor.lenses(self.paths[0])
        return sorted(
            (path, d.range.start.line + 1, d.range.start.character + 1, d.code, d.message)
            for path in self.editor.shown()
            for d in self.editor.diagnostics(path)
        )

    def reported(self) -> list[tuple[str, int, int, str, str]]:
        """Return what `millstream compile` reports."""
        result = CliRunner().invoke(
            millstream, ["compile", "--project-dir", str(self.saved), "--no-cache", "--output", "json"]
        )
        reported = json.loads(result.stdout)["diagnostics"]
        return sorted(
            (d["path"] or "pyproject.toml", d["line"] or 1, d["column"] or 1, d["code"], with_help(d))
            for d in reported
        )


def with_help(diagnostic: dict[str, str]) -> str:
    help_ = diagnostic["help"]
    return f"{diagnostic['message']}\nhelp: {help_}" if help_ else diagnostic["message"]


def follow_edits(folder: Path, name: str, seed: int, edits: int) -> None:
    project = EditedProject(folder, name, seed)
    done: list[str] = []
    try:
        for _ in range(edits):
            done.append(project.edit())
            assert project.shown() == project.reported(), f"seed {seed}: {done}"
    finally:
        project.editor.stop()


def test_few_edits(tmp_path):
    follow_edits(tmp_path, "dependent", 1, 12)


@pytest.mark.long
@pytest.mark.parametrize("name", ["example", "new", "dependent", "generated"])
@pytest.mark.parametrize("seed", seeds(3))
def test_many_edits(name, seed, tmp_path):
    follow_edits(tmp_path, name, seed, 60)
