"""Wheels of installed packages: another installer installs the same files from them."""

import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest

from millstream.core.errors import MillstreamError
from millstream.ops.package.requirements import check_lock, needed_packages, required_packages
from millstream.ops.package.wheels import write_wheel
from millstream.ops.package.workers import worker_packages, write_workers

ROOT = Path(__file__).resolve().parents[4]


def installed(wheel, folder):
    """Install a wheel with uv, from nowhere else; return its metadata."""
    command = ["uv", "pip", "install", "--quiet", "--offline", "--no-index", "--no-deps", "--no-cache"]
    subprocess.run([*command, "--python", sys.executable, "--target", folder, wheel], check=True)
    (path,) = (path for path in folder.iterdir() if path.name.endswith(".dist-info"))
    return metadata.Distribution.at(path)


def contents(distribution):
    installed_only = ("RECORD", "INSTALLER", "REQUESTED", "uv_cache.json", "direct_url.json")
    return {
        str(file): Path(distribution.locate_file(file)).read_bytes()
        for file in distribution.files
        if file.name not in installed_only
        and not str(file).startswith(("../", "bin/"))
        and file.suffix != ".pyc"
    }


@pytest.mark.parametrize("name", ["click", "msgspec", "pytest"])
def test_an_installer_gets_the_same_files(tmp_path, name):
    distribution = metadata.distribution(name)
    wheel = write_wheel(distribution, tmp_path)
    again = installed(tmp_path / wheel.file, tmp_path / "site")
    assert contents(again) == contents(distribution)
    assert again.version == distribution.version
    assert again.read_text("WHEEL") == distribution.read_text("WHEEL")


def test_programs_stay_programs(tmp_path):
    wheel = write_wheel(metadata.distribution("pytest-xdist"), tmp_path)
    with ZipFile(tmp_path / wheel.file) as archive:
        modes = {entry.filename: entry.external_attr >> 16 for entry in archive.infolist()}
    assert set(modes.values()) == {0o100644}
    distribution = installed(tmp_path / wheel.file, tmp_path / "site")
    program = Path(distribution.locate_file("xdist/plugin.py"))
    program.chmod(0o755)
    again = write_wheel(distribution, tmp_path)
    shutil.rmtree(tmp_path / "site")
    installed(tmp_path / again.file, tmp_path / "site")
    assert program.stat().st_mode & 0o111 == 0o111


def test_workers_import_packages_and_modules_from_their_archive(tmp_path):
    assert {"pandas", "pyarrow", "numpy", "protobuf", "wcwidth"} <= worker_packages({"wcwidth"})
    assert not {"pyspark", "millstream", "deltalake", "wcwidth"} & worker_packages(())
    wheel = write_wheel(metadata.distribution("wcwidth"), tmp_path)
    module = tmp_path / "words.py"
    module.write_text("import wcwidth\nwidth = wcwidth.wcswidth('日本')\n")
    archive = write_workers(
        tmp_path, {"wcwidth"}, {"wcwidth": tmp_path / wheel.file}, {"src/words/wide.py": module}
    )
    with ZipFile(archive) as archived:
        archived.extractall(tmp_path / "packages")
    command = (
        sys.executable,
        "-S",
        "-c",
        "from words.wide import width, wcwidth; print(width, wcwidth.__file__)",
    )
    environment = {"PYTHONPATH": str(tmp_path / "packages")}
    message = subprocess.check_output(command, text=True, env=environment, cwd=tmp_path / "packages")
    assert message.split() == ["4", str(tmp_path / "packages/wcwidth/__init__.py")]


def test_equal_packages_give_equal_wheels(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = (write_wheel(metadata.distribution("click"), tmp_path / name) for name in ("one", "two"))
    assert one == two
    assert one.requirement == f"click=={one.version} --hash=sha256:{one.sha256}"


def test_a_file_that_was_changed_is_refused(tmp_path):
    wheel = write_wheel(metadata.distribution("click"), tmp_path)
    changed = installed(tmp_path / wheel.file, tmp_path / "site")
    (tmp_path / "site/click/core.py").write_text("raise SystemExit")
    with pytest.raises(MillstreamError) as error:
        write_wheel(changed, tmp_path)
    assert "MS664" in str(error.value)
    assert "click/core.py was changed since click was installed" in str(error.value)


def test_millstream_itself_is_packaged_from_its_sources(tmp_path):
    wheel = write_wheel(metadata.distribution("millstream"), tmp_path)
    with ZipFile(tmp_path / wheel.file) as archive:
        names = {name for name in archive.namelist() if name.startswith("millstream/")}
    tracked = subprocess.check_output(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "framework/millstream"],
        cwd=ROOT,
        text=True,
    )
    assert names == {line.removeprefix("framework/") for line in tracked.splitlines()}
    again = installed(tmp_path / wheel.file, tmp_path / "site")
    assert {entry_point.name for entry_point in again.entry_points} >= {"millstream"}


def test_what_is_required_is_found_with_extras():
    required = required_packages(["millstream"])
    assert {"pyspark", "psycopg", "psycopg-binary", "jinja2", "markupsafe", "tzdata"} <= set(required)
    assert not {"mypy", "ruff", "hypothesis", "colorama"} & set(required)
    lines = subprocess.check_output(
        ["uv", "export", "--quiet", "--frozen", "--offline", "--no-dev", "--no-emit-project", "--no-hashes",
         "--no-annotate", "--no-header"],
        cwd=ROOT, text=True, env=os.environ | {"UV_PYTHON": sys.executable},
    ).splitlines()  # fmt: skip
    # What uv.lock has for every system, without what is only for others.
    everywhere = {line.split("==")[0].split("[")[0] for line in lines if line and ";" not in line}
    assert everywhere <= set(required)
    assert set(required) - {"millstream"} <= {line.split("==")[0].split("[")[0] for line in lines}


@pytest.mark.parametrize(
    ("required", "message"),
    [
        ("no-such-package>=1", "the package no-such-package is required, but not installed"),
        ("click<1", "is installed, but <1 is required"),
        ("click >", "which is not a requirement of Python packages"),
    ],
)
def test_a_package_that_is_missing_is_reported(tmp_path, required, message):
    (tmp_path / "pyproject.toml").write_text(f'[project]\nname = "shop"\ndependencies = ["{required}"]\n')
    with pytest.raises(MillstreamError) as error:
        needed_packages(tmp_path, ())
    assert "MS662" in str(error.value)
    assert message in str(error.value)


def test_libraries_of_functions_are_packaged(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.millstream]\nname = 'shop'\n")
    names = {
        distribution.name for distribution in needed_packages(tmp_path, {"duckdb", "only_where_it_exists"})
    }
    assert "duckdb" in names
    assert "duckdb" not in {distribution.name for distribution in needed_packages(tmp_path, ())}


def test_installed_packages_must_be_those_of_the_lock(tmp_path):
    click = metadata.distribution("click")
    assert check_lock(ROOT, [click])
    (tmp_path / "uv.lock").write_text('[[package]]\nname = "click"\nversion = "1.0"\n')
    with pytest.raises(MillstreamError) as error:
        check_lock(tmp_path, [click])
    assert f"click {click.version} is installed, but uv.lock says: 1.0" in str(error.value)
    with pytest.raises(MillstreamError) as error:
        check_lock(tmp_path, [metadata.distribution("msgspec")])
    assert "uv.lock says: not in it" in str(error.value)
