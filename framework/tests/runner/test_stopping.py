"""`millstream run` is asked to end, whatever it is doing."""

import json
import os
import signal
import subprocess

import pytest
from support.commands import MILLSTREAM, PATIENCE, Run

from millstream.broker import broker_status

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]

SINK = "{{ config(materialized='sink') }} "
PLAIN = SINK + "select id from {{ source('web', 'events') }}"
FAILING = SINK + "select 1 / (id - 1) as half from {{ source('web', 'events') }}"


@pytest.mark.parametrize("phase", ["topics", "Spark", "started", "batch"])
def test_a_run_ends_cleanly(shop, phase):
    shop.model("plain", PLAIN)
    shop.send(("a", {"id": 2}))
    run = Run(shop.root, "--port", "0")
    run.until(phase)
    assert run.stop() == 0, run.said[-5:]


def test_a_run_ends_cleanly_while_it_waits_to_try_again(shop):
    shop.model("halves", FAILING)
    shop.send(("a", {"id": 1}))
    run = Run(shop.root, "--port", "0")
    run.until("failed")
    assert run.stop() == 0, run.said[-5:]


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
    assert json.loads(run.said[-1])["code"] == "MS883"
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
    said, _ = build.communicate(timeout=PATIENCE)
    assert "error[MS883]: Spark's JVM ended (signal 9)" in said
    assert "Traceback" not in said, said
    assert build.returncode == 1


def kill_jvm(process):
    found = subprocess.run(
        ["pgrep", "-P", str(process.pid), "java"], capture_output=True, text=True, check=True
    )
    os.kill(int(found.stdout), signal.SIGKILL)
