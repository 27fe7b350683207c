"""profiles.yml: where a project runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec.structs import fields
from yaml.nodes import MappingNode, Node, ScalarNode

from millstream.errors import Diagnostic, at, did_you_mean
from millstream.project.files import read_file
from millstream.project.schema import Reader, Shape
from millstream.project.secrets import is_secret_name
from millstream.project.shapes import about
from millstream.project.values import Settings, Target
from millstream.project.yaml import parse_yaml, span
from millstream.project.yaml_templates import yaml_renderer
from millstream.text import Text

FILE = "profiles.yml"
DEFAULT = {"master": "local[*]", "kafka": "embedded"}


class KafkaShape(Shape):
    bootstrap_servers: Annotated[str, about("host:port, several with commas")]
    security_protocol: str | None = None
    sasl_mechanism: str | None = None
    sasl_username: str | None = None
    sasl_password: str | None = None
    ssl_truststore_location: str | None = None
    ssl_truststore_password: str | None = None
    ssl_keystore_location: str | None = None
    ssl_keystore_password: str | None = None
    ssl_key_password: str | None = None
    ssl_ca_location: str | None = None
    schema_registry: Annotated[
        dict[str, Any] | str | None, about("the registry's address, or {url, ...}")
    ] = None
    producer: Annotated[dict[str, Any], about("options of Kafka producers")] = {}
    consumer: Annotated[dict[str, Any], about("options of Kafka consumers")] = {}
    admin: Annotated[dict[str, Any], about("options of Kafka's admin client")] = {}


class TablesShape(Shape):
    store: Literal["delta", "postgres"] = "delta"
    path: Annotated[str | None, about("where Delta tables are")] = None
    url: Annotated[str | None, about("a PostgreSQL database")] = None
    username: str | None = None
    password: str | None = None
    database_schema: Annotated[str | None, about("the schema of PostgreSQL tables")] = None


class TargetShape(Shape):
    """One output of a profile."""

    master: Annotated[str, about("a Spark master: local[*], spark://..., yarn, k8s://...")] = "local[*]"
    kafka: Annotated[KafkaShape | Literal["embedded"], about("embedded, or a cluster's settings")] = (
        "embedded"
    )
    tables: TablesShape | None = None
    checkpoints: Annotated[str | None, about("where checkpoints are kept")] = None
    trigger: Annotated[str | None, about("available_now, realtime or a duration such as 5 seconds")] = None
    optimization: Annotated[str | list[str] | None, about("all, none or rule names")] = None
    grouping: Annotated[Literal["all", "stateless", "off"] | None, about("which models share a query")] = None
    guarantee: Literal["at_least_once"] | None = None
    timezone: Annotated[str | None, about("days and hours are of this zone, by default UTC")] = None
    spark: Annotated[dict[str, Any], about("further Spark settings")] = {}
    jars: Annotated[
        Literal["fetched", "provided"] | None, about("provided: the cluster has its own jars")
    ] = None


def read_target(
    root: Path, settings: Settings, target: str | None, profiles_dir: Path | None, variables: dict[str, Any]
) -> tuple[Target, list[Diagnostic]]:
    """Choose the target; only its own values are rendered, others may need variables that are not set."""
    found = _file(root, profiles_dir)
    if found is None:
        if target not in {None, "local"}:
            remedy = "write profiles.yml, or leave --target out"
            problem = Diagnostic("MS112", f"there is no profiles.yml with a target '{target}'", None, remedy)
            return Target(settings.profile, "local", DEFAULT), [problem]
        return Target(settings.profile, "local", DEFAULT), []
    folder, path = found
    file = read_file(folder, path)
    if isinstance(file, Diagnostic):
        return Target(settings.profile, "local", DEFAULT), [file]
    text = Text(path, file.content)
    node, diagnostics = parse_yaml(text)
    chosen = _choose(text, node, settings, target, diagnostics)
    if chosen is None:
        return Target(settings.profile, target or "local", DEFAULT), diagnostics
    name, output = chosen
    reader = Reader(text, yaml_renderer(variables, secrets=True))
    before = len(reader.diagnostics)
    _plain_secrets(reader, output)
    shape = reader.read(output, TargetShape)
    location = text.location(*span(text, output))
    if shape is None:
        return Target(settings.profile, name, DEFAULT, location), [*diagnostics, *reader.diagnostics]
    _check_timezone(reader, shape)
    values = _values(shape)
    return Target(settings.profile, name, values, location), [*diagnostics, *reader.diagnostics[before:]]


def _file(root: Path, profiles_dir: Path | None) -> tuple[Path, str] | None:
    named = profiles_dir or (
        Path(os.environ["MILLSTREAM_PROFILES_DIR"]) if "MILLSTREAM_PROFILES_DIR" in os.environ else None
    )
    for folder in [named] if named else [root, Path.home() / ".millstream"]:
        if (folder / FILE).exists():
            return folder, FILE
    return None


def _choose(
    text: Text, node: Node | None, settings: Settings, target: str | None, diagnostics: list[Diagnostic]
) -> tuple[str, Node] | None:
    profiles = _entries(node)
    if settings.profile not in profiles:
        message = f"profiles.yml has no profile '{settings.profile}'"
        hint = did_you_mean(
            settings.profile, profiles, f"add `{settings.profile}:` with `target:` and `outputs:`"
        )
        if not diagnostics:
            diagnostics.append(at(text, *(span(text, node) if node else (0, 1)), "MS112", message, hint))
        return None
    profile = _entries(profiles[settings.profile][1])
    for name, (key, _) in profile.items():
        if name not in {"target", "outputs"}:
            hint = did_you_mean(name, ("target", "outputs"), "a profile has `target` and `outputs`")
            diagnostics.append(at(text, *span(text, key), "MS106", f"unknown key '{name}'", hint))
    outputs = _entries(profile["outputs"][1]) if "outputs" in profile else {}
    chosen = profile["target"][1] if "target" in profile else None
    name = target or (str(chosen.value) if isinstance(chosen, ScalarNode) else "local")
    if "{{" in name:
        name = str(yaml_renderer({}, secrets=False)(name))
    if name not in outputs:
        place = (
            span(text, chosen)
            if chosen is not None and not target
            else span(text, profiles[settings.profile][0])
        )
        hint = did_you_mean(name, outputs, f"targets: {', '.join(outputs) or 'none'}")
        diagnostics.append(
            at(text, *place, "MS112", f"profile '{settings.profile}' has no target '{name}'", hint)
        )
        return None
    return name, outputs[name][1]


def _entries(node: Node | None) -> dict[str, tuple[Node, Node]]:
    return {str(k.value): (k, v) for k, v in node.value} if isinstance(node, MappingNode) else {}


def _plain_secrets(reader: Reader, node: Node) -> None:
    for name, (_, value) in _entries(node).items():
        if isinstance(value, MappingNode):
            _plain_secrets(reader, value)
        elif is_secret_name(name) and isinstance(value, ScalarNode) and "{{" not in str(value.value):
            # The caret would show the secret itself: tell the place, not the line.
            reader.diagnostics.append(
                Diagnostic(
                    "MS113",
                    f"'{name}' is written out in profiles.yml",
                    reader.place(value),
                    f"use {name}: \"{{{{ env_var('{name.upper()}') }}}}\"",
                    severity="warning",
                )
            )


def _check_timezone(reader: Reader, shape: TargetShape) -> None:
    if shape.timezone is None:
        return
    try:
        ZoneInfo(str(shape.timezone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        location = shape.places["timezone"]
        line = reader.text.line(location.line)
        message = f"there is no time zone '{shape.timezone}'"
        reader.diagnostics.append(
            Diagnostic("MS107", message, location, "use a name such as Europe/Berlin or UTC", line)
        )


def _values(shape: Shape) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(shape):
        value = getattr(shape, field.name)
        if field.name in {"place", "places"} or value is None or value == {}:
            continue
        found[field.name] = _values(value) if isinstance(value, Shape) else value
    return found
