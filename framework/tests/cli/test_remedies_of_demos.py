"""A demo of a target with a Kafka cluster of its own: what the remedy says works."""

import json
import os
import re
import signal
import subprocess

import pytest
from support.commands import MILLSTREAM, PATIENCE

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_the_local_target_is_chosen(tmp_path):
    subprocess.run([*MILLSTREAM, "init", "cafe", "--no-git"], cwd=tmp_path, check=True, capture_output=True)
    (tmp_path / "cafe/profiles.yml").write_text(
        "cafe: {target: there, outputs: {local: {}, there: {kafka: {bootstrap_servers: '127.0.0.1:1'}}}}\n"
    )
    demo = [*MILLSTREAM, "demo", ".", "--no-open", "--port", "0"]
    refused = subprocess.run(
        [*demo, "--output", "json"], cwd=tmp_path / "cafe", capture_output=True, text=True, check=False
    )
    (diagnostic,) = json.loads(refused.stdout)["diagnostics"]
    assert (refused.returncode, diagnostic["code"], diagnostic["help"]) == (
        2,
        "MS687",
        "choose a target with `kafka: embedded` with --target, or use `millstream run` and `produce`",
    )
    process = subprocess.Popen(
        [*demo, "--target", "local"],
        cwd=tmp_path / "cafe", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        while not re.search(r"http://\S+", line := process.stdout.readline()):
            assert line
        os.kill(process.pid, signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
