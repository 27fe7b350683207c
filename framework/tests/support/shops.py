"""A small project whose models a test writes."""

import json
from inspect import cleandoc

from support.runs import received, send

PROJECT = """
[project]
name = "shop"
[tool.millstream]
name = "shop"
"""
_ONE_PARTITION = "spark: {spark.sql.shuffle.partitions: 1}"
"""States have one partition instead of four: each costs tasks and files in every batch."""
PROFILES = f"""
shop:
  target: local
  outputs:
    local: {{master: "local[2]", kafka: embedded, {_ONE_PARTITION}}}
"""
SOURCES = """
sources:
  - name: web
    topics:
      - name: events
        key: {name: user, type: string}
        columns:
          - {name: id, type: int}
          - {name: kind, type: string}
          - {name: value, type: double}
          - {name: at, type: timestamp}
        watermark: {column: at, delay: 1 minute}
"""

WINDOWS = """
    {{ config(materialized='sink', emit='on_close') }}
    select window(at, '1 minute').start as minute, 'all' as kind, count(*) as events
    from {{ source('web', 'events') }} group by window(at, '1 minute')
"""
SUMS = """
    {{ config(materialized='table', unique_key='kind') }}
    select kind, sum(events) as total from {{ ref('windows') }} group by kind
"""
"""Counts the rows of `windows`."""
TOTALS = """
    {{ config(materialized='table', unique_key='user') }}
    select user, sum(value) as total from {{ source('web', 'events') }} group by user
"""
SHARE = """
    def share(value: float) -> float:
        return 1 / value
"""
UNOPTIMIZED = PROFILES.replace("kafka: embedded", "kafka: embedded, optimization: none")
"""Each model has a query of its own."""


def event(number, user="a", value=1.0, kind="x"):
    """Return a record for `events`."""
    return (user, {"id": number, "kind": kind, "value": value})


def minute(number):
    """Return a record of a minute of its own."""
    return ("a", {"id": number, "kind": "x", "value": 1.0, "at": f"2026-01-01T00:{number:02}:00Z"})


class Shop:
    """A small project whose models a test writes, and the topics of its broker."""

    def __init__(self, root, bootstrap):
        self.root = root
        self.bootstrap = bootstrap
        self.write("pyproject.toml", PROJECT)
        self.write("profiles.yml", PROFILES)
        self.write("models/sources.yml", SOURCES)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(cleandoc(text) + "\n")

    def model(self, name, sql):
        self.write(f"models/{name}.sql", sql)

    def source(self, **more):
        message = "".join(f"        {name}: {value}\n" for name, value in more.items())
        (self.root / "models/sources.yml").write_text(cleandoc(SOURCES) + "\n" + message)

    def more(self, text):
        """Add to the topics of the source."""
        (self.root / "models/sources.yml").write_text(cleandoc(SOURCES) + "\n" + text.strip("\n") + "\n")

    def send(self, *rows, topic="events"):
        send(self.bootstrap, {topic: rows})

    def values(self, topic):
        return [record.value() and json.loads(record.value()) for record in received(self.bootstrap, topic)]
