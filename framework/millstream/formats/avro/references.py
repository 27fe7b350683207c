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
    bundle = _Bundle({name: _decoded(each) for name, each in others.items()})
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

    def type(self, found: Any, space: str) -> Any:
        match found:
            case str():
                return self.named(found, space)
            case list():
                return [self.type(each, space) for each in found]
            case {"type": "record" | "error" | "enum" | "fixed", "name": str(name)}:
                return self.definition(found, name, space)
            case {"type": "array", "items": items}:
                return {**found, "items": self.type(items, space)}
            case {"type": "map", "values": values}:
                return {**found, "values": self.type(values, space)}
            case {"type": inner}:
                return {**found, "type": self.type(inner, space)}
            case _:
                return found

    def named(self, name: str, space: str) -> Any:
        if name in PRIMITIVES:
            return name
        for full in (f"{space}.{name}" if space and "." not in name else name, name):
            if full in self.defined:
                return full
            if full in self.others:
                return self.type(_in_its_namespace(self.others[full]), "")
        return name

    def definition(self, found: dict[str, Any], name: str, space: str) -> Any:
        own = name.rpartition(".")[0] if "." in name else found.get("namespace", space)
        self.defined.add(name if "." in name or not own else f"{own}.{name}")
        fields = found.get("fields")
        if not isinstance(fields, list):
            return found
        return {**found, "fields": [self.field(each, own) for each in fields]}

    def field(self, found: Any, space: str) -> Any:
        if isinstance(found, dict) and "type" in found:
            return {**found, "type": self.type(found["type"], space)}
        return found


def _in_its_namespace(found: Any) -> Any:
    """Return a definition that does not take the namespace of the type around it."""
    if isinstance(found, dict) and "." not in str(found.get("name", ".")):
        return {"namespace": "", **found}
    return found
