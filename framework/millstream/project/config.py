"""A model's options: defaults by folder, then YAML, then `{{ config(...) }}`; the last one wins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import fields
from yaml.nodes import MappingNode, Node, ScalarNode

from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic, did_you_mean, listed_keys
from millstream.core.text import FileText, Location
from millstream.outputs.kinds import CHANGES
from millstream.outputs.registry import KINDS
from millstream.project import dbt
from millstream.project.kafka_option_errors import check_options
from millstream.project.kafka_options import prevents_transactions, wrong_options
from millstream.project.options import EXACTLY_ONCE, ModelConfig
from millstream.project.schema import RawValue, ShapeReader
from millstream.project.values import ModelProperties, Settings
from millstream.project.yaml import mapping_entries, node_of

_FIELDS = {field.name: field for field in fields(ModelConfig)}
OPTIONS = tuple(_FIELDS)
_MAPPINGS = frozenset(("meta", "lint", "topic_config", "headers", "producer", "dedupe", "state", "watermark"))
"""Options whose values are tables, not folders."""
_WORDS = {
    "incremental": "use 'table': it keeps the newest row per unique_key, or appends all rows without one",
    "ephemeral": "use 'view', which stores nothing",
    "materialized_view": "use 'table'",
    "topic": "use 'sink'",
    "stream": "use 'view', or 'sink' for a topic",
}
"""Materializations of other tools."""


class ConfigValue(Struct, frozen=True):
    value: Any
    location: Location | None = None
    line: str = ""


Layer = dict[str, ConfigValue]


def resolve_config(
    settings: Settings, folders: tuple[str, ...], properties: ModelProperties | None, in_file: Layer
) -> tuple[ModelConfig, list[Diagnostic]]:
    """Merge the three layers: tags are combined, meta and lint are merged, everything else is overridden.

    `check_folder_defaults` reports errors in folder defaults once. `read_options` has already reported and
    removed the wrong options of YAML.
    """
    merge = _Merge()
    for layer in _folder_layers(settings.models, folders):
        merge.add(layer, of_model=False)
    merge.diagnostics.clear()
    if properties:
        merge.add(_yaml_layer(properties), of_model=True)
    merge.add(in_file, of_model=True)
    config = ModelConfig(**merge.values)
    # After a wrong option, contradictions between the others are uncertain.
    return config, merge.diagnostics or _contradictions(config, merge.model_options)


def check_folder_defaults(settings: Settings, text: FileText | None = None) -> list[Diagnostic]:
    """Check the options of `[tool.millstream.models]` once, not for every model in a folder."""
    merge = _Merge()
    for path, key, value in _all_options(settings.models, ""):
        locations = settings.model_locations
        location = locations.get(f"{path}{key}") or locations.get(path.rstrip("."))
        line = text.line(location.line) if text and location else ""
        merge.add({key.removeprefix("+"): ConfigValue(value, location, line)}, of_model=False)
    return merge.diagnostics


def unused_folders(settings: Settings, folders: Iterable[tuple[str, ...]]) -> list[Diagnostic]:
    """Warn about defaults for folders without models; `folders` are those of all models."""
    folders = list(folders)
    prefixes = {parts[: n + 1] for parts in folders for n in range(len(parts))}
    diagnostics: list[Diagnostic] = []
    if not folders and (first := next(_folders(settings.models, ()), None)):
        message, location = "the project has no models yet", settings.model_locations.get(".".join(first))
        hint = f"add one, such as models/{'/'.join(first)}/orders.sql"
        return [Diagnostic("MS117", message, location, hint, severity="warning")]
    for path in _folders(settings.models, ()):
        if path not in prefixes:
            near = [parts[-1] for parts in prefixes if parts[:-1] == path[:-1]]
            message = f"models/{'/'.join(path)} contains no models"
            hint = did_you_mean(path[-1], near, "fix the folder's name, or remove its defaults")
            location = settings.model_locations.get(".".join(path))
            diagnostics.append(Diagnostic("MS117", message, location, hint, severity="warning"))
    return diagnostics


def read_options(
    reader: ShapeReader, raw: RawValue | None
) -> tuple[dict[str, Any], dict[str, Location], dict[str, str]]:
    """Read `config:` of a YAML file: the valid options, with the locations and lines of their values."""
    config: dict[str, Any] = {}
    locations: dict[str, Location] = {}
    lines: dict[str, str] = {}
    if raw is None:
        return config, locations, lines
    node: Node = raw.node
    if not isinstance(node, MappingNode):
        reader.report(node, "MS107", "'config' is a mapping", "write config: {materialized: sink}")
    for written, (key, value) in mapping_entries(node).items():
        name = written.removeprefix("+")
        if name not in _FIELDS:
            reader.report(key, "MS120", f"unknown option '{name}'", _near(name))
            continue
        before = len(reader.diagnostics)
        option = reader.value(value, _FIELDS[name].type, name)
        wrong = reader.diagnostics[before:]
        if isinstance(value, ScalarNode) and name == "materialized" and value.value in _WORDS:
            wrong = [msgspec.structs.replace(diagnostic, help=_WORDS[value.value]) for diagnostic in wrong]
        reader.diagnostics[before:] = [
            msgspec.structs.replace(diagnostic, code="MS120")
            if diagnostic.code in {"MS106", "MS107", "MS108"}
            else diagnostic
            for diagnostic in wrong
        ]
        if name == "producer" and option is not None and not wrong:
            wrong = check_options(reader, "producer", value, option)
        if not wrong and option is not None:
            config[name] = to_builtins(option)
            locations[name] = reader.locate(value)
            lines[name] = reader.text.line(locations[name].line)
    return config, locations, lines


class _Merge:
    """Merges layers; wrong options are reported and left out."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.model_options: Layer = {}
        """Options that the model itself sets, in YAML or in its file."""
        self.diagnostics: list[Diagnostic] = []

    def add(self, layer: Layer, *, of_model: bool) -> None:
        for name, entry in layer.items():
            if name not in _FIELDS:
                self.diagnostics.append(_diagnostic(entry, f"unknown option '{name}'", _near(name)))
                continue
            try:
                value = _converted(name, entry.value)
            except _WrongError as error:
                self.diagnostics.append(_diagnostic(entry, *error.args))
                continue
            if value is None:
                # `config(owner=none)` resets a default.
                self.values.pop(name, None)
                continue
            if name == "tags":
                tags = [value] if isinstance(value, str) else value
                value = list(dict.fromkeys([*self.values.get(name, []), *tags]))
            elif name in {"meta", "lint"}:
                value = self.values.get(name, {}) | value
            self.values[name] = value
            if of_model:
                self.model_options[name] = entry


class _WrongError(Exception):
    """A wrong value: the message, the remedy, and the code if it is not MS120."""


def _converted(name: str, value: Any) -> Any:
    """Convert a value to its option's type; if it does not fit directly, by the rules of YAML."""
    type_ = _FIELDS[name].type
    if name == "producer" and isinstance(value, dict):
        for wrong in wrong_options("producer", value):
            raise _WrongError(wrong.message, wrong.help, wrong.code)
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError:
        if name == "materialized" and isinstance(value, str) and value in _WORDS:
            raise _WrongError(f"there is no materialization '{value}'", _WORDS[value]) from None
        reader = ShapeReader(FileText("", ""))
        converted = reader.value(node_of(value), type_, name)
        if reader.diagnostics:
            raise _WrongError(reader.diagnostics[0].message, reader.diagnostics[0].help) from None
        return converted


def _near(name: str) -> str:
    return dbt.OPTIONS.get(name) or did_you_mean(name, OPTIONS, f"options: {listed_keys(OPTIONS)}")


_OF_TABLES = {
    "delete_when": "set it on a table from which this sink selects: deleted rows become tombstones",
}
"""How a sink comes by what an option of tables does."""


def _contradictions(config: ModelConfig, model_options: Layer) -> list[Diagnostic]:
    """Find options of another materialization, except in folder defaults, which may fit only some models."""
    diagnostics: list[Diagnostic] = []
    kind_of_model = KINDS[config.materialized]
    allowed = kind_of_model.option_names()
    # If several kinds have an option, the first one is the usual one.
    kinds = {name: word for word, kind in reversed(KINDS.items()) for name in kind.option_names()}
    for name, word in kinds.items():
        if name in model_options and model_options[name].value is not None and name not in allowed:
            message = f"'{name}' is an option of a {word}, but this model is a {config.materialized}"
            instead = _OF_TABLES.get(name) if kind_of_model.sends_records else None
            remedy = instead or f"set materialized='{word}', or remove '{name}'"
            diagnostics.append(_diagnostic(model_options[name], message, remedy, "MS121"))
    if config.emit == CHANGES and not kind_of_model.sends_records and "emit" in model_options:
        message = f"emit='{CHANGES}' is for a sink, but this model is a {config.materialized}"
        remedy = "remove it: a sink that selects from this model can have it"
        diagnostics.append(_diagnostic(model_options["emit"], message, remedy, "MS689"))
    if config.emit != CHANGES and kind_of_model.sends_records and "tombstones" in model_options:
        message = f"'tombstones' needs emit='{CHANGES}'"
        diagnostics.append(
            _diagnostic(model_options["tombstones"], message, f"set emit='{CHANGES}', or remove it", "MS121")
        )
    if config.guarantee == EXACTLY_ONCE and "producer" in model_options:
        for name, value in (config.producer or {}).items():
            if prevents_transactions(name, value):
                message = f"'{name}: {str(value).lower()}' of 'producer' contradicts guarantee: exactly_once"
                diagnostics.append(_diagnostic(model_options["producer"], message, f"remove '{name}'"))
    return diagnostics


def _diagnostic(entry: ConfigValue, message: str, remedy: str, code: str = "MS120") -> Diagnostic:
    return Diagnostic(code, message, entry.location, remedy, entry.line)


def _yaml_layer(properties: ModelProperties) -> Layer:
    layer = {
        name: ConfigValue(value, properties.config_locations.get(name), properties.config_lines.get(name, ""))
        for name, value in properties.config.items()
    }
    if properties.owner and "owner" not in layer:
        layer["owner"] = ConfigValue(properties.owner, properties.location)
    yaml_tags = layer["tags"].value if "tags" in layer else []
    tags = [*properties.tags, *([yaml_tags] if isinstance(yaml_tags, str) else yaml_tags)]
    if tags:
        layer["tags"] = ConfigValue(tags, properties.location)
    meta = properties.meta | (layer["meta"].value if "meta" in layer else {})
    if meta:
        layer["meta"] = ConfigValue(meta, properties.location)
    return layer


def _folder_layers(tree: Any, folders: tuple[str, ...]) -> Iterator[Layer]:
    """Yield the options of the root and of each folder on the way to a model."""
    for folder in (None, *folders):
        tree = tree if folder is None else tree.get(folder)
        if not isinstance(tree, dict):
            return
        yield {k.removeprefix("+"): ConfigValue(v) for k, v in tree.items() if _is_option(k, v)}
        tree = {k: v for k, v in tree.items() if not _is_option(k, v)}


def _all_options(tree: dict[str, Any], path: str) -> Iterator[tuple[str, str, Any]]:
    for key, value in tree.items():
        if _is_option(key, value):
            yield path, key, value
        else:
            yield from _all_options(value, f"{path}{key}.")


def _folders(tree: dict[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, value in tree.items():
        if not _is_option(key, value):
            yield (*path, key)
            yield from _folders(value, (*path, key))


def _is_option(key: str, value: Any) -> bool:
    """Return whether a key is an option: a folder is a table, and its name does not start with `+`."""
    return key.startswith("+") or not isinstance(value, dict) or key in _MAPPINGS
