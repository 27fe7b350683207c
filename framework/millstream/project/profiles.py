"""profiles.yml: where a project runs."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import fields, replace
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.core.errors import Diagnostic, diagnostic_at, did_you_mean
from millstream.core.text import FileText
from millstream.project.files import read_file
from millstream.project.folders import local_path
from millstream.project.kafka_option_errors import check_clients
from millstream.project.logins import (
    KAFKA,
    REGISTRY,
    LoginConflict,
    kafka_contradictions,
    oauth_contradictions,
    registry_contradictions,
)
from millstream.project.names import LONGEST, Environment, is_name
from millstream.project.s3 import S3
from millstream.project.schema import Shape, ShapeReader
from millstream.project.secrets import Placeholder, Secret, is_secret_name, is_secret_setting
from millstream.project.spark_settings import TIMEZONE, as_text, session_timezone, with_timezone
from millstream.project.target_shapes import (
    KafkaShape,
    NotificationShape,
    SchemaRegistryShape,
    TablesShape,
    TargetShape,
)
from millstream.project.values import Settings, Target
from millstream.project.wording import node_kind
from millstream.project.yaml import mapping_entries, node_span, parse_yaml
from millstream.project.yaml_templates import yaml_renderer
from millstream.stores.registry import STORES, store_declaration

FILE = "profiles.yml"
_PUBLIC = frozenset({"master", "timezone", "trigger", "optimization", "environment"})
_SERVER = re.compile(r"(?:\w+://)?(?:\[[0-9a-fA-F:.%]+\]|[^\s:/\[\]]+):(\d{1,5})")
_MASTER = re.compile(
    r"local(\[(\*|[1-9]\d{0,3})(, *[1-9]\d{0,3})?\])?|local-cluster\[[\d, ]+\]|yarn|[a-z][\w+.-]*://\S+"
)
_NAMES = f"use at most {LONGEST} lower-case letters and digits, with '-' or '_' between them: alice, pr-7"
DEFAULT: dict[str, Any] = {"master": "local[*]", "kafka": "embedded"}


def read_target(
    root: Path,
    settings: Settings,
    target: str | None,
    profiles_dir: Path | None,
    variables: dict[str, Any],
    environment: str | None = None,
    *,
    strict_env: bool = True,
) -> tuple[Target, list[Diagnostic]]:
    """Choose the target and, if one is named here or in the target, the environment.

    Without `strict_env`, settings whose environment variables are not set are left out: what is read then is
    enough to compile, but not to connect.
    """
    chosen, diagnostics = _read_target(root, settings, target, profiles_dir, variables, strict_env=strict_env)
    in_target = _revealed(chosen.settings.get("environment") or "")
    # Compiled models do not depend on it.
    chosen = replace(chosen, settings={k: v for k, v in chosen.settings.items() if k != "environment"})
    name = environment or in_target
    if not name:
        return chosen, diagnostics
    if not is_name(name):
        message = f"'{name}' can't be the name of an environment"
        diagnostics.append(Diagnostic("MS130", message, None if environment else chosen.location, _NAMES))
        return chosen, diagnostics
    return replace(chosen, environment=Environment(name, settings.name)), diagnostics


def _read_target(
    root: Path,
    settings: Settings,
    target: str | None,
    profiles_dir: Path | None,
    variables: dict[str, Any],
    *,
    strict_env: bool,
) -> tuple[Target, list[Diagnostic]]:
    """Choose the target; only its values are rendered, since others may need variables that are not set."""
    fallback = Target(settings.profile, target or "local", DEFAULT, None, settings.env_vars)
    path = profiles_file(root, profiles_dir)
    if isinstance(path, Diagnostic):
        return fallback, [path]
    if path is None:
        if target in {None, "local"}:
            return fallback, []
        remedy = "add profiles.yml, or omit --target"
        message = f"target '{target}' requires a profiles.yml, which does not exist"
        diagnostic = Diagnostic("MS112", message, None, remedy)
        return Target(settings.profile, "local", DEFAULT), [diagnostic]
    file = read_file(root, path)
    if isinstance(file, Diagnostic):
        return fallback, [file]
    text = FileText(path, file.content)
    node, diagnostics = parse_yaml(text)
    unreadable = node is None and diagnostics
    chosen, more = (
        (None, []) if unreadable else _read(text, node, settings, target, variables, strict_env=strict_env)
    )
    hidden = written_secrets(node)
    return chosen or fallback, [_masked(diagnostic, hidden) for diagnostic in [*diagnostics, *more]]


def profiles_file(root: Path, profiles_dir: Path | None) -> str | Diagnostic | None:
    """Return the path of profiles.yml, relative to the project's folder where it is inside."""
    named, how = profiles_dir, "--profiles-dir"
    if named is None and (variable := os.environ.get("MILLSTREAM_PROFILES_DIR")):
        named, how = Path(variable), "MILLSTREAM_PROFILES_DIR"
    if named is not None:
        path = named.absolute() / FILE
        if not os.path.lexists(path):
            return Diagnostic("MS112", f"{named} has no {FILE}", None, f"fix {how}, or omit it")
        return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    if os.path.lexists(root / FILE):
        return FILE
    home = Path("~/.millstream").expanduser() / FILE
    return str(home) if os.path.lexists(home) else None


def _read(
    text: FileText,
    node: Node | None,
    settings: Settings,
    target: str | None,
    variables: dict[str, Any],
    *,
    strict_env: bool,
) -> tuple[Target | None, list[Diagnostic]]:
    public = [name for name in settings.env_vars if not is_secret_name(name)]
    reader = ShapeReader(text, yaml_renderer(variables, declared=None, public=public))
    chosen = _choose(reader, node, settings.profile, target)
    if chosen is None:
        return None, reader.diagnostics
    name, output = chosen
    reader.render = yaml_renderer(variables, declared=None, public=public, strict_env=strict_env)
    _plain_secrets(reader, output)
    shape = reader.read(output, TargetShape)
    if shape is None:
        return Target(settings.profile, name, DEFAULT, reader.locate(output)), reader.diagnostics
    _check(reader, shape)
    check_clients(reader, output, shape)
    target_settings = with_timezone(_settings_of(shape))
    return Target(
        settings.profile, name, target_settings, reader.locate(output), settings.env_vars
    ), reader.diagnostics


def _choose(
    reader: ShapeReader, node: Node | None, profile: str, target: str | None
) -> tuple[str, Node] | None:
    """Return the target's name and its settings."""
    profiles = mapping_entries(node) if node is not None else {}
    if profile not in profiles:
        message = f"profiles.yml has no profile '{profile}'"
        hint = did_you_mean(profile, profiles, f"add `{profile}:` with `target:` and `outputs:`")
        where = node_span(reader.text, node) if node is not None else (0, 1)
        reader.diagnostics.append(diagnostic_at(reader.text, *where, "MS112", message, hint))
        return None
    key, body = profiles[profile]
    if not isinstance(body, MappingNode):
        message = f"a profile must be a mapping, not {node_kind(body)}"
        reader.report(body, "MS107", message, "write target: and outputs:")
        return None
    for name, (key_node, _) in mapping_entries(body).items():
        if name not in {"target", "outputs"}:
            hint = did_you_mean(name, ("target", "outputs"), "a profile has `target` and `outputs`")
            reader.report(key_node, "MS106", f"unknown key '{name}'", hint)
    written = mapping_entries(body).get("outputs")
    if written is None:
        reader.report(key, "MS108", "'outputs' is missing", 'add outputs: {local: {master: "local[*]"}}')
        return None
    if not isinstance(written[1], MappingNode):
        message = f"'outputs' must be a mapping, not {node_kind(written[1])}"
        reader.report(written[1], "MS107", message, 'write outputs: {local: {master: "local[*]"}}')
        return None
    outputs = mapping_entries(written[1])
    default = mapping_entries(body).get("target")
    chosen = target or _default(reader, default[1] if default else None)
    if chosen is None:
        return None
    if chosen not in outputs:
        node_with_name = default[1] if default and not target else written[0]
        hint = did_you_mean(chosen, outputs, f"targets: {', '.join(outputs) or 'none'}")
        reader.report(node_with_name, "MS112", f"profile '{profile}' has no target '{chosen}'", hint)
        return None
    return chosen, outputs[chosen][1]


def _default(reader: ShapeReader, node: Node | None) -> str | None:
    """Return the default target of the profile."""
    if node is None:
        return "local"
    default: str | Secret | None = reader.value(node, str, "target")
    return default.reveal() if isinstance(default, Secret) else default


def _plain_secrets(reader: ShapeReader, node: Node) -> None:
    """Warn about literal secrets, since profiles.yml is often committed."""
    for name, value in _settings(node):
        if is_secret_setting(name, value.value) and not _is_template(value):
            # Report the location without the line, which contains the secret.
            variable = name.upper().replace(".", "_").replace("-", "_")
            remedy = f"use {name}: \"{{{{ env_var('{variable}') }}}}\""
            message = f"'{name}' contains a secret in plain text"
            location = reader.locate(value)
            reader.diagnostics.append(Diagnostic("MS113", message, location, remedy, severity="warning"))


def _settings(node: Node | None) -> list[tuple[str, ScalarNode]]:
    """Return every setting of a tree with its value."""
    if isinstance(node, SequenceNode):
        return [setting for item in node.value for setting in _settings(item)]
    settings: list[tuple[str, ScalarNode]] = []
    for name, (_, value) in mapping_entries(node).items() if node is not None else ():
        settings += [(name, value)] if isinstance(value, ScalarNode) else _settings(value)
    return settings


def _is_template(node: ScalarNode) -> bool:
    return "{{" in node.value or "{%" in node.value


def written_secrets(node: Node | None) -> list[str]:
    """Return the secrets in plain text, the longest first."""
    secrets = [
        v.value for name, v in _settings(node) if is_secret_setting(name, v.value) and not _is_template(v)
    ]
    return sorted(secrets, key=len, reverse=True)


def _masked(diagnostic: Diagnostic, hidden: list[str]) -> Diagnostic:
    """Mask secrets; those of the line keep their width, so that the caret still fits."""
    message, remedy, line = diagnostic.message, diagnostic.help, diagnostic.line
    for text in hidden:
        message, remedy = message.replace(text, "****"), remedy.replace(text, "****")
        line = line.replace(text, "*" * len(text))
    return msgspec.structs.replace(diagnostic, message=message, help=remedy, line=line)


def _check(reader: ShapeReader, shape: TargetShape) -> None:
    """Check what the types of single values can't express."""

    def report(owner: Shape, key: str, code: str, message: str, remedy: str) -> None:
        location = owner.locations.get(key, owner.location)
        reader.diagnostics.append(
            Diagnostic(code, message, location, remedy, reader.text.line(location.line))
        )

    kafka: Any = shape.kafka  # or a `Secret`, if it came from the environment
    if isinstance(kafka, Secret):
        if isinstance(kafka, Placeholder) or kafka.reveal() == "embedded":
            shape.kafka = "embedded"
        else:
            remedy = "write kafka: {bootstrap_servers: …}"
            report(shape, "kafka", "MS107", "'kafka' must be embedded or a mapping", remedy)
    elif reason := _check_servers(kafka):
        report(kafka, "bootstrap_servers", "MS107", *reason)
    master: Any = shape.master
    if not isinstance(master, Placeholder) and not _MASTER.fullmatch(master := _revealed(master)):
        remedy = "use local[*], local[4], spark://host:7077, yarn or k8s://…"
        report(shape, "master", "MS107", f"'{master}' is not a Spark master", remedy)
    spark_zone = session_timezone(shape.spark)
    for key, zone in (("timezone", shape.timezone), ("spark", spark_zone)):
        if zone is not None and not isinstance(zone, Placeholder) and (unknown := _unknown_zone(zone)):
            report(shape, key, "MS107", *unknown)
    zones: list[Any] = [shape.timezone, spark_zone]
    texts = [as_text(zone) for zone in zones if zone is not None and not isinstance(zone, Placeholder)]
    if len(set(texts)) > 1:
        message = f"'{TIMEZONE}' is not the target's timezone"
        report(shape, "spark", "MS107", message, f"remove it: timezone: {shape.timezone} sets it")
    # With errors, a key may only be missing because it is misspelled.
    readable = all(diagnostic.severity == "warning" for diagnostic in reader.diagnostics)
    if readable:
        for owner, code, contradiction in _contradictions(shape):
            report(owner, contradiction.key, code, contradiction.message, contradiction.remedy)
    for notification in (shape.notifications or []) if readable else []:
        if wrong := _check_notification(notification):
            report(notification, "command" if notification.command else "webhook", *wrong)
    tables = shape.tables
    if isinstance(tables, TablesShape):
        store = store_declaration(tables.store)
        in_catalog = any(getattr(tables, key) for key in store.in_catalog)
        for key, example in (store.in_catalog if in_catalog else store.required).items():
            if not getattr(tables, key):
                message = f"tables in {store.title} need '{key}'"
                others = " and ".join(f"{name}: {text}" for name, text in store.in_catalog.items())
                alternative = f", or {others}" if others and not in_catalog else ""
                report(tables, "store", "MS108", message, f"add {key}: {example}{alternative}")
        for key, message, remedy in _wrong_catalogs(shape, tables):
            report(tables, key, "MS107", message, remedy)
        for key, path, example in _remote_folders(tables):
            message = f"'{key}' must be a folder, and '{path}' is an address"
            remedy = f"write a folder that all of Spark's machines have: {example}; or one in S3: s3a://…"
            report(tables, key, "MS107", message, remedy)


def _remote_folders(tables: TablesShape) -> Iterator[tuple[str, str, str]]:
    """Yield the options that name an address, where a store needs a folder or S3, with an example."""
    for store in map(store_declaration, STORES):
        for key, example in store.required.items() if store.in_folder else ():
            path = getattr(tables, key)
            if isinstance(path, str) and local_path(path) is None and not path.startswith(S3):
                yield key, path, example


def _wrong_catalogs(shape: TargetShape, tables: TablesShape) -> Iterator[tuple[str, str, str]]:
    """Yield the options that name a catalog which can't have a store's tables, why, and the remedy."""
    for store in map(store_declaration, STORES):
        named = next(iter(store.in_catalog), "")
        name: Any = getattr(tables, named) if named else None
        if name is None or isinstance(name, Placeholder):
            continue
        name = _revealed(name)
        for key in store.required:
            if getattr(tables, key):
                yield key, f"'{named}' already says where tables are", f"remove {key} or {named}"
        if name not in shape.catalogs:
            hint = did_you_mean(name, list(shape.catalogs), "add it to `catalogs` of the target")
            yield named, f"the target has no catalog '{name}'", hint
        elif (kind := shape.catalogs[name].get("type")) != "rest":
            message = f"tables can be stored in a REST catalog, and '{name}' is of type {kind}"
            yield named, message, f"name a catalog of type: rest, or set {next(iter(store.required))} instead"


def _contradictions(shape: TargetShape) -> Iterator[tuple[Shape, str, LoginConflict]]:
    """Yield what contradicts in the logins of a target, with the code."""
    kafka: Any = shape.kafka
    if isinstance(kafka, KafkaShape):
        written = _written(kafka)
        for wrong in (*kafka_contradictions(written), *oauth_contradictions(written)):
            yield kafka, KAFKA, wrong
    registry: Any = shape.schema_registry
    if isinstance(registry, SchemaRegistryShape):
        for wrong in registry_contradictions(_written(registry)):
            message = f"schema_registry: {wrong.message}"
            yield registry, REGISTRY, replace(wrong, message=message)


def _written(shape: Shape) -> dict[str, Any]:
    """Return the settings that are written, in order, also if their environment variable is not set."""
    return {key: value for key in shape.locations if (value := getattr(shape, key, None)) is not None}


def _check_servers(kafka: Any) -> tuple[str, str] | None:
    """Return what is wrong with an address in `bootstrap_servers`; none from the environment is shown."""
    servers: Any = kafka.bootstrap_servers if isinstance(kafka, KafkaShape) else None
    if servers is None or isinstance(servers, Placeholder):
        return None
    for server in _revealed(servers).split(","):
        address = _SERVER.fullmatch(server.strip())
        if address is None or not 0 < int(address[1]) < 65536:
            named = "an address" if isinstance(servers, Secret) else f"'{server.strip()}'"
            return f"{named} in 'bootstrap_servers' is not host:port", "write kafka.example:9092"
    return None


def _check_notification(notification: NotificationShape) -> tuple[str, str, str] | None:
    """Return what is wrong with a notification: code, message and remedy."""
    url: Any = notification.webhook
    if bool(url) == bool(notification.command):
        return "MS107", "a notification needs either 'webhook' or 'command'", "write one of them"
    if any(isinstance(argument, Secret) for argument in notification.command):
        message = "'command' can't have values of the environment: other users can see arguments"
        return "MS113", message, "read the variable in the program, which gets the run's environment"
    if notification.command and notification.format:
        return "MS107", "'format' is for webhooks; a command gets JSON", "remove it"
    if (
        url
        and not isinstance(url, Placeholder)
        and not _revealed(url).lower().startswith(("http://", "https://"))
    ):
        return "MS107", "'webhook' is not an http or https address", "write https://…"
    return None


def _revealed(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _unknown_zone(zone: str | Secret) -> tuple[str, str] | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

    name = _revealed(zone)
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        hint = did_you_mean(name, available_timezones(), "use a name such as Europe/Berlin or UTC")
        return f"unknown time zone '{zone}'", hint
    return None


def _settings_of(shape: TargetShape) -> dict[str, Any]:
    """Return the settings of a target; those in `_PUBLIC` are never secrets, even from the environment."""
    return {
        name: value.reveal() if name in _PUBLIC and isinstance(value, Secret) else value
        for name, value in _values(shape).items()
    }


def _values(shape: Shape) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in fields(shape):
        value = getattr(shape, field.name)
        if field.name not in {"location", "locations"} and _is_set(value):
            values[field.name] = _hidden(field.name, value)
    return values


def _is_set(value: Any) -> bool:
    return value is not None and value != {} and not isinstance(value, Placeholder)


def _hidden(name: str, value: Any) -> Any:
    """Return a value with its secrets wrapped, including those written in plain text."""
    if isinstance(value, Shape):
        return _values(value)
    if isinstance(value, dict):
        return {
            key: _hidden(key, inner) for key, inner in value.items() if not isinstance(inner, Placeholder)
        }
    if isinstance(value, list):
        return [_hidden(name, inner) for inner in value if not isinstance(inner, Placeholder)]
    return Secret(value) if isinstance(value, str) and is_secret_setting(name, value) else value
