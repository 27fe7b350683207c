"""The section about schema registries in docs/formats.md is true: its files are written, its commands run."""

import re
from pathlib import Path

import pytest
import yaml
from confluent_kafka.schema_registry import Schema
from support.registry import client_of, needs_java

from millstream.kafka.registry.local import registry_url, shared_registry
from millstream.kafka.registry.settings import address_of, client_settings
from millstream.project.profiles import read_target
from millstream.project.settings import read_settings

PAGE = Path(__file__).parents[4] / "docs/formats.md"
SECTION = PAGE.read_text(encoding="utf-8").partition("## Schema registries")[2]
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", SECTION, re.DOTALL | re.MULTILINE)
YAML = [text for kind, text in BLOCKS if kind == "yaml"]
CONSOLE = [text for kind, text in BLOCKS if kind == "console"]
PROJECT = '[tool.millstream]\nname = "shop"\n'


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "models").mkdir()
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "models/sources.yml").write_text(YAML[0])
    monkeypatch.chdir(tmp_path)
    return tmp_path


@needs_java
def test_the_commands_print_what_the_page_says(run, project):
    """A registry of its own, since the page shows ids."""
    with (
        shared_registry(project, {}) as server,
        client_of(registry_url(server.address)) as client,
    ):
        client.register_schema("orders-value", _schema("id"))
        client.register_schema("com.shop.Payment", _schema("amount"))
        for text in CONSOLE:
            command, _, expected = text.partition("\n")
            if "--check" in command:
                client.set_compatibility("orders-value", "NONE")
                client.register_schema("orders-value", _schema("id", "note"))
            assert run(*command.removeprefix("$ millstream ").split()).out == expected
    assert len(CONSOLE) == 4


def _schema(*names):
    fields = ", ".join(f'"{name}": {{"type": "integer"}}' for name in names)
    return Schema(f'{{"type": "object", "properties": {{{fields}}}}}', "JSON")


def test_the_target_is_valid(project, monkeypatch):
    (project / "profiles.yml").write_text(YAML[1])
    (project / "certificates").mkdir()
    (project / "certificates/ca.pem").write_text("")
    monkeypatch.setenv("REGISTRY_USER", "me")
    monkeypatch.setenv("REGISTRY_PASSWORD", "hunter2")
    settings, _ = read_settings(project)
    target, errors = read_target(project, settings, None, None, {})
    assert errors == []
    assert "hunter2" not in repr(target)
    assert client_settings(address_of(target, str(project)))["basic.auth.user.info"] == "me:hunter2"


def test_all_forms_of_the_table_are_valid(project, run):
    forms = re.findall(r"^\| `(registry|\{.*?\})` \|", SECTION, re.MULTILINE)
    topics = [{"name": f"t{number}", "schema": yaml.safe_load(form)} for number, form in enumerate(forms)]
    (project / "models/sources.yml").write_text(
        yaml.safe_dump({"sources": [{"name": "s", "topics": topics}]})
    )
    rows = run("schemas", "ls", "--output", "json").json["schemas"]
    assert [row["subject"] for row in rows] == [
        "t0-value",
        "com.shop.Payment",
        "com.shop.Payment",
        "t3-com.shop.Payment",
    ]


def test_a_password_in_plain_text(project):
    (project / "profiles.yml").write_text(
        "shop:\n  outputs:\n    local:\n      schema_registry:\n        url: https://me:hunter3@registry\n"
        "        username: me\n        password: hunter2\n        key_password: hunter4\n"
    )
    settings, _ = read_settings(project)
    target, errors = read_target(project, settings, None, None, {})
    assert [(diagnostic.code, diagnostic.severity) for diagnostic in errors] == [("MS113", "warning")] * 3
    assert "hunter" not in repr((target, errors))
    assert address_of(target, str(project)).shown == "the address from the environment"
