"""Commands that a warm session forks: they do what they do as processes of their own."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.warm_sessions import sessions_of

MODEL = "select id from {{ source('web', 'events') }}\n"
FILES = {
    "pyproject.toml": '[project]\nname = "web"\n[tool.millstream]\nname = "web"\n',
    "profiles.yml": "web: {target: local, outputs: {local: {}}}\n",
    "models/sources.yml": "sources: [{name: web, topics: [{name: events, columns: [{name: id, type: bigint}]}]}]\n",
    "models/ids.sql": MODEL,
}


@pytest.fixture
def root(tmp_path):
    for name, content in FILES.items():
        path = tmp_path / "shop" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return tmp_path / "shop"


@pytest.fixture
def sessions(root):
    with sessions_of(root) as sessions:
        yield sessions


def until(holds):
    end = time.monotonic() + 60
    while not (value := holds()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return value


def children(process):
    return Path(f"/proc/{process}/task/{process}/children").read_text().split()


@pytest.mark.parametrize(
    ("arguments", "broken"),
    [
        (("ls",), False),
        (("ls", "--output", "json"), False),
        (("compile",), True),
        (("compile", "--output", "json"), True),
        (("ls", "--select", "nothing"), False),
        (("ls", "--unknown"), False),
        (("lineage", "--help"), False),
    ],
)
def test_output_and_exit_code_are_those_of_a_process_of_its_own(root, sessions, arguments, broken):
    if broken:
        (root / "models/ids.sql").write_text("select nothing from {{ source('web', 'events') }}")
    alone = sessions.run(*arguments, env=sessions.environment | {"MILLSTREAM_NO_SESSION": "1"})
    sessions.start()
    process = sessions.status()["process"]
    forked = sessions.run(*arguments)
    assert (forked.returncode, forked.stdout, forked.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    assert sessions.status()["process"] == process


def test_nothing_of_a_command_is_seen_by_the_next(root, sessions):
    """Folder, environment, umask, edited files and standard input are those of each command."""
    sessions.start()
    (root / "profiles.yml").write_text(
        "web: {target: local, outputs: {local: {kafka: {bootstrap_servers: \"{{ env_var('SERVERS') }}\"}}}}\n"
    )
    missing = sessions.run("plan")
    with_variable = sessions.run("plan", env=sessions.environment | {"SERVERS": "127.0.0.1:1"})
    again = sessions.run("plan")
    assert "SERVERS" in missing.stderr
    assert "SERVERS" not in with_variable.stderr
    assert again.stderr == missing.stderr
    elsewhere = root / "models"
    assert "ids" in sessions.run("ls", cwd=elsewhere).stdout
    (root / "models/more.sql").write_text(MODEL)
    assert "more" in sessions.run("ls").stdout
    for umask, mode in ((0o077, 0o700), (0o022, 0o755)):
        shutil.rmtree(root / "target", ignore_errors=True)
        sessions.run("compile", umask=umask)
        assert (root / "target").stat().st_mode & 0o777 == mode


def test_a_signal_ends_the_forked_process(root, sessions):
    for index in range(300):  # more than a pipe holds
        (root / f"models/{'long_name' * 10}_{index}.sql").write_text(MODEL)
    sessions.run("compile")
    sessions.start()
    session = sessions.status()["process"]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        alone = _ended_by(sessions, number)
        ended = _ended_by(sessions, number, session)
        assert (ended.returncode, ended.stderr.read()) == (alone.returncode, alone.stderr.read())
        ended.stderr.close()
        alone.stderr.close()
        until(lambda: not children(session))
    assert sessions.run("ls").returncode == 0
    assert sessions.status()["process"] == session


def _ended_by(sessions, number, session=None):
    """Send a signal to a command that waits until somebody reads what it writes."""
    command = sessions.popen("ls", "--output", "json", *([] if session else ["--no-session"]))
    writer = int(until(lambda: children(session))[0]) if session else command.pid
    until(lambda: "pipe_write" in Path(f"/proc/{writer}/wchan").read_text())
    command.send_signal(number)
    command.wait(60)
    command.stdout.close()
    return command


def test_a_session_ends_when_it_is_idle(sessions):
    sessions.start(idle=0.3)
    until(lambda: not sessions.sockets)
    assert sessions.status() is None
    assert sessions.run("ls").returncode == 0


def test_a_session_of_another_version_is_not_used(sessions):
    sessions.start(identity="another version")
    process = sessions.status()["process"]
    assert sessions.run("ls").returncode == 0
    until(lambda: not Path(f"/proc/{process}").exists())


def test_a_killed_session_leaves_nothing_that_disturbs(sessions):
    sessions.start()
    os.kill(sessions.status()["process"], signal.SIGKILL)
    assert sessions.run("ls").returncode == 0
    sessions.start()
    assert sessions.status()["state"] == "idle"


def test_a_folder_that_others_can_enter_is_not_used(sessions):
    folder = Path(sessions.environment["XDG_RUNTIME_DIR"], "millstream")
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    program = "import sys; from pathlib import Path; from millstream.local.warm_session.address import session_address\n"
    program += (
        "try: session_address(Path('/shop')).make_folder()\nexcept PermissionError as error: print(error)"
    )
    result = subprocess.run(
        ["python", "-c", program], env=sessions.environment, capture_output=True, text=True, check=True
    )
    assert "others can enter it" in result.stdout


def test_no_session_in_ci_without_a_home_or_when_it_is_not_wanted(root, sessions):
    sessions.start()
    runs = sessions.run("ls", "--output", "json")
    for variable in ({"CI": "true"}, {"HOME": "/nonexistent"}, {"MILLSTREAM_NO_SESSION": "1"}):
        before = _started(sessions)
        assert (
            sessions.run("ls", "--output", "json", env=sessions.environment | variable).stdout == runs.stdout
        )
        assert _started(sessions) == before
    before = _started(sessions)
    sessions.run("ls")
    assert _started(sessions) > before


def _started(sessions):
    """The CPU time of all processes that the session has forked."""
    process = sessions.status()["process"]
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[13]) + int(fields[14])
