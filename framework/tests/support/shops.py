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
PROFILES = 'shop: {target: local, outputs: {local: {master: "local[2]", kafka: embedded}}}\n'
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
        said = "".join(f"        {name}: {value}\n" for name, value in more.items())
        (self.root / "models/sources.yml").write_text(cleandoc(SOURCES) + "\n" + said)

    def more(self, text):
        """Add to the topics of the source."""
        (self.root / "models/sources.yml").write_text(cleandoc(SOURCES) + "\n" + text.strip("\n") + "\n")

    def send(self, *rows, topic="events"):
        send(self.bootstrap, {topic: rows})

    def values(self, topic):
        return [each.value() and json.loads(each.value()) for each in received(self.bootstrap, topic)]
