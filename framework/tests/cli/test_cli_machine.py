"""What a machine does to a command: full disks, closed streams, folders that go, an early Ctrl-C."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from millstream.cli.failures import run_guarded

PROGRAM = f"{sys.executable} -m millstream"
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


def bash(line: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)


@FULL
@pytest.mark.parametrize("output", ["", "--output json"])
def test_a_full_disk_is_the_machines_fault(shop, output):
    result = bash(f"{PROGRAM} ls {output} > /dev/full")
    assert result.returncode == 2
    assert "MS706" in result.stderr
    assert "no space left on device" in result.stderr
    assert "Traceback" not in result.stderr
    assert "sorry" not in result.stderr


@FULL
def test_errors_that_cannot_be_told_keep_their_exit_code(shop):
    result = bash(f"{PROGRAM} ls --selct x 2> /dev/full")
    assert (result.returncode, result.stdout) == (2, "")


@pytest.mark.parametrize(("streams", "code"), [(">&-", 0), ("2>&-", 0), (">&- 2>&-", 0)])
def test_closed_streams(shop, streams, code):
    result = bash(f"{PROGRAM} compile {streams}")
    assert result.returncode == code
    assert result.stderr == ""
    assert json.loads((shop / "target/manifest.json").read_text())["project"] == "shop"


def test_other_errors_of_the_system_are_not_excused(capsys):
    def fail():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), "x.sql")

    assert run_guarded(fail, []) == 2
    assert capsys.readouterr().err.startswith("error[MS900]: ")


def test_ctrl_c_while_modules_are_imported():
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'millstream.cli.group': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from millstream.__main__ import main\n"
        "main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (130, "", "Interrupted.\n")


def test_a_process_ends_with_its_threads_and_what_was_registered():
    code = (
        "import atexit, sys, threading, time\n"
        "atexit.register(print, 'registered')\n"
        "def work():\n"
        "    threading.main_thread().join()\n"
        "    print('worked')\n"
        "threading.Thread(target=work).start()\n"
        "sys.argv = ['millstream', '--version']\n"
        "from millstream.__main__ import main\n"
        "main()"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["millstream", "worked", "registered"]
