"""Remedies of packages of a project, each tried: what can't be packaged, and where a package can't write."""

import json
import os
import subprocess
import sys
from importlib import metadata

import pytest
from support.sql_plans import project

from millstream.core.errors import MillstreamError
from millstream.ops.package.wheels import write_wheel

BACKEND = """
import zipfile
from pathlib import Path

INFO = "tools-1.0.dist-info"


def _wheel(folder, name, content):
    files = {
        name: content,
        f"{INFO}/METADATA": "Metadata-Version: 2.1\\nName: tools\\nVersion: 1.0\\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nGenerator: tests\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
        f"{INFO}/RECORD": "",
    }
    with zipfile.ZipFile(Path(folder, "tools-1.0-py3-none-any.whl"), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return "tools-1.0-py3-none-any.whl"


def build_wheel(folder, *_):
    return _wheel(folder, "tools.py", Path("tools.py").read_text())


def build_editable(folder, *_):
    return _wheel(folder, "tools.pth", str(Path.cwd()))
"""
"""A build backend that needs no other package."""
FILES = {
    "tools/pyproject.toml": """
[project]
name = "tools"
version = "1.0"
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
""",
    "tools/backend.py": BACKEND,
    "tools/tools.py": "N = 1\n",
    "shop/pyproject.toml": """
[project]
name = "shop"
version = "1.0"
requires-python = ">=3.10"
dependencies = ["tools"]
[tool.uv.sources]
tools = {path = "../tools", editable = true}
""",
}


@pytest.fixture
def shop(tmp_path):
    """Return the folder of a project that needs a package, installed in editable mode."""
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    sync(tmp_path / "shop")
    return tmp_path / "shop"


def sync(folder, *options):
    environment = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    command = ["uv", "sync", "--quiet", "--offline", "--python", sys.executable, *options]
    subprocess.run(command, cwd=folder, env=environment, check=True)


def installed(folder):
    (info,) = folder.glob(".venv/lib/python*/site-packages/tools-1.0.dist-info")
    return metadata.Distribution.at(info)


def refused(shop):
    with pytest.raises(MillstreamError) as caught:
        write_wheel(installed(shop), shop)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic.code, diagnostic.help


def test_packages_that_can_not_be_packaged_are_installed_again(shop):
    code, remedy = refused(shop)
    assert (code, remedy) == (
        "MS664",
        "install a copy of it: `uv sync --no-editable`, or `pip install` without -e tools",
    )
    sync(shop, "--no-editable")
    assert write_wheel(installed(shop), shop).requirement.startswith("tools==1.0")
    again = "install it again, such as by `uv sync --no-editable --reinstall-package tools`"
    record = installed(shop).locate_file("tools-1.0.dist-info/RECORD")
    record.write_text(record.read_text().replace("tools.py,,6", "tools.py,sha256=AAAA,6"))
    assert refused(shop) == ("MS664", again)
    sync(shop, "--no-editable", "--reinstall-package", "tools")
    assert write_wheel(installed(shop), shop)
    record.unlink()
    assert refused(shop) == ("MS664", again)
    sync(shop, "--no-editable", "--reinstall-package", "tools")
    assert write_wheel(installed(shop), shop)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder of Linux that nobody can write")
def test_a_work_folder_that_can_not_be_written(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "SHA256SUMS").write_text("of a test")
    project(package / "project", {"m": "select user_id from {{ source('shop', 'events') }}"})
    command = [sys.executable, "-m", "millstream.cli.start", "ls", "--output", "json"]
    environment = os.environ | {"MILLSTREAM_PACKAGE": str(package)}

    def list_nodes(work):
        return subprocess.run(
            command, env=environment | {"MILLSTREAM_WORK": str(work)}, capture_output=True, text=True, check=False
        )  # fmt: skip

    refused = list_nodes("/sys/kernel/work")
    (diagnostic,) = json.loads(refused.stdout)["diagnostics"]
    assert (diagnostic["code"], diagnostic["help"]) == (
        "MS668",
        "name a folder that can be written with MILLSTREAM_WORK",
    )
    written = list_nodes(tmp_path / "work")
    assert (written.returncode, "model.m" in written.stdout) == (0, True), written.stderr
