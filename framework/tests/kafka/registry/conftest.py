"""One local schema registry for all tests of this folder; the project that it belongs to is on the local target."""

import sys
from types import SimpleNamespace
from uuid import uuid4

import pytest
from cli.conftest import run as run  # noqa: PLC0414 - a fixture
from cli.conftest import write
from confluent_kafka.schema_registry import Schema, SchemaReference
from support.registry import client_of

from millstream.kafka.registry.local import registry_url, shared_registry

if sys.platform == "win32":
    collect_ignore_glob = ["test_*.py"]

PROJECT = '[tool.millstream]\nname = "shop"\n'


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """Return the folder of a project, the URL of its registry, and Confluent's client of it."""
    root = write(tmp_path_factory.mktemp("registry"), {"pyproject.toml": PROJECT})
    with shared_registry(root, {}) as registry:
        url = registry_url(registry.address)
        with client_of(url) as client:
            yield SimpleNamespace(root=root, url=url, client=client)


@pytest.fixture
def name():
    """Return a name that no other test uses."""
    return f"t{uuid4().hex[:8]}"


@pytest.fixture
def register(server):
    """Register a schema with Confluent's client; return its id. References are (name, subject, version)."""

    def call(subject, text, kind="JSON", *references):
        schema_references = [SchemaReference(*reference) for reference in references]
        return server.client.register_schema(subject, Schema(text, kind, schema_references))

    return call


@pytest.fixture
def shop(server, tmp_path, monkeypatch):
    """Return a function that writes a project with these topics, whose target names the registry's URL."""

    def write_project(*topics, **files):
        rows = "".join(f"      - {{{topic}}}\n" for topic in topics)
        root = write(
            tmp_path / "shop",
            {
                "pyproject.toml": PROJECT,
                "models/s.yml": f"sources:\n  - name: shop\n    topics:\n{rows}",
                "profiles.yml": "shop:\n  target: local\n  outputs:\n    local:\n"
                f"      schema_registry: {{url: '{server.url}'}}\n",
                **files,
            },
        )
        monkeypatch.chdir(root)
        return root

    return write_project
