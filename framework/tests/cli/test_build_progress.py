"""Progress in logs: without a terminal, what runs is reported from time to time."""

import re
import subprocess
import sys

RUN = """
from millstream.cli.build_progress import build_progress
from millstream.cli.output import OutputStyle
from millstream.deploy.values import SetupStep

with build_progress(OutputStyle(color=False, quiet={quiet}), 0.05) as progress:
    progress.handle(SetupStep("catching up", "1,000 of 5,000 records"))
    input()
    progress.handle(SetupStep("catching up", "5,000 records", done=True))
"""


def test_what_runs_is_reported_until_it_ends():
    command = [sys.executable, "-c", RUN.format(quiet=False)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, text=True) as process:
        lines = [process.stderr.readline() for _ in range(3)]
        _, rest = process.communicate("\n")
    assert lines[0] == "· catching up: 1,000 of 5,000 records\n"
    assert all(
        re.fullmatch(r"· catching up: 1,000 of 5,000 records: \d+ s so far\n", line) for line in lines[1:]
    )
    assert re.match(r"✓ catching up: 5,000 records +\d", rest.splitlines()[-1])
    assert process.returncode == 0


def test_nothing_is_reported_if_quiet():
    command = [sys.executable, "-c", RUN.format(quiet=True)]
    ended = subprocess.run(command, input="\n", capture_output=True, text=True, check=True)
    assert ended.stderr == ""
