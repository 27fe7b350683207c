"""Millstream as users install it while no registry has it: as a tool, and in a project, from a wheel or a clone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from millstream import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.long


@pytest.fixture
def uv(tmp_path):
    """Return what runs a command in a folder, with tools in a folder of its own."""
    settings = {
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
        "UV_PYTHON": sys.executable,
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
    }
    environment = {name: text for name, text in os.environ.items() if name != "VIRTUAL_ENV"} | settings

    def run(folder, *command):
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run


def source(project):
    return tomllib.loads((project / "pyproject.toml").read_text())["tool"]["uv"]["sources"]["millstream"]


def test_a_tool_from_a_wheel_makes_a_project_that_uv_runs(uv, tmp_path):
    uv(ROOT, "uv", "build", "--quiet", "--wheel", "--out-dir", str(tmp_path / "dist"))
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    uv(tmp_path, "uv", "tool", "install", str(wheel))
    uv(tmp_path, str(tmp_path / "bin/millstream"), "init", "cafe", "--template", "minimal", "--no-git")
    cafe = tmp_path / "cafe"
    assert source(cafe) == {"path": str(wheel)}
    uv(cafe, "uv", "sync")
    try:
        assert "1 model built; " in uv(cafe, "uv", "run", "millstream", "build")
    finally:
        uv(cafe, "uv", "run", "millstream", "clean", "--yes")


def test_a_clone_is_installed_as_a_tool_and_added_to_a_project(uv, tmp_path):
    uv(tmp_path, "uv", "tool", "install", str(ROOT))
    millstream = str(tmp_path / "bin/millstream")
    uv(tmp_path, millstream, "init", "cafe", "--no-git")
    assert source(tmp_path / "cafe") == {"path": str(ROOT)}
    uv(tmp_path, "uv", "init", "--bare", "other")
    uv(tmp_path / "other", "uv", "add", str(ROOT))
    assert uv(tmp_path / "other", "uv", "run", "millstream", "--version").split()[-1] == __version__
