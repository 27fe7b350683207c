"""What configuration can say, from the JSON Schemas that `millstream schema` prints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from millstream.project.jsonschema import json_schemas

Schema = dict[str, Any]


class ConfigurationKey(Struct, frozen=True):
    name: str
    description: str
    values: tuple[str, ...]


@cache
def _schema(document: str) -> Schema:
    return json_schemas()[document]


def model_options() -> dict[str, ConfigurationKey]:
    """Return the options of `config()`."""
    return keys_at("properties", ("models", "0", "config"))


def keys_at(document: str, path: Sequence[str]) -> dict[str, ConfigurationKey]:
    """Return the keys of the mapping at a path of a document; items of lists have numbers."""
    root = _schema(document)
    keys: dict[str, ConfigurationKey] = {}
    for schema in _schemas_at(root, path):
        for name, inner in schema.get("properties", {}).items():
            description = next((s["description"] for s in _variants(root, inner) if "description" in s), "")
            keys.setdefault(name, ConfigurationKey(name, description, tuple(_values(root, inner))))
    return keys


def values_at(document: str, path: Sequence[str]) -> list[str]:
    """Return the words that a document can have at a path."""
    root = _schema(document)
    return list(dict.fromkeys(value for schema in _schemas_at(root, path) for value in _values(root, schema)))


def _schemas_at(root: Schema, path: Sequence[str]) -> list[Schema]:
    schemas = list(_variants(root, root))
    for step in path:
        below = [inner for schema in schemas for inner in _below(schema, step)]
        schemas = [variant for inner in below for variant in _variants(root, inner)]
    return schemas


def _below(schema: Schema, step: str) -> Iterator[Schema]:
    if step.isdigit():
        if isinstance(schema.get("items"), dict):
            yield schema["items"]
    elif step in schema.get("properties", {}):
        yield schema["properties"][step]
    elif isinstance(schema.get("additionalProperties"), dict):
        yield schema["additionalProperties"]


def _variants(root: Schema, schema: Schema) -> Iterator[Schema]:
    yield schema
    if name := schema.get("$ref", "").removeprefix("#/$defs/"):
        yield from _variants(root, root["$defs"][name])
    for inner in schema.get("anyOf", ()):
        yield from _variants(root, inner)


def _values(root: Schema, schema: Schema) -> Iterator[str]:
    for variant in _variants(root, schema):
        yield from (str(value) for value in variant.get("enum", ()) if value is not None)
        if "const" in variant:
            yield str(variant["const"])
        if variant.get("type") == "boolean":
            yield from ("true", "false")
