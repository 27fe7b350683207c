"""Schemas that refer to types of other schemas: the first use of such a type becomes its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from millstream.formats.avro.types import PRIMITIVES
from millstream.formats.format import SchemaError


def self_contained(text: str, others: Mapping[str, str]) -> str:
    """Return a schema that needs no other one; `others` are those it refers to, by name of their type."""
    if not others:
        return text
    bundle = _Bundle({name: _decoded(schema) for name, schema in others.items()})
    return msgspec.json.encode(bundle.type(_decoded(text), "")).decode()


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        raise SchemaError("", f"not JSON: {error}") from None


class _Bundle:
    def __init__(self, others: Mapping[str, Any]) -> None:
        self.others = others
        self.defined: set[str] = set()

    def type(self, definition: Any, space: str) -> Any:
        match definition:
            case str():
                return self.named(definition, space)
            case list():
                return [self.type(branch, space) for branch in definition]
            case {"type": "record" | "error" | "enum" | "fixed", "name": str(name)}:
                return self.definition(definition, name, space)
            case {"type": "array", "items": items}:
                return {**definition, "items": self.type(items, space)}
            case {"type": "map", "values": values}:
                return {**definition, "values": self.type(values, space)}
            case {"type": inner}:
                return {**definition, "type": self.type(inner, space)}
            case _:
                return definition

    def named(self, name: str, space: str) -> Any:
        if name in PRIMITIVES:
            return name
        for full in (f"{space}.{name}" if space and "." not in name else name, name):
            if full in self.defined:
                return full
            if full in self.others:
                return self.type(_in_its_namespace(self.others[full]), "")
        return name

    def definition(self, definition: dict[str, Any], name: str, space: str) -> Any:
        namespace = name.rpartition(".")[0] if "." in name else definition.get("namespace", space)
        self.defined.add(name if "." in name or not namespace else f"{namespace}.{name}")
        fields = definition.get("fields")
        if not isinstance(fields, list):
            return definition
        return {**definition, "fields": [self.field(field, namespace) for field in fields]}

    def field(self, definition: Any, space: str) -> Any:
        if isinstance(definition, dict) and "type" in definition:
            return {**definition, "type": self.type(definition["type"], space)}
        return definition


def _in_its_namespace(definition: Any) -> Any:
    """Return a definition that does not take the namespace of the type around it."""
    if isinstance(definition, dict) and "." not in str(definition.get("name", ".")):
        return {"namespace": "", **definition}
    return definition
