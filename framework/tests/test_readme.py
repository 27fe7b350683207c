"""The README is true: what it shows is compared with the real thing, and its commands run.

`MILLSTREAM_WRITE=1 uv run pytest framework/tests/test_readme.py` writes what it shows, but for the lines of `build`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from millstream.cli.build_progress import _NAMES, _query_label
from millstream.cli.group import millstream
from millstream.compile import compile_project
from millstream.queries.topology import compiled_topology, physical_of

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
COMMENT = ROOT / "framework/tests/review/golden/longer_windows.md"
WRITE = bool(os.environ.get("MILLSTREAM_WRITE"))
CONSOLE = re.compile(r"^```console\n\$ ([^\n]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Return a copy of the example project."""
    folder = tmp_path_factory.mktemp("readme")
    for part in ("pyproject.toml", "profiles.yml"):
        shutil.copy(ROOT / part, folder / part)
    for part in ("models", "macros", "seeds", "tests"):
        shutil.copytree(ROOT / part, folder / part)
    return folder


def compared(shown, real):
    """Compare a part of the README with what it should be, or write it there."""
    text = README.read_text(encoding="utf-8")
    assert text.count(shown) == 1
    if WRITE:
        README.write_text(text.replace(shown, real), encoding="utf-8")
    else:
        assert shown == real


def output(command):
    """Return what the README shows of a command, with the line of the command."""
    return next(
        match
        for match in CONSOLE.finditer(README.read_text(encoding="utf-8"))
        if match[1].startswith(command)
    )


def commands():
    """Return the commands of Millstream, in their order."""
    lines = "\n".join(SHELL.findall(README.read_text(encoding="utf-8"))).replace(" && ", "\n").splitlines()
    split_lines = [shlex.split(line, comments=True) for line in lines]
    split_lines = [words[2:] if words[:2] == ["uv", "run"] else words for words in split_lines]
    return [words[1:] for words in split_lines if words[:1] == ["millstream"]]


def test_the_model_is_one_of_the_example():
    shown = re.search(
        r"^```sql\n-- (\S+)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    compared(shown[0], f"```sql\n-- {shown[1]}\n{(ROOT / shown[1]).read_text(encoding='utf-8')}```")


def test_the_plan_is_what_explain_prints(shop, monkeypatch):
    shown = output("millstream explain")
    monkeypatch.chdir(shop)
    monkeypatch.setenv("COLUMNS", "110")
    result = CliRunner().invoke(millstream, shlex.split(shown[1])[1:])
    assert result.exit_code == 0, result.output
    plan, _, rest = result.output.partition("RULES\n")
    cost = rest[rest.index("COST ") :]
    message = "\n".join(line.rstrip() for line in f"{plan}…\n\n{cost}".splitlines())
    compared(shown[0], f"```console\n$ {shown[1]}\n{message}\n```")


def test_the_comment_is_what_review_writes():
    shown = re.search(r"<!-- review -->\n.*?<!-- /review -->", README.read_text(encoding="utf-8"), re.DOTALL)
    lines = COMMENT.read_text(encoding="utf-8").partition("<details>")[0].strip().splitlines()
    quoted = "\n".join(f"> {line}".rstrip() for line in lines if not line.startswith("<!--"))
    compared(shown[0], f"<!-- review -->\n{quoted}\n<!-- /review -->")


def test_build_prints_a_line_for_each_query(shop):
    queries = physical_of(compiled_topology(compile_project(shop, use_cache=False))).queries
    names = [_query_label(query) for query in queries]
    lines = re.findall(
        r"^✓ (.+?) +[\d,]+ (?:rows? read|dead letters?) ", output("millstream build")[2], re.MULTILINE
    )
    assert sorted(lines) == sorted(
        name if len(name) <= _NAMES else f"{name[: _NAMES - 1]}…" for name in names
    )


@pytest.mark.long
def test_build_prints_what_is_shown(shop):
    done = subprocess.run(
        [sys.executable, "-m", "millstream", "build"], cwd=shop, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [untimed(line) for line in done.stderr.splitlines()]
    shown = [untimed(line) for line in output("millstream build")[2].splitlines() if line != "…"]
    # Queries run side by side, so they end in any order; tests of most models are not shown.
    assert sorted(without_tests(shown)) == sorted(without_tests(lines))
    assert [line for line in shown if line not in lines] == []


def without_tests(lines):
    summary = [line for line in lines if re.match(r"✓|\d+ models built", line)]
    return [line for line in summary if not re.search(r"\d+ (unit|data) tests?\b", line)]


def untimed(line):
    return re.sub(r" +[\d.]+ s( \(.*\))?$", " … s", line)


def test_the_commands_run_in_a_new_project(tmp_path, monkeypatch):
    """Those that take long are read only: their words must be those of the command."""
    monkeypatch.chdir(tmp_path)
    readme_commands = commands()
    assert {words[0] for words in readme_commands} >= {"build", "query", "consume", "init"}
    for words in readme_commands:
        if words[0] == "init":
            result = CliRunner().invoke(millstream, words)
            assert result.exit_code == 0, result.output
            monkeypatch.chdir(tmp_path / words[1])
            assert CliRunner().invoke(millstream, ["compile"]).exit_code == 0
        else:
            group = click.Context(millstream, **millstream.context_settings)
            millstream.get_command(group, words[0]).make_context(words[0], words[1:], parent=group)


def test_links_and_pictures_are_there():
    text = README.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    assert [link for link in links if not (ROOT / link).exists()] == []
    pictures = [link for link in links if link.endswith(".png")]
    assert len(pictures) == 2
    assert all((ROOT / link).stat().st_size < 200_000 for link in pictures)
