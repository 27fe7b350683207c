"""Commands in a warm session, as a user starts them: processes with an environment that allows one."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from millstream.local.warm_session.identity import session_identity
from support.commands import MILLSTREAM


class Sessions:
    """The sessions of one test: their sockets are in a folder of its own."""

    def __init__(self, root, folder):
        self.root = root
        self.environment = {
            name: value for name, value in os.environ.items() if name not in {"CI", "MILLSTREAM_NO_SESSION"}
        } | {"XDG_RUNTIME_DIR": folder}

    def start(self, idle=600.0, identity=None):
        """Start a session without a command, so that there is one without Spark."""
        program = "from millstream.cli.session_process import main; main()"
        subprocess.run(
            [sys.executable, "-c", program, *self.address(), identity or session_identity(), str(idle)],
            env=self.environment, check=True, timeout=60,
        )  # fmt: skip

    def address(self):
        """Return where commands of this environment look for the session."""
        program = (
            "import sys; from pathlib import Path; from millstream.local.warm_session.address import *\n"
        )
        program += "address = session_address(Path(sys.argv[1])); print(address.folder, address.name)"
        command = [sys.executable, "-c", program, str(self.root)]
        printed = subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True)
        return str(self.root), *printed.stdout.split()

    def run(self, *arguments, **options):
        settings = {
            "cwd": self.root,
            "env": self.environment,
            "capture_output": True,
            "text": True,
            "timeout": 300,
        }
        return subprocess.run([*MILLSTREAM, *arguments], check=False, **(settings | options))

    def popen(self, *arguments):
        return subprocess.Popen(
            [*MILLSTREAM, *arguments], cwd=self.root, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip

    def status(self):
        return json.loads(self.run("session", "status", "--output", "json").stdout)["session"]

    @property
    def sockets(self):
        return [path.name for path in Path(self.environment["XDG_RUNTIME_DIR"]).rglob("*.socket")]


@contextmanager
def sessions_of(root):
    """Yield what runs commands of a project in sessions; no process is left."""
    with tempfile.TemporaryDirectory(prefix="ms-") as folder:
        sessions = Sessions(root, folder)
        try:
            yield sessions
        finally:
            assert sessions.run("session", "stop").returncode == 0
