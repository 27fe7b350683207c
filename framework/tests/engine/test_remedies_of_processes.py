"""Commands whose Spark, disk or file system fails: what the remedy says, done, and no row is lost."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.commands import PATIENCE, Run, descendants
from support.runs import table_rows
from support.shops import PROFILES, TOTALS, event

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::ResourceWarning")]


def total(shop):
    return {row["user"]: row["total"] for row in table_rows(shop.root, "model.totals")}


def reported_problem(run):
    run.until("problem")
    shown = json.loads(run.output[-1])
    return shown["code"], shown["help"]


def test_a_run_that_was_suspended_for_too_long_is_started_again(shop):
    """Its checkpoints are on another file system, where locks are files that have to change."""
    remote = shop.root / "remote"
    remote.mkdir()
    link = f"spark.hadoop.fs.viewfs.mounttable.remote.link./checkpoints: '{remote.as_uri()}'"
    profiles = PROFILES.replace("partitions: 1", f"partitions: 1, {link}")
    shop.write(
        "profiles.yml", profiles.replace("embedded,", "embedded, checkpoints: 'viewfs://remote/checkpoints',")
    )
    shop.model("totals", TOTALS)
    shop.send(event(1))
    run = Run(shop.root)
    run.until("batch")
    os.kill(run.process.pid, signal.SIGSTOP)
    time.sleep(25)  # more than the 20 seconds after which others may use the target
    os.kill(run.process.pid, signal.SIGCONT)
    error, remedy = reported_problem(run)
    assert (error, remedy) == (
        "MS674",
        "start it again; if this is repeated, check the file system of the checkpoints",
    )
    assert run.process.wait(PATIENCE) == 2
    shop.send(event(2))
    run = Run(shop.root)
    while total(shop) != {"a": 2.0}:
        run.until("batch")
    assert run.stop() == 0


def fill_disk(file):
    with file.open("wb") as filler, suppress(OSError):
        while True:
            filler.write(bytes(1 << 16))
            filler.flush()


IN_SMALL = "mkdir -p small && mount -t tmpfs -o size=48m tmpfs small && exec {} -m millstream run --output json --port 0"


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system of Linux in memory")
def test_a_disk_that_is_full_until_space_is_freed(shop):
    profiles = PROFILES.replace("embedded,", f"embedded, checkpoints: {shop.root}/small/checkpoints,")
    shop.write("profiles.yml", profiles)
    shop.model("totals", TOTALS)
    shop.send(event(1))
    command = ["unshare", "-rm", "sh", "-c", IN_SMALL.format(sys.executable)]
    process = subprocess.Popen(
        command, cwd=shop.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    events, news = [], threading.Condition()

    def read():
        for line in process.stdout:
            with news:
                events.append(json.loads(line))
                news.notify_all()

    threading.Thread(target=read, daemon=True).start()

    def until(condition):
        with news:
            assert news.wait_for(lambda: [event for event in events if condition(event)], PATIENCE), events[
                -3:
            ]
        return next(event for event in events if condition(event))

    try:
        until(lambda event: event["event"] == "batch")
        # The folder as the process sees it.
        small = Path(f"/proc/{process.pid}/root{shop.root}/small")
        filler = small / "filler"
        fill_disk(filler)
        shop.send(event(2))
        failed = until(lambda event: event["event"] == "failed")
        assert failed["code"] == "MS884"
        batches = sum(event["event"] == "batch" for event in events)
        filler.unlink()
        until(lambda _: sum(event["event"] == "batch" for event in events) > batches)
        assert total(shop) == {"a": 2.0}
    finally:
        for child in descendants(process.pid):
            os.kill(child, signal.SIGTERM)
        process.terminate()
        process.wait(PATIENCE)
