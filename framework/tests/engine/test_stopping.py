"""`millstream run` is asked to end, whatever it is doing."""

import json
import os
import signal
import subprocess
import time

import pytest
from support.commands import MILLSTREAM, PATIENCE, Run, descendants, is_alive

from millstream.local.broker import broker_status

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

SINK = "{{ config(materialized='sink') }} "
PLAIN = SINK + "select id from {{ source('web', 'events') }}"
FAILING = SINK + "select 1 / (id - 1) as half from {{ source('web', 'events') }}"


SCORED = SINK + "select id, score(id) as score from {{ source('web', 'events') }}"


SCORE = """
    def score(id: int) -> int:
        return id + 1
"""


@pytest.mark.parametrize(
    ("phase", "number"),
    [
        ("topics", signal.SIGTERM),
        ("Spark", signal.SIGINT),
        ("started", signal.SIGINT),
        ("batch", signal.SIGTERM),
    ],
)
def test_a_run_ends_cleanly_if_all_its_processes_are_signalled(shop, phase, number):
    shop.model("scored", SCORED)
    shop.write("macros/score.py", SCORE)
    shop.send(("a", {"id": 2}))
    run = Run(shop.root)
    run.until(phase)
    started = descendants(run.process.pid)
    assert run.stop(number, everyone=True) == 0, run.output[-5:]
    run.until("ended")
    assert all("Traceback" not in line and "problem" not in line for line in run.output), run.output
    # Python's workers end when the JVM has closed their input.
    wait_until(lambda: not any(map(is_alive, started)))


def test_a_second_signal_ends_a_run_at_once_and_a_build_continues(shop):
    shop.model("scored", SCORED)
    waiting = shop.root / "waiting"
    shop.write(
        "macros/score.py",
        f"""
        import pathlib, time

        def score(id: int) -> int:
            waiting = pathlib.Path({str(waiting)!r})
            if id == 2 and not waiting.exists():
                waiting.touch()
                time.sleep(600)
            return id + 1
        """,
    )
    shop.send(("a", {"id": 1}))
    run = Run(shop.root)
    run.until("batch")
    shop.send(("a", {"id": 2}))
    wait_until(waiting.exists)
    (jvm,) = children(run.process, "java")
    run.process.terminate()
    run.go_on(1)
    assert run.process.poll() is None  # it waits for the batch
    began = time.monotonic()
    assert run.stop() == 128 + signal.SIGTERM
    assert time.monotonic() - began < 5
    wait_until(lambda: not is_alive(jvm))
    subprocess.run([*MILLSTREAM, "build"], cwd=shop.root, check=True, timeout=PATIENCE)
    assert [row["score"] for row in shop.values("scored")] == [2, 3]


def test_a_build_ends_cleanly_if_all_its_processes_are_signalled(shop):
    shop.model("scored", SCORED)
    waiting = shop.root / "waiting"
    shop.write(
        "macros/score.py",
        f"""
        import pathlib, time

        def score(id: int) -> int:
            pathlib.Path({str(waiting)!r}).touch()
            time.sleep(600)
            return id + 1
        """,
    )
    shop.send(("a", {"id": 2}))
    build = subprocess.Popen(
        [*MILLSTREAM, "build"], cwd=shop.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    wait_until(waiting.exists)
    started = descendants(build.pid)
    for process in [*started, build.pid]:
        os.kill(process, signal.SIGTERM)
    message, _ = build.communicate(timeout=PATIENCE)
    assert build.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in message
    assert "error" not in message
    wait_until(lambda: not any(map(is_alive, started)))


def test_a_run_ends_cleanly_while_it_waits_to_try_again(shop):
    shop.model("halves", FAILING)
    shop.send(("a", {"id": 1}))
    run = Run(shop.root, "--port", "0")
    run.until("failed")
    assert run.stop() == 0, run.output[-5:]


def test_a_run_ends_in_time_although_its_jvm_does_not_answer(shop):
    shop.model("plain", PLAIN)
    shop.send(("a", {"id": 2}))
    run = Run(shop.root, "--port", "0")
    run.until("batch")
    (jvm,) = children(run.process, "java")
    os.kill(jvm, signal.SIGSTOP)
    began = time.monotonic()
    assert run.stop() == 0, run.output[-5:]
    assert 30 < time.monotonic() - began < 40
    assert not is_alive(jvm)
    shop.send(("a", {"id": 3}))
    subprocess.run([*MILLSTREAM, "build"], cwd=shop.root, check=True, timeout=PATIENCE)
    assert [row["id"] for row in shop.values("plain")] == [2, 3]


def test_a_run_ends_before_it_began(shop):
    shop.model("plain", PLAIN)
    run = Run(shop.root, "--port", "0")
    assert run.stop() != 1
    assert broker_status(shop.root).state == "running"  # of the test


def test_a_run_ends_when_its_jvm_does(shop):
    shop.model("plain", PLAIN)
    shop.send(("a", {"id": 2}))
    run = Run(shop.root, "--port", "0")
    run.until("batch")
    kill_jvm(run.process)
    run.until("problem")
    assert json.loads(run.output[-1])["code"] == "MS883"
    assert run.process.wait(PATIENCE) == 2


def test_a_build_ends_when_its_jvm_does(shop):
    shop.model("plain", PLAIN)
    shop.send(("a", {"id": 2}))
    command = [*MILLSTREAM, "build"]
    build = subprocess.Popen(
        command, cwd=shop.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while "Spark: 4" not in build.stdout.readline():
        assert build.poll() is None
    kill_jvm(build)
    message, _ = build.communicate(timeout=PATIENCE)
    assert "error[MS883]: Spark's JVM ended (signal 9)" in message
    assert "Traceback" not in message, message
    # 1 if a model was running by then, 2 if Spark was still starting.
    assert build.returncode in {1, 2}


def kill_jvm(process):
    for jvm in children(process, "java"):
        os.kill(jvm, signal.SIGKILL)


def children(process, name):
    command = ["pgrep", "-P", str(process.pid), name]
    listing = subprocess.run(command, capture_output=True, text=True, check=True)
    return [int(child) for child in listing.stdout.split()]


def wait_until(so):
    end = time.monotonic() + PATIENCE
    while not so():
        assert time.monotonic() < end
        time.sleep(0.05)
