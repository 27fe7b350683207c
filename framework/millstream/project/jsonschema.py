"""JSON Schemas of a project's files, for editors, generated from the shapes that check the files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from millstream.project.data_tests import KINDS
from millstream.project.options import ModelConfig
from millstream.project.settings import ProjectShape
from millstream.project.source_shapes import properties_shape
from millstream.project.target_shapes import TargetShape

Schema = dict[str, Any]
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TEMPLATE = {"type": "string", "pattern": r"\{\{", "description": "a template: {{ var('x') }}"}


def json_schemas() -> dict[str, Schema]:
    """Return a schema for each kind of file: properties, profiles, project, selectors."""
    return {
        "properties": _properties(),
        "profiles": _profiles(),
        "project": _project(),
        "selectors": _SELECTORS,
    }


def _properties() -> Schema:
    root, definitions = _components(properties_shape())
    config, more = _components(ModelConfig)
    for name, kind in KINDS.items():
        definitions[name], _ = _components(kind.arguments)
        if not definitions[name].get("required"):
            # `- unique:` without a value is the same as `- unique`.
            definitions[name]["type"] = ["object", "null"]
    definitions |= more
    definitions["Model"]["properties"]["config"] = config
    definitions["Tests"] = {"type": "array", "items": _TEST}
    return _document("Millstream properties", _templated(root), _all_templated(definitions))


def _all_templated(definitions: Schema) -> Schema:
    return {name: _templated(schema) for name, schema in definitions.items()}


_TEST: Schema = {
    "anyOf": [
        {"enum": sorted(name for name, kind in KINDS.items() if kind.plain)},
        {
            "type": "object",
            "properties": {
                name: {"anyOf": [{"$ref": f"#/$defs/{name}"}, {"type": ["array", "string", "integer"]}]}
                for name in KINDS
            },
            "maxProperties": 1,
        },
        {"type": "string", "description": "a test of the project: the name of its macro"},
    ]
}


def _profiles() -> Schema:
    target, definitions = _components(TargetShape)
    profile = {
        "type": "object",
        "properties": {
            "target": {"type": "string", "description": "the default output, unless --target names another"},
            "outputs": {"type": "object", "additionalProperties": _templated(target)},
        },
        "required": ["outputs"],
        "additionalProperties": False,
    }
    root = {"type": "object", "additionalProperties": profile}
    return _document("Millstream profiles", root, _all_templated(definitions))


def _project() -> Schema:
    root, definitions = _components(ProjectShape)
    options, more = _components(ModelConfig)
    plain = options["properties"]
    # In a folder's table, an option may have dbt's `+`; any other table is a subfolder.
    definitions["Folder"] = {
        "type": "object",
        "properties": plain | {f"+{name}": schema for name, schema in plain.items()},
        "additionalProperties": {"$ref": "#/$defs/Folder"},
    }
    root["properties"]["models"] |= {"$ref": "#/$defs/Folder"}
    root["properties"] |= {name.replace("_", "-"): schema for name, schema in root["properties"].items()}
    return _document("[tool.millstream] of pyproject.toml", root, definitions | more)


_SELECTORS: Schema = {
    "$schema": _DIALECT,
    "title": "Millstream selectors",
    "type": "object",
    "properties": {
        "selectors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "the name for --selector"},
                    "description": {"type": "string"},
                    "definition": {
                        "type": ["string", "object"],
                        "description": "a selector such as tag:nightly, or a tree of union and intersection",
                    },
                    "default": {"type": "boolean", "description": "used if nothing is selected"},
                },
                "required": ["name", "definition"],
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}


def _document(title: str, root: Schema, definitions: Schema) -> Schema:
    return {"$schema": _DIALECT, **root, "title": title, "$defs": definitions}


def _components(shape: type[Any]) -> tuple[Schema, Schema]:
    """Return the schema of a shape, and those that it refers to."""
    (root,), components = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    definitions = {_named(name): _clean(schema) for name, schema in components.items()}
    for internal in ("RawValue", "Location"):
        definitions.pop(internal, None)
    return definitions.pop(_named(root["$ref"].rpartition("/")[2])), definitions


def _named(name: str) -> str:
    return name.removesuffix("Shape").removesuffix("Arguments")


def _inner(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    """Change the schemas inside a schema; names of properties are not keywords."""
    changed = dict(schema)
    if "properties" in changed:
        changed["properties"] = {name: change(inner) for name, inner in changed["properties"].items()}
    if "anyOf" in changed:
        changed["anyOf"] = [change(inner) for inner in changed["anyOf"]]
    for key in ("items", "additionalProperties"):
        if isinstance(changed.get(key), dict):
            changed[key] = change(changed[key])
    return changed


def _clean(schema: Schema) -> Schema:
    """Remove what only readers use: locations, raw nodes, names of classes."""
    cleaned = _inner(schema, _clean)
    if "$ref" in cleaned:
        cleaned["$ref"] = "#/$defs/" + _named(cleaned["$ref"].rpartition("/")[2])
        if cleaned["$ref"] == "#/$defs/RawValue":
            del cleaned["$ref"]
    if {} in cleaned.get("anyOf", ()):
        # It has its own reader; its annotation describes it.
        del cleaned["anyOf"]
    if "properties" in cleaned:
        cleaned["properties"] = {
            k: v for k, v in cleaned["properties"].items() if k not in {"location", "locations"}
        }
        cleaned["additionalProperties"] = False
        cleaned.pop("title", None)
        if not cleaned.get("required"):
            cleaned.pop("required", None)
    if "default" in cleaned and cleaned["default"] in (None, [], {}, ""):
        del cleaned["default"]
    return cleaned


def _templated(schema: Schema) -> Schema:
    """Allow `{{ … }}` wherever a value is not free text."""
    templated = _inner(schema, _templated)
    if (
        templated.get("type") in ("integer", "number", "boolean")
        or "pattern" in templated
        or "enum" in templated
    ):
        about: Schema = {key: templated.pop(key) for key in ("description", "default") if key in templated}
        return {**about, "anyOf": [templated, _TEMPLATE]}
    return templated
