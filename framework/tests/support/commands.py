"""Commands as processes of their own, as a user starts them."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

MILLSTREAM = (sys.executable, "-m", "millstream")
PATIENCE = 120
"""Seconds that something has to happen in."""


class Run:
    """`millstream run`, and what it tells."""

    def __init__(self, root, *arguments):
        self.process = subprocess.Popen(
            [*MILLSTREAM, "run", "--output", "json", "--port", "0", *arguments],
            cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, text=True,
        )  # fmt: skip
        self.lines = queue.SimpleQueue()
        self.output = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        with self.process.stdout as lines:
            for line in lines:
                self.lines.put(line)
        self.lines.put("")

    def until(self, name):
        """Wait for an event, or for a stage by its name; return what is told."""
        while True:
            line = self._line(PATIENCE)
            assert line.endswith("}\n"), f"the run ended: {line}{''.join(iter(self.lines.get, ''))}"
            event = json.loads(line)
            if name in (event["event"], event.get("name")):
                return event

    def go_on(self, seconds):
        end = time.monotonic() + seconds
        with contextlib.suppress(queue.Empty):
            while (left := end - time.monotonic()) > 0:
                self._line(left)

    def _line(self, seconds):
        line = self.lines.get(timeout=seconds)
        self.output.append(line)
        assert line, f"the run ended: {self.output[-5:]}"
        return line

    def kill(self, *, with_children):
        """Kill the process, or those that it started with it."""
        if with_children:
            os.killpg(self.process.pid, signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()

    def stop(self, number=signal.SIGTERM, *, everyone=False):
        """Ask it to end, or all its processes at once, and wait until it has; return its exit code."""
        for process in [self.process.pid, *(descendants(self.process.pid) if everyone else ())]:
            # One of them may have just ended.
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)
        return self.process.wait(PATIENCE)


def succeed(root, *arguments):
    """Run a command that has to succeed; what it says is in the failure if it doesn't."""
    done = _run(root, *arguments)
    assert done.returncode == 0, done.stdout


def refused(root, *arguments):
    """Run a command that has to end with an error; return what it says."""
    done = _run(root, *arguments)
    assert done.returncode == 2, done.stdout
    return done.stdout


def _run(root, *arguments):
    return subprocess.run(
        [*MILLSTREAM, *arguments], cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )  # fmt: skip


def descendants(process):
    """Return the processes that a process started, and that these did, except a broker, which outlives it."""
    listing = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True, check=False)
    return [
        descendant
        for child in map(int, listing.stdout.split())
        for descendant in (child, *descendants(child))
    ]


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
