"""Commands that borrow Spark's JVM from a warm session: it is there sooner, and nothing of others is in it."""

import os
import signal
from pathlib import Path

import pytest
from local.session.test_forked_commands import until
from support.warm_sessions import sessions_of

FILES = {
    "pyproject.toml": '[project]\nname = "web"\n[tool.millstream]\nname = "web"\nenv_vars = ["REGION"]\n',
    "profiles.yml": "web: {target: local, outputs: {local: {}}}\n",
    "macros/regions.py": "import os\nfrom pathlib import Path\n\ncalls = []\n\n\n"
    "def region(id: int) -> str:\n    calls.append(id)\n"
    "    return f'{os.environ.get(\"REGION\")} {Path.cwd().name} {len(calls)}'\n",
    "models/sources.yml": "sources: [{name: web, topics: [{name: events, columns: [{name: id, type: bigint}]}]}]\n",
    "models/regions.sql": "select id, region(id) as region from {{ source('web', 'events') }}\n",
    "models/counts.sql": "{{ config(materialized='table', unique_key='id') }}\n"
    "select id, count(*) as n from {{ source('web', 'events') }} group by id\n",
    "tests/unit.yml": """
unit_tests:
  - name: one_region
    model: regions
    given: [{input: "source('web', 'events')", rows: [{id: 1}]}]
    expect: [{id: 1, region: north shop 1}]
  - name: counted
    model: counts
    given: [{input: "source('web', 'events')", rows: [{id: 1}, {id: 1}]}]
    expect: [{id: 1, n: 2}]
""",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project") / "shop"
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


@pytest.fixture(scope="module")
def sessions(root):
    with sessions_of(root) as sessions:
        sessions.environment["REGION"] = "north"
        yield sessions


def test_the_next_command_borrows_the_jvm_and_sees_nothing_of_the_last(root, sessions):
    first = sessions.run("test", "--unit")
    assert (first.returncode, "2 passed" in first.stdout) == (0, True), first.stdout + first.stderr
    assert "millstream session stop" in first.stderr
    jvm = sessions.status()["jvm"]["process"]

    # The function counts its calls in a list of its module, in a new worker each time.
    again = sessions.run("test", "--unit")
    assert (again.returncode, "2 passed" in again.stdout) == (0, True), again.stdout + again.stderr
    assert "session" not in again.stderr

    (root / "macros/regions.py").write_text(
        FILES["macros/regions.py"].replace("calls.append(id)", "calls.extend((id, id))")
    )
    edited = sessions.run("test", "--unit")
    assert edited.returncode == 1
    assert "north shop 2" in edited.stdout
    (root / "macros/regions.py").write_text(FILES["macros/regions.py"])
    assert sessions.run("test", "--unit").returncode == 0
    assert sessions.status()["jvm"] == {"process": jvm, "commands": 4, "heap_mib": 2048}


@pytest.mark.long
def test_another_command_does_not_wait_for_the_jvm(sessions):
    """While a command uses the JVM, others start their own."""
    sessions.run("test", "--unit")
    jvm = sessions.status()["jvm"]
    running = [sessions.popen("test", "--unit") for _ in range(2)]
    assert [command.communicate(timeout=300)[0].count("2 passed") for command in running] == [1, 1]
    assert sessions.status()["jvm"]["commands"] in {jvm["commands"] + 1, jvm["commands"] + 2}


@pytest.mark.long
def test_another_environment_gets_another_jvm(sessions):
    sessions.run("test", "--unit")
    jvm = sessions.status()["jvm"]["process"]
    south = sessions.run("test", "--unit", env=sessions.environment | {"REGION": "south"})
    assert south.returncode == 1
    assert "south shop 1" in south.stdout
    assert sessions.status()["jvm"]["process"] != jvm
    assert not Path(f"/proc/{jvm}").exists()
    assert sessions.run("test", "--unit").returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("killed", ["command", "jvm", "session"])
def test_what_is_killed_ends_the_others_and_the_next_command_works(sessions, killed):
    assert sessions.run("test", "--unit").returncode == 0
    status = sessions.status()
    running = sessions.popen("test", "--unit")
    until(
        lambda: (
            sessions.status()["state"] == "in use"
            and sessions.status()["jvm"]["commands"] > status["jvm"]["commands"]
        )
    )
    process = {"command": running.pid, "jvm": status["jvm"]["process"], "session": status["process"]}[killed]
    os.kill(process, signal.SIGKILL)
    output, errors = running.communicate(timeout=300)
    assert running.returncode != 0
    assert "Traceback" not in output + errors
    until(lambda: not Path(f"/proc/{status['jvm']['process']}").exists())
    assert sessions.run("test", "--unit").returncode == 0


@pytest.mark.long
def test_a_jvm_that_sleeps_is_replaced(sessions):
    assert sessions.run("test", "--unit").returncode == 0
    jvm = sessions.status()["jvm"]["process"]
    os.kill(jvm, signal.SIGSTOP)
    done = sessions.run("test", "--unit")
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not Path(f"/proc/{jvm}").exists()
    assert sessions.run("test", "--unit").returncode == 0
