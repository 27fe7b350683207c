"""docs/configuration.md: every key of every file, from the schemas that check them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from millstream.project.jsonschema import json_schemas

_TITLES = {
    "project": ("pyproject.toml", "`[tool.millstream]`"),
    "profiles": (
        "profiles.yml",
        "These are the keys of an output: `<profile>: {target: <name>, outputs: {<name>: …}}`.",
    ),
    "properties": ("YAML of models/, macros/, seeds/ and tests/", "Every file may use all of these keys."),
}

_INTRODUCTION = """\
An unknown key is an error that suggests the nearest known one. `millstream schema --write DIR` writes JSON
Schemas of these keys, for editors. In YAML, values may use `{{ var('x') }}` and `{{ env_var('X') }}`;
descriptions, and the rows of unit tests, are taken as they are written."""


def configuration_reference(generated: str) -> str:
    """Return the page; `generated` is the comment that names its generator."""
    parts = [
        "# Configuration",
        generated,
        _INTRODUCTION,
    ]
    for kind, schema in json_schemas().items():
        if kind in _TITLES:
            title, introduction = _TITLES[kind]
            parts += [f"## {title}", introduction, *_tables(schema)]
    return "\n\n".join(parts) + "\n"


def _tables(schema: dict[str, Any]) -> Iterator[str]:
    root = schema
    while "properties" not in root or set(root["properties"]) == {"target", "outputs"}:
        inner = root.get("additionalProperties") or root["properties"]["outputs"]
        root = schema["$defs"][inner["$ref"].rpartition("/")[2]] if "$ref" in inner else inner
    yield _table(root["properties"], root.get("required", []))
    for name, definition in schema.get("$defs", {}).items():
        if "properties" in definition and definition is not root:
            yield f"### {_called(name)}"
            yield _table(definition["properties"], definition.get("required", []))


def _table(properties: dict[str, Any], required: list[str]) -> str:
    rows = [
        f"| `{name}` | {_type(schema)} | {_default(schema, required=name in required)} "
        f"| {cell(schema.get('description', ''))} |"
        for name, schema in properties.items()
    ]
    return "\n".join(["| key | type | default | |", "|---|---|---|---|", *rows])


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return _called(schema["$ref"].rpartition("/")[2])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if "anyOf" in schema:
        parts = [_type(part) for part in schema["anyOf"] if part.get("type") != "null"]
        return " or ".join(dict.fromkeys(alternative for part in parts for alternative in part.split(" or ")))
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(name for name in kind if name != "null")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return {"object": "mapping", "string": "text"}.get(kind, str(kind))


def _default(schema: dict[str, Any], *, required: bool) -> str:
    if required:
        return "required"
    default = schema.get("default")
    return f"`{cell(str(default))}`" if default not in (None, "", [], {}) else ""


def _called(name: str) -> str:
    return name.removesuffix("Shape").removesuffix("Config").lower()


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
