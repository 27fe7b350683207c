"""A real Prometheus that scrapes a run."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

PATIENCE = 30


@contextmanager
def scraped(address):
    """Scrape an address, and yield a function that asks for a value once a scrape has succeeded."""
    program = shutil.which("prometheus")
    assert program, "install it: apt-get install prometheus"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        job = {"job_name": "run", "static_configs": [{"targets": [address.removeprefix("http://")]}]}
        config = {"global": {"scrape_interval": "500ms"}, "scrape_configs": [job]}
        file = Path(folder) / "prometheus.yml"
        file.write_text(json.dumps(config))  # JSON is YAML
        command = [
            program,
            f"--config.file={file}",
            f"--storage.tsdb.path={folder}/data",
            "--log.level=error",
        ]
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"])

        def value(query):
            question = urllib.parse.urlencode({"query": query})
            with urllib.request.urlopen(
                f"http://127.0.0.1:{port}/api/v1/query?{question}", timeout=10
            ) as answer:
                found = json.load(answer)["data"]["result"]
            assert len(found) <= 1, found
            return float(found[0]["value"][1]) if found else None

        try:
            end = time.monotonic() + PATIENCE
            while not _is_up(value):
                assert process.poll() is None, "Prometheus ended"
                assert time.monotonic() < end, "Prometheus could not scrape the run"
                time.sleep(0.1)
            yield value
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _is_up(value):
    try:
        return value("up") == 1
    except OSError:  # it does not listen yet
        return False
