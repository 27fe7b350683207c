"""A project with the broker of all tests."""

import json
import sys
from datetime import datetime, timezone
from uuid import uuid4

import pytest
from click.testing import CliRunner
from support.broker import lend

from millstream.cli.group import millstream
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.generators import GeneratedRecord
from millstream.kafka.producing import TopicFeed, send_feeds
from millstream.project.load import load_project

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
FILES = {
    "pyproject.toml": '[tool.millstream]\nname = "shop"\n',
    "models/sources.yml": """\
sources:
  - name: web
    topics:
      - name: clicks
        partitions: 3
        key: {name: user, type: string}
        columns:
          - {name: id, type: bigint}
          - {name: kind, type: string}
          - {name: ms, type: bigint}
          - {name: at, type: timestamp, from: timestamp_millis(ms)}
        watermark: {column: at, delay: 10 seconds}
      - {name: lines, format: csv, columns: [{name: a, type: int}, {name: b, type: string}]}
      - {name: ticks, format: long, key: {name: n, type: bigint}}
      - {name: silent, format: string}
""",
    "models/out.sql": (
        "{{ config(materialized='sink', topic='shop.out', key='id') }}\n"
        "select c.id, c.kind from {{ source('web', 'clicks') }} as c\n"
    ),
    "models/seen.sql": "select c.id from {{ source('web', 'clicks') }} as c\n",
    "seeds/traffic.py": """\
from datetime import datetime, timedelta
from itertools import count
from random import Random


def clicks(random: Random, now: datetime):
    for number in count(1):
        yield f"user_{random.randint(1, 9)}", {
            "id": number, "kind": random.choice("abc"), "ms": round(now.timestamp() * 1000)
        }
        now += timedelta(seconds=1)


def lines(random: Random, now: datetime):
    for number in range(5):
        yield None, {"b": f"x,{number}", "a": number}


def ticks(random: Random, now: datetime):
    for number in count():
        yield number, number * 2
""",
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """Return a project's folder."""
    root = tmp_path_factory.mktemp("kafka") / "shop"
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


@pytest.fixture(scope="module")
def project(shop):
    return load_project(shop, None, None, None)


@pytest.fixture(scope="module")
def cluster(broker_server, shop):
    return Cluster(lend(broker_server, shop), embedded=True)


@pytest.fixture(scope="module")
def admin(cluster):
    return admin_of(cluster)


@pytest.fixture
def name() -> str:
    """Return a topic's name that no other test has."""
    return f"t_{uuid4().hex[:12]}"


@pytest.fixture
def put(admin):
    """Write records, in their order, into a topic."""

    def call(topic, *values, key=None):
        send_feeds(
            admin, [TopicFeed(topic, iter([GeneratedRecord(key, value, None) for value in values]))], None
        )

    return call


@pytest.fixture
def run(shop, cluster):
    """Run a command in the project."""

    def call(*arguments):
        result = CliRunner().invoke(millstream, [arguments[0], "--project-dir", str(shop), *arguments[1:]])
        return result.exit_code, result.stdout, result.stderr

    return call


@pytest.fixture
def run_json(run):
    def call(*arguments):
        return json.loads(run(*arguments, "--output", "json")[1])

    return call
