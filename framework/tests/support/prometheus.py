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


class Prometheus:
    """A running Prometheus; called, it returns the value of an expression."""

    def __init__(self, port):
        self._address = f"http://127.0.0.1:{port}/api/v1"

    def __call__(self, query):
        series = self.series(query)
        assert len(series) <= 1, series
        return float(series[0]["value"][1]) if series else None

    def series(self, query):
        return self._request(f"query?{urllib.parse.urlencode({'query': query})}")["result"]

    def rules(self):
        """Return all rules of alerts, with their health and state."""
        return [rule for group in self._request("rules")["groups"] for rule in group["rules"]]

    def until(self, expected, read):
        """Wait until something has a value; whatever is scraped, it is asked again."""
        end = time.monotonic() + PATIENCE
        while (result := read()) != expected:
            assert time.monotonic() < end, result
            time.sleep(0.1)

    def _request(self, path):
        with urllib.request.urlopen(f"{self._address}/{path}", timeout=10) as answer:
            return json.load(answer)["data"]


@contextmanager
def scraped(address, rules=""):
    """Scrape an address, and yield the `Prometheus` once a scrape has succeeded; `rules` is a file's text."""
    program = shutil.which("prometheus")
    assert program, "install it: apt-get install prometheus"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        job = {"job_name": "run", "static_configs": [{"targets": [address.removeprefix("http://")]}]}
        config = {
            "global": {"scrape_interval": "500ms", "evaluation_interval": "500ms"},
            "scrape_configs": [job],
            "rule_files": ["rules.yml"],
        }
        file = Path(folder) / "prometheus.yml"
        file.write_text(json.dumps(config))  # JSON is YAML
        (Path(folder) / "rules.yml").write_text(rules)
        command = [
            program,
            f"--config.file={file}",
            f"--storage.tsdb.path={folder}/data",
            "--log.level=error",
        ]
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"])
        value = Prometheus(port)
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
