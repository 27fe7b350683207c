"""docs/exporters.md is true: its package is put on the path, as if installed, and its command run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.core.errors import MillstreamError
from millstream.docs.exporters import GROUP, installed_exporters, write_document
from millstream.docs.exporters.project import ExportedProject

PAGE = (Path(__file__).parents[3] / "docs/exporters.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w.]+)`\n\n```\w+\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
COMMAND, OUTPUT = re.findall(r"^```console\n\$ millstream (.*?)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[
    0
]
PROJECT = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
    "models/web.yml": "sources: [{name: web, topics: [{name: events, columns: [{name: id, type: bigint}]}]}]\n"
    "models: [{name: paid_orders, owner: sales@shop.example}]\n",
    "models/paid_orders.sql": "select id from {{ source('web', 'events') }} where id > 1\n",
    "models/visits.sql": "select id from {{ source('web', 'events') }}\n",
}


def install(folder, name, points, code):
    """Write what pip writes for a package with a module of the same name."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{points}\n")
    (folder / f"{name}.py").write_text(code)


@pytest.fixture
def millstream(tmp_path):
    """Return the output of a command in the project, next to which the package is installed."""
    for path, text in PROJECT.items():
        (tmp_path / "shop" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / path).write_text(text)
    points = FILES["pyproject.toml"].partition(f'[project.entry-points."{GROUP}"]\n')[2].replace('"', "")
    install(tmp_path / "installed", "owner_list", points, FILES["owner_list.py"])

    def run(*arguments, **settings):
        return subprocess.run(
            [sys.executable, "-m", "millstream", *arguments], cwd=tmp_path / "shop", text=True, check=True,
            stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(tmp_path / "installed"), **settings},
        ).stdout  # fmt: skip

    return run


def test_an_installed_exporter_is_a_format_in_help_and_in_completion(millstream):
    assert millstream(*COMMAND.split()) == OUTPUT
    assert "owners" in millstream("docs", "--help")
    words = {"COMP_WORDS": "millstream docs generate --format o", "COMP_CWORD": "4"}
    completed = millstream(_MILLSTREAM_COMPLETE="bash_complete", **words)
    assert completed.splitlines() == ["plain,openlineage", "plain,owners"]


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """Register exporters, and forget them after the test."""
    monkeypatch.syspath_prepend(tmp_path)

    def register(points, code):
        install(tmp_path, "other", points, code)
        installed_exporters.cache_clear()

    yield register
    sys.modules.pop("other", None)
    installed_exporters.cache_clear()


def test_names_of_formats_stay_what_they_are(registered):
    names = [*installed_exporters()]
    registered(
        "text = other:write\nbadge = other:write\nmine = other:write", "def write(project): return 'x'"
    )
    assert [*installed_exporters()] == [*names, "mine"]
    project = ExportedProject("p", "t", "1", {}, None)
    assert write_document("badge", project).startswith("<svg")
    assert write_document("mine", project) == "x"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "failed: AttributeError: module 'other' has no attribute 'write'"),
        ("import nothing_such", "failed: ModuleNotFoundError: No module named 'nothing_such'"),
        ("def write(project): return project.nodes['x']", "failed: KeyError: 'x'"),
        ("def write(project): return b'x'", "returned bytes, not a text"),
    ],
)
def test_an_exporter_that_fails_is_named(registered, code, message):
    registered("mine = other:write", code)
    with pytest.raises(
        MillstreamError, match=re.escape(f"MS713: the exporter 'mine' (other:write) {message}")
    ):
        write_document("mine", ExportedProject("p", "t", "1", {}, None))
