"""JSON Schemas of the YAML files, made from the shapes that check them: what editors complete and underline."""

from __future__ import annotations

from typing import Any

import msgspec

from millstream.project.config import ModelConfig
from millstream.project.profiles import TargetShape
from millstream.project.schema import Raw
from millstream.project.settings import ProjectShape
from millstream.project.shapes import PropertiesShape

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return a schema for each kind of file: properties, profiles, project, selectors."""
    properties = _schema(PropertiesShape, "Millstream properties")
    config = _schema(ModelConfig, "config")
    properties["$defs"] |= config.pop("$defs", {})
    properties["$defs"]["ModelShape"]["properties"]["config"] = {
        key: value for key, value in config.items() if key not in {"$schema", "title"}
    }
    target = _schema(TargetShape, "Millstream profiles")
    definitions = target.pop("$defs", {})
    return {
        "properties": properties,
        "profiles": {
            "$schema": _DIALECT,
            "title": "Millstream profiles",
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "target": {"type": "string"},
                    "outputs": {
                        "type": "object",
                        "additionalProperties": {k: v for k, v in target.items() if k not in {"$schema", "title"}},
                    },
                },
                "required": ["outputs"],
                "additionalProperties": False,
            },
            "$defs": definitions,
        },
        "project": _schema(ProjectShape, "[tool.millstream] of pyproject.toml"),
        "selectors": {
            "$schema": _DIALECT,
            "title": "Millstream selectors",
            "type": "object",
            "properties": {
                "selectors": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "description": {"type": "string"},
                            "definition": {"type": ["string", "object"]},
                            "default": {"type": "boolean"},
                        },
                        "required": ["name", "definition"],
                    },
                }
            },
            "additionalProperties": False,
        },
    }


def _schema(shape: type[Any], title: str) -> dict[str, Any]:
    (root,), definitions = msgspec.json.schema_components([shape], schema_hook=_hook, ref_template="#/$defs/{name}")
    for definition in definitions.values():
        for own in ("place", "places"):
            definition.get("properties", {}).pop(own, None)
        if definition.get("type") == "object":
            definition["additionalProperties"] = False
    found = definitions.pop(root["$ref"].rpartition("/")[2])
    definitions.pop("Location", None)
    return {"$schema": _DIALECT, "title": title, **found, "$defs": definitions} | {"title": title}


def _hook(wanted: type[Any]) -> dict[str, Any]:
    if wanted is Raw:
        return {}
    raise NotImplementedError
