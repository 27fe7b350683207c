"""`millstream demo`, as a user starts it, and its page in a real browser."""

import json
import os
import queue
import re
import signal
import subprocess
import threading
import urllib.request

import pytest
from playwright.sync_api import expect
from support.browser import chromium
from support.commands import MILLSTREAM, descendants, is_alive

_PATIENCE = 600_000
"""Milliseconds that a busy machine needs for the first batches."""


def test_only_the_local_broker_gets_test_traffic(run, shop):
    (shop / "profiles.yml").write_text(
        "shop: {outputs: {local: {}, there: {kafka: {bootstrap_servers: 'kafka.example:9092'}}}}\n"
    )
    result = run("demo", ".", "--target", "there")
    assert result.code == 2
    assert "error[MS687]: target 'there' has a Kafka cluster of its own" in result.err


def test_a_project_without_generators_has_nothing_to_show(run, shop):
    result = run("demo", ".")
    assert result.code == 2
    assert "error[MS834]: the project has no generators" in result.err


@pytest.mark.long
def test_the_demo_in_a_browser(tmp_path):
    """Each part of the page fills with what the run does; Ctrl-C ends it with a line, and nothing is left."""
    process = subprocess.Popen(
        [*MILLSTREAM, "demo", "cafe", "--no-open", "--port", "0"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    text, addresses = [], queue.SimpleQueue()

    def read():
        for line in process.stdout:
            text.append(line)
            if match := re.search(r"(http://\S+)", line):
                addresses.put(match[1])

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        address = addresses.get(timeout=_PATIENCE / 1000)
        with chromium() as browser:
            page = browser.new_page()
            wrong, requested = [], []
            page.on("pageerror", lambda error: wrong.append(str(error)))
            page.on("console", lambda message: wrong.append(message.text))
            page.on("request", lambda request: requested.append(request.url))
            page.goto(address)
            expect(page.locator(".node")).to_have_count(8)
            expect(page.locator("#stage")).to_have_attribute("data-state", "running", timeout=_PATIENCE)
            for model in ("customers", "sales", "large_orders", "declined_payments"):
                rows = page.locator(f'[data-id="model.{model}"] td')
                expect(rows.first).to_be_visible(timeout=_PATIENCE)
            # The rows go on changing, and the page agrees with what the table holds.
            fresh = page.locator('[data-id="model.customers"] tr.fresh')
            expect(fresh.first).to_be_visible(timeout=_PATIENCE)
            expect(page.locator(".edge.flows").first).to_be_attached()
            page.get_by_role("link", name="customers").click()
            expect(page.get_by_role("heading", name="customers")).to_be_visible()
            assert wrong == []
            assert [url for url in requested if not url.startswith((address, "data:"))] == []
        with urllib.request.urlopen(f"{address}run.json") as answer:
            shown = json.load(answer)
        assert shown["nodes"]["model.customers"][0] > 0
        assert all(query["rows"] > 0 for query in shown["queries"])
        started = descendants(process.pid)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(timeout=120) == 0
        reader.join()
    except BaseException:
        print("".join(text), process.poll())  # noqa: T201 - pytest shows it if the test fails
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        raise
    assert not [line for line in text if "Traceback" in line]
    assert re.search(r"stopped after [\d,]+ rows", text[-1])
    assert [pid for pid in started if is_alive(pid)] == []
    status = subprocess.run(
        [*MILLSTREAM, "broker", "status"], cwd=tmp_path / "cafe", capture_output=True, text=True, check=False
    )
    assert "not running" in status.stdout + status.stderr
