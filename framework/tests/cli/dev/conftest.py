"""`millstream dev` as a process, whose events are read as they come."""

import json
import queue
import signal
import subprocess
import sys
import threading

import pytest

MODEL = (
    "select c.user, c.id, c.price{extra} from {{{{ source('web', 'clicks') }}}} as c where c.id >= {least}\n"
)
FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
    "profiles.yml": "shop: {target: local, outputs: {local: {}}}\n",
    "models/sources.yml": """\
sources:
  - name: web
    topics:
      - name: clicks
        key: {name: user, type: string}
        columns: [{name: id, type: bigint}, {name: price, type: "decimal(9,2)"}]
""",
    "seeds/traffic.py": """\
def clicks(random, now):
    for n in range(1_000_000_000):
        yield "ann" if n % 2 else "bob", {"id": n, "price": n}
""",
    "macros/least.sql": "{% macro least_id() %}3{% endmacro %}\n",
    "models/clicks.sql": MODEL.format(extra="", least=1),
    "models/expensive.sql": "select * from {{ ref('clicks') }} where price >= {{ least_id() }}\n",
    "models/counts.sql": (
        "{{ config(materialized='table', unique_key='user', unbounded_state='accept') }}\n"
        "select user, count(*) as clicks from {{ ref('clicks') }} group by user\n"
    ),
    "tests/units.yml": (
        "unit_tests:\n  - name: first_clicks_are_left_out\n    model: clicks\n"
        "    given: [{input: \"source('web', 'clicks')\", rows: [{id: 0}, {id: 1}, {id: 2}]}]\n"
        "    expect: [{id: 1}, {id: 2}]\n"
    ),
}


def replace(path, text):
    """Save a file as editors do: write another one, and rename it."""
    temporary = path.with_name(f".{path.name}.swp")
    temporary.write_text(text)
    temporary.replace(path)


class Dev:
    """A process of `dev`."""

    def __init__(self, root, *arguments, environment=None):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "millstream", "dev", "--output", "json", *arguments],
            cwd=root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._events = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self._events.put(json.loads(line))

    def until(self, holds):
        """Return the events up to the first one for which something holds."""
        events = []
        while not events or not holds(events[-1]):
            events.append(self._events.get(timeout=120))
        return events

    def round(self):
        """Return the events of a round that was not interrupted, by name; rows by model."""
        events = self.until(lambda event: event["event"] == "done")
        begins = [index for index, event in enumerate(events) if event["event"] == "round"]
        last = events[begins[-1] :] if begins else events
        return {event["event"]: event for event in last} | {
            "rows": {event["model"]: event for event in last if event["event"] == "rows"}
        }

    def stop(self, number=signal.SIGINT):
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return self.process.returncode, errors


@pytest.fixture
def project(tmp_path):
    for name, text in FILES.items():
        (tmp_path / "shop" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / name).write_text(text)
    return tmp_path / "shop"


@pytest.fixture
def start():
    started = []

    def call(root, *arguments, environment=None):
        started.append(Dev(root, *arguments, environment=environment))
        return started[-1]

    yield call
    for dev in started:
        if dev.process.poll() is None:
            dev.stop()
