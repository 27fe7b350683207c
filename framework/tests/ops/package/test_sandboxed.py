"""A package runs where nothing else is: no network but loopback, nothing to write but its work folder.

bubblewrap gives it the system's programs and libraries, Python, Java and the package, and the user 10001.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support.commands import MILLSTREAM

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]

PASSWD = "millstream:x:10001:10001::/work:/usr/sbin/nologin\n"
ROWS = ("query", "select * from customers order by customer_id", "--output", "json")
FIRST = """
import json, os, signal, subprocess, sys, time, urllib.error, urllib.request

run = subprocess.Popen(["/package/start", "run", "--output", "json"], stdout=subprocess.PIPE, text=True)
for line in run.stdout:
    assert line.startswith("{"), line + run.stdout.read()
    if json.loads(line)["event"] == "started":
        break
found = {}
deadline = time.monotonic() + 120
while time.monotonic() < deadline and found.get("/readyz", (0,))[0] != 200:
    for path in ("/healthz", "/readyz", "/metrics"):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:9464{path}", timeout=10) as answer:
                found[path] = (answer.status, answer.read().decode())
        except urllib.error.HTTPError as error:
            found[path] = (error.code, error.read().decode())
beside = subprocess.run(["/package/start", "lag", "--output", "json"], capture_output=True, text=True)
run.send_signal(signal.SIGTERM)
rest = run.stdout.read()
json.dump({"answers": found, "code": run.wait(60), "rest": rest, "lag": [beside.returncode, beside.stdout]}, sys.stdout)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    folder = tmp_path_factory.mktemp("laptop")
    subprocess.run([*MILLSTREAM, "init", "cafe", "--no-git"], cwd=folder, check=True, capture_output=True)
    return folder / "cafe"


@pytest.fixture(scope="module")
def package(project, tmp_path_factory):
    """Return a package that was sent as an archive, and installed where there is no network."""
    folder = tmp_path_factory.mktemp("server")
    archive = folder / "cafe.tar"
    done = subprocess.run(
        [*MILLSTREAM, "package", "--to", archive], cwd=project, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="tar")
    archive.unlink()
    # A virtual environment knows its place, so that is the same from here on.
    done = sandboxed(folder / "cafe", folder / "none", "/package/install", "--bind")
    assert done.returncode == 0, done.stderr
    return folder / "cafe"


def sandboxed(package, work, *command):
    """Run a command in the sandbox; if its last word is --bind, the package can be written."""
    writable = command[-1] == "--bind"
    command = command[:-1] if writable else command
    work.mkdir(exist_ok=True)
    (work.parent / "passwd").write_text(PASSWD)
    base = Path(sys.base_prefix)
    folders = [folder for folder in ("/usr", "/lib", "/lib64", "/bin", "/etc") if Path(folder).exists()]
    arguments = [
        "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--uid", "10001", "--gid", "10001",
        *(word for folder in folders for word in ("--ro-bind", folder, folder)),
        "--ro-bind", str(work.parent / "passwd"), "/etc/passwd",
        *(() if base.is_relative_to("/usr") else ("--ro-bind", str(base), str(base))),
        "--bind" if writable else "--ro-bind", str(package), "/package",
        "--bind", str(work), "/work", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "--remount-ro", "/",
        "--clearenv", "--setenv", "PATH", f"{base / 'bin'}:/usr/bin:/bin", "--setenv", "MILLSTREAM_WORK", "/work",
        "--setenv", "HOME", "/nowhere", "--setenv", "PYTHONDONTWRITEBYTECODE", "1",
        *(("--setenv", "JAVA_HOME", home) if (home := os.environ.get("JAVA_HOME")) else ()),
        "--chdir", "/", *command,
    ]  # fmt: skip
    return subprocess.run(arguments, capture_output=True, text=True, check=False)


def test_the_sandbox_has_no_network_and_nothing_to_write(package, tmp_path):
    script = "id -u; grep -c : /proc/net/dev; touch /package/x || touch /usr/x || touch /x || echo read-only"
    result = sandboxed(package, tmp_path / "work", "/bin/sh", "-c", script)
    assert result.stdout.split() == ["10001", "1", "read-only"]


def test_a_package_builds_what_the_project_builds(project, package, tmp_path):
    done = sandboxed(package, tmp_path / "work", "/package/start", "build")
    assert done.returncode == 0, done.stdout + done.stderr
    built = sandboxed(package, tmp_path / "work", "/package/start", *ROWS)
    subprocess.run([*MILLSTREAM, "build"], cwd=project, check=True, capture_output=True)
    expected = subprocess.run([*MILLSTREAM, *ROWS], cwd=project, check=True, capture_output=True, text=True)
    rows = json.loads(expected.stdout)
    assert json.loads(built.stdout) == rows
    assert len(rows["rows"]) > 10


def test_a_package_runs_answers_probes_and_stops(package, tmp_path):
    result = sandboxed(package, tmp_path / "work", "/package/venv/bin/python", "-c", FIRST)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert {path: status for path, (status, _) in report["answers"].items()} == {
        "/healthz": 200, "/readyz": 200, "/metrics": 200,
    }  # fmt: skip
    assert "millstream_up" in report["answers"]["/metrics"][1]
    assert report["lag"][0] == 0
    assert report["code"] == 0, report["rest"]


def test_a_changed_package_is_not_installed(package, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("venv"), copy_function=os.link)
    (copy / "project/profiles.yml").unlink()
    (copy / "project/profiles.yml").write_text("cafe: {}")
    result = sandboxed(copy, tmp_path / "work", "/package/install", "--bind")
    assert result.returncode == 2
    assert "files of the package were changed or are missing" in result.stderr


def test_a_work_folder_that_can_not_be_written_is_reported(package, tmp_path):
    result = sandboxed(
        package, tmp_path / "work", "/bin/sh", "-c", "MILLSTREAM_WORK=/package/work /package/start debug"
    )
    assert result.returncode == 2
    assert (
        "error[MS668]: the project can't be copied to /package/work: read-only file system" in result.stderr
    )
