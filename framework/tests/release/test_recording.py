"""The recording of a terminal session for the README: its script works, and what it types still exists."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from millstream.cli.group import millstream

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import json, sys
from pathlib import Path
sys.path.insert(0, ".ci")
import record
from record import Scene
if sys.argv[1:]:
    events, screens = record.record(Path(sys.argv[1]), (
        Scene("millstream init cafe --no-git && cd cafe", 2),
        Scene("millstream compile", 1, "compiled"),
        Scene("echo waiting; cat", 3, "waits", until="waiting", lasts=0.5),
        Scene("echo after", 1),
    ))
    found = {"events": events, "stills": {name: record.still(events, at) for name, at in screens.items()},
             "cast": record.cast(events), "picture": record.picture(events)}
else:
    found = [scene.command for scene in record.SCENES]
print(json.dumps(found))
"""

pytestmark = pytest.mark.long


def recorded(*arguments):
    command = ["uv", "run", "--quiet", "--with", "pyte==0.8.2", "python", "-c", SCRIPT, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_session_is_recorded(tmp_path):
    recording = recorded(str(tmp_path))
    printed = "".join(text for _, text in recording["events"])
    assert "Compiled 3 models" in printed
    assert "^C" in printed
    assert re.search(r"after\r\n\S*\$ $", printed)
    times = [time for time, _ in recording["events"]]
    assert times == sorted(times)
    assert "Compiled 3 models" in recording["stills"]["compiled"]
    assert "waiting" in recording["stills"]["waits"]
    assert "^C" not in recording["stills"]["waits"]
    assert len(recording["cast"].splitlines()) == len(recording["events"]) + 1
    assert recording["picture"].startswith("<svg")


def test_what_is_typed_exists():
    typed = re.findall(r"(?:^|&& )millstream ([^|&>\n]*)", "\n".join(recorded()), re.MULTILINE)
    commands = [shlex.split(line) for line in typed]
    assert {words[0] for words in commands} >= {"init", "build", "run", "review", "apply"}
    group = click.Context(millstream, **millstream.context_settings)
    for name, *arguments in commands:
        command = millstream.get_command(group, name)
        command.make_context(name, arguments, group)  # raises if an option or argument does not exist
