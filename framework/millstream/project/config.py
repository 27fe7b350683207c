"""A model's options: defaults by folder, then YAML, then `{{ config(...) }}`; the later one wins."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from millstream.errors import Diagnostic, did_you_mean
from millstream.project.shapes import about
from millstream.project.values import ModelProperties, Settings
from millstream.text import Location


class DedupeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    keys: list[str]
    within: str | None = None


class StateConfig(Struct, frozen=True, forbid_unknown_fields=True):
    store: Literal["rocksdb", "memory"] | None = None
    ttl: str | None = None
    retention: str | None = None
    memory: str | None = None


class ModelConfig(Struct, frozen=True, kw_only=True):
    """Every option that a model can have."""

    enabled: Annotated[bool, about("false leaves the model out")] = True
    materialized: Annotated[
        Literal["view", "sink", "table"], about("view: no storage; sink: a Kafka topic; table: a state table")
    ] = "view"
    tags: Annotated[str | list[str], about("words to select models by")] = []
    owner: Annotated[str | None, about("who to ask")] = None
    meta: Annotated[dict[str, Any], about("anything for other tools")] = {}
    topic: Annotated[str | None, about("sink: the Kafka topic, by default the model's name")] = None
    key: Annotated[str | None, about("sink: the column that becomes the record's key")] = None
    format: Annotated[str | None, about("sink: how values are encoded, by default json")] = None
    partitions: Annotated[int | None, about("sink: partitions of a topic that is created")] = None
    replication: Annotated[int | None, about("sink: replication factor of a topic that is created")] = None
    topic_config: Annotated[dict[str, Any] | None, about("sink: settings of a topic that is created")] = None
    headers: Annotated[dict[str, str] | None, about("sink: record headers, name to SQL expression")] = None
    timestamp: Annotated[str | None, about("sink: the column that becomes the record's timestamp")] = None
    producer: Annotated[dict[str, Any] | None, about("sink: options of the Kafka producer")] = None
    unique_key: Annotated[str | list[str] | None, about("table: the columns that tell rows apart")] = None
    order_by: Annotated[str | None, about("table: the column that says which row is newest")] = None
    delete_when: Annotated[str | None, about("table: rows for which this SQL holds are deleted")] = None
    retention: Annotated[str | None, about("table: how long a row is kept")] = None
    store: Annotated[Literal["delta", "postgres"] | None, about("table: where it is stored, by default delta")] = None
    emit: Annotated[Literal["on_change", "on_close"] | None, about("windows: refine early or one final row")] = None
    dedupe: Annotated[DedupeConfig | None, about("drop repeated keys: {keys: [...], within: 1 hour}")] = None
    state: Annotated[StateConfig | None, about("state store: {store, ttl, retention, memory}")] = None
    group: Annotated[str | None, about("models of one group share a query")] = None
    optimize: Annotated[str | list[str] | bool | None, about("all, none or rule names")] = None
    on_bad_record: Annotated[
        Literal["fail", "skip", "dead_letter"] | None, about("what happens to a row that a function fails on")
    ] = None
    opaque: Annotated[bool, about("run the SQL as it is; columns come from YAML")] = False


_FIELDS = {field.name: field for field in fields(ModelConfig)}
OPTIONS = tuple(_FIELDS)
_ONLY: dict[str, tuple[str, ...]] = {
    "sink": ("topic", "key", "format", "partitions", "replication", "topic_config", "headers", "timestamp", "producer"),
    "table": ("unique_key", "order_by", "delete_when", "retention", "store"),
}


class ConfigValue(Struct, frozen=True):
    value: Any
    location: Location | None = None
    line: str = ""


def resolve_config(
    settings: Settings, folders: tuple[str, ...], properties: ModelProperties | None, in_file: dict[str, ConfigValue]
) -> tuple[ModelConfig, list[Diagnostic]]:
    """Merge the three origins; tags add up, meta merges, everything else is overridden."""
    layers = [*_folder_layers(settings, folders)]
    if properties:
        from_yaml = {k: ConfigValue(v, properties.config_locations.get(k)) for k, v in properties.config.items()}
        for name in ("tags", "owner", "meta"):
            if (value := getattr(properties, name)) and name not in from_yaml:
                from_yaml[name] = ConfigValue(list(value) if name == "tags" else value, properties.location)
        layers.append(from_yaml)
    layers.append(in_file)
    return _merged(layers)


def check_folder_defaults(settings: Settings) -> list[Diagnostic]:
    """Check the options of `[tool.millstream.models]` once, not for every model below a folder."""
    return [problem for layer in _all_layers(settings.models, settings, "") for problem in _merged([layer])[1]]


def _merged(layers: list[dict[str, ConfigValue]]) -> tuple[ModelConfig, list[Diagnostic]]:
    diagnostics: list[Diagnostic] = []
    values: dict[str, Any] = {}
    given: dict[str, ConfigValue] = {}
    for layer in layers:
        for name, entry in layer.items():
            field = _FIELDS.get(name)
            if field is None:
                hint = did_you_mean(name, OPTIONS, f"options: {', '.join(OPTIONS)}")
                diagnostics.append(_diagnostic(entry, f"unknown option '{name}'", hint))
                continue
            try:
                value = msgspec.convert(entry.value, field.type)
            except msgspec.ValidationError as error:
                diagnostics.append(_diagnostic(entry, *_wrong(name, entry.value, error)))
                continue
            if name == "tags":
                value = list(dict.fromkeys([*values.get(name, []), *([value] if isinstance(value, str) else value)]))
            elif name == "meta":
                value = values.get(name, {}) | value
            values[name] = value
            given[name] = entry
    config = ModelConfig(**values)
    return config, diagnostics + _contradictions(config, given)


def _wrong(name: str, value: Any, error: msgspec.ValidationError) -> tuple[str, str]:
    allowed = _choices(_FIELDS[name].type)
    if allowed and isinstance(value, str):
        return (
            f"'{name}' is one of {', '.join(allowed)}, not '{value}'",
            did_you_mean(value, allowed, f"use {allowed[0]}"),
        )
    said = str(error).replace("`", "'")
    return f"'{name}' has a wrong value: {said[0].lower()}{said[1:]}", f"see the option '{name}' in the reference"


def _choices(wanted: Any) -> list[str]:
    from typing import get_args, get_origin

    if get_origin(wanted) is Literal:
        return [str(choice) for choice in get_args(wanted)]
    return [choice for part in get_args(wanted) if not isinstance(part, str) for choice in _choices(part)]


def _contradictions(config: ModelConfig, given: dict[str, ConfigValue]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for materialized, names in _ONLY.items():
        for name in names:
            # Options of a folder's defaults may fit only some of its models; in the model itself they are a slip.
            if name in given and given[name].location and config.materialized != materialized:
                message = f"'{name}' is an option of a {materialized}, but this model is a {config.materialized}"
                remedy = f"say materialized='{materialized}', or remove '{name}'"
                found.append(msgspec.structs.replace(_diagnostic(given[name], message, remedy), code="MS121"))
    return found


def _diagnostic(entry: ConfigValue, message: str, remedy: str) -> Diagnostic:
    return Diagnostic("MS120", message, entry.location, remedy, entry.line)


def _folder_layers(settings: Settings, folders: tuple[str, ...]) -> list[dict[str, ConfigValue]]:
    layers = []
    tree: Any = settings.models
    path = ""
    for folder in (None, *folders):
        if folder is not None:
            tree = tree.get(folder) if isinstance(tree, dict) else None
            path = f"{path}.{folder}" if path else folder
        if not isinstance(tree, dict):
            break
        layers.append({k.removeprefix("+"): ConfigValue(v) for k, v in tree.items() if _is_option(k, v)})
    return layers


def _all_layers(tree: dict[str, Any], settings: Settings, path: str) -> list[dict[str, ConfigValue]]:
    own = {
        key.removeprefix("+"): ConfigValue(value, settings.model_locations.get(f"{path}{key}"))
        for key, value in tree.items()
        if _is_option(key, value)
    }
    folders = [
        layer
        for key, value in tree.items()
        if isinstance(value, dict) and not _is_option(key, value)
        for layer in _all_layers(value, settings, f"{path}{key}.")
    ]
    return [own, *folders]


def _is_option(key: str, value: Any) -> bool:
    return key.startswith("+") or not isinstance(value, dict) or (key in OPTIONS and key in {"meta", "topic_config", "headers", "producer", "dedupe", "state"})
