"""A hundred broken projects, one mistake each: what is told, and where.

Each folder of projects/ holds the files that differ from projects/_base, and `case.txt`: what is wrong, the code and
the text that the caret must stand under. `expected.txt` is all that a user sees; `UPDATE_GOLDEN=1` rewrites it.
"""

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from millstream.cli.group import millstream
from millstream.compile import compile_project
from millstream.core.errors import Diagnostic

PROJECTS = Path(__file__).parent / "projects"
SHOWN = re.compile(r"^ *--> .+\n *\|\n *\d+ \| (.*)\n *\| ( *)(\^+)", re.MULTILINE)
"""The line with a mistake, and what the caret stands under."""
CASES = sorted(path.name for path in PROJECTS.iterdir() if path.name != "_base")


def facts(case: str) -> dict[str, str]:
    lines = (PROJECTS / case / "case.txt").read_text().splitlines()[1:]
    return dict(line.split(": ", 1) for line in lines)


def project(case: str, folder: Path) -> Path:
    shutil.copytree(PROJECTS / "_base", folder)
    shutil.copytree(PROJECTS / case, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.txt"))
    return folder


def under(root: Path, diagnostic: Diagnostic) -> str:
    """What the caret of a diagnostic stands under, cut from the file itself."""
    location = diagnostic.location
    assert location is not None
    content = (root / location.path).read_bytes().decode("utf-8-sig")
    line = content.replace("\r\n", "\n").split("\n")[location.line - 1]
    return line[location.column - 1 : location.end - 1]


def test_the_base_project_is_good(tmp_path: Path) -> None:
    shutil.copytree(PROJECTS / "_base", tmp_path / "p")
    assert compile_project(tmp_path / "p").diagnostics == ()


@pytest.mark.parametrize("case", CASES)
def test_what_is_told(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = project(case, tmp_path / "p")
    monkeypatch.chdir(root)
    result = CliRunner().invoke(millstream, shlex.split(facts(case).get("command", "compile")))
    golden = PROJECTS / case / "expected.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(result.output)
    assert result.exit_code == 2
    assert result.output == golden.read_text()


@pytest.mark.parametrize(
    "case", [case for case in CASES if "command" not in facts(case) and "code" in facts(case)]
)
def test_one_mistake_is_one_diagnostic_at_its_place(case: str) -> None:
    """What a user sees is enough: `test_what_is_told` compares it with what is printed."""
    text, expected = (PROJECTS / case / "expected.txt").read_text(), facts(case)
    assert re.findall(r"^(?:error|warning)\[(MS\d+)\]", text, re.MULTILINE) == [expected["code"]]
    if "under" in expected:
        shown = SHOWN.search(text)
        assert shown is not None
        line, before, carets = shown.groups()
        assert line[len(before) : len(before) + len(carets)] == expected["under"]


def with_bytes(folder: Path, path: str, data: bytes) -> tuple[Path, tuple[Diagnostic, ...]]:
    root = project("file_only_comments", folder / "p")
    (root / "models/comment.sql").unlink()
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_bytes(data)
    return root, compile_project(root, use_cache=False).diagnostics


MISSPELLED = "select o.order_id, o.amont\nfrom {{ source('app', 'orders') }} as o\n"


@pytest.mark.parametrize(
    "data",
    [
        MISSPELLED.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + MISSPELLED.encode(),
        MISSPELLED.replace("select ", "select\t\t").encode(),
        ("-- " + "漢字é🙂" * 10 + "\n" + MISSPELLED).encode(),
        MISSPELLED.replace("o.order_id", "'" + "x" * 1_000_000 + "' as x").encode(),
    ],
    ids=["crlf", "bom", "tabs", "wide", "megabyte_line"],
)
def test_the_place_is_exact_whatever_the_file_is_like(data: bytes, tmp_path: Path) -> None:
    root, errors = with_bytes(tmp_path, "models/m.sql", data)
    assert [diagnostic.code for diagnostic in errors] == ["MS402"]
    assert under(root, errors[0]) == "amont"


@pytest.mark.parametrize(
    ("path", "data", "code"),
    [
        ("models/m.sql", "select 1 as é".encode("latin-1"), "MS103"),
        ("models/m.sql", "select 1 as a".encode("utf-16"), "MS103"),
        ("models/m.sql", b"select 1 as a \x00", "MS103"),
        ("models/m.yml", b"models: \xff", "MS103"),
        ("models/m.sql", b" " * (10 * 1024 * 1024 + 1), "MS119"),
    ],
)
def test_a_file_that_is_no_text_is_told(path: str, data: bytes, code: str, tmp_path: Path) -> None:
    _, errors = with_bytes(tmp_path, path, data)
    assert [diagnostic.code for diagnostic in errors] == [code]


def test_a_folder_where_a_file_is_expected(tmp_path: Path) -> None:
    root = project("file_only_comments", tmp_path / "p")
    (root / "models/comment.sql").unlink()
    (root / "models/m.sql").symlink_to("nowhere.sql")
    assert [diagnostic.code for diagnostic in compile_project(root).diagnostics] == ["MS102"]


def test_a_megabyte_line_is_shown_around_the_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, _ = with_bytes(
        tmp_path, "models/m.sql", MISSPELLED.replace("o.order_id", "'" + "x" * 1_000_000 + "' as x").encode()
    )
    monkeypatch.chdir(root)
    result = CliRunner().invoke(millstream, ["compile"])
    assert max(map(len, result.output.splitlines())) < 200
    assert "amont" in result.output
