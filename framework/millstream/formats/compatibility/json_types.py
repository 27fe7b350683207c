"""JSON Schemas as the tree that Confluent's registry compares: one node for each kind of value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from millstream.formats.format import SchemaError, SchemaFiles

_WORDS = {
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": (
        "items", "additionalItems", "minItems", "maxItems", "uniqueItems", "contains", "prefixItems",
        "unevaluatedItems", "minContains", "maxContains",
    ),
    "object": (
        "properties", "required", "minProperties", "maxProperties", "dependencies", "patternProperties",
        "additionalProperties", "propertyNames", "dependentRequired", "dependentSchemas",
        "unevaluatedProperties",
    ),
    "boolean": (),
    "null": (),
}  # fmt: skip
"""The keywords of each type."""
_MODERN = ("2019-09", "2020-12")
"""The drafts in which `prefixItems` replaced lists of `items`, and with `unevaluatedProperties`."""
COMBINED = ("allOf", "anyOf", "oneOf")


class SchemaNode(Struct, frozen=True, eq=False, kw_only=True):
    """A schema without its references. Two of them are only equal if they are the same."""

    kind: str
    """any, never, reference, enum, const, not, conditional, allOf, anyOf, oneOf, or the name of a type."""
    keywords: Mapping[str, Any] = {}
    parts: tuple[SchemaNode, ...] = ()
    """Of a combination; what `not` forbids; the items of a tuple."""
    target: str = ""
    """Of a reference."""
    properties: Mapping[str, SchemaNode] = {}
    patterns: Mapping[str, SchemaNode] = {}
    dependent: Mapping[str, SchemaNode] = {}
    """Schemas that apply if a property is there."""
    needs: Mapping[str, frozenset[str]] = {}
    """The properties that another one needs."""
    items: SchemaNode | None = None
    """Of an array, the schema of all of them."""
    closed: bool = False
    """There are no other properties, or items, than those that are declared."""
    others: SchemaNode | None = None
    """The schema of other properties, or items."""
    unevaluated: SchemaNode | None = None

    @property
    def is_any(self) -> bool:
        return self.kind == "any"

    @property
    def required(self) -> frozenset[str]:
        return frozenset(self.keywords.get("required") or ())

    @property
    def has_default(self) -> bool:
        return "default" in self.keywords

    @property
    def is_open(self) -> bool:
        """Whether there may be other properties, or items, with any value."""
        if self.closed or self.others or self.patterns:
            return False
        return self.unevaluated is None or self.unevaluated.is_any

    @property
    def other_schema(self) -> SchemaNode | None:
        """The schema of other properties, if they don't fit all values."""
        if self.others is None and not self.closed and self.unevaluated:
            return None if self.unevaluated.kind in {"never", "any"} else self.unevaluated
        return self.others


class JsonSchema:
    """A schema with what it refers to."""

    def __init__(self, files: SchemaFiles) -> None:
        self.texts = files.texts
        self.documents: dict[str, Any] = {"": _decoded(files.texts[files.path])}
        self.nodes: dict[str, SchemaNode] = {}
        self.root = self.resolved("#")

    def resolved(self, target: str) -> SchemaNode:
        """Return the schema that a reference names."""
        if target not in self.nodes:
            name, _, pointer = target.partition("#")
            self.nodes[target] = _Reading(name, modern=self.modern(name)).node(self.part_at(name, pointer))
        return self.nodes[target]

    def modern(self, name: str) -> bool:
        document = self.document(name)
        named = document.get("$schema") if isinstance(document, Mapping) else None
        return isinstance(named, str) and any(draft in named for draft in _MODERN)

    def document(self, name: str) -> Any:
        if name not in self.documents:
            root = self.documents[""]
            if isinstance(root, Mapping) and name == str(root.get("$id", "")).partition("#")[0]:
                return root
            if name not in self.texts:
                raise SchemaError("", f"'{name}' is not a schema that it may refer to")
            self.documents[name] = _decoded(self.texts[name])
        return self.documents[name]

    def part_at(self, name: str, pointer: str) -> Any:
        part = self.document(name)
        if pointer and not pointer.startswith("/"):
            return _anchored(part, pointer, f"{name}#{pointer}")
        for step in pointer.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(part, list) and key.isdecimal() and int(key) < len(part):
                part = part[int(key)]
            elif isinstance(part, Mapping) and key in part:
                part = part[key]
            else:
                raise SchemaError("", f"'{name}#{pointer}' does not exist")
        return part


def _anchored(document: Any, anchor: str, target: str) -> Any:
    pending = [document]
    while pending:
        part = pending.pop()
        if isinstance(part, Mapping):
            if anchor == part.get("$anchor") or f"#{anchor}" == part.get("$id"):
                return part
            pending += part.values()
        elif isinstance(part, list):
            pending += part
    raise SchemaError("", f"'{target}' does not exist")


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise SchemaError("", f"not JSON: {error}") from None


class _Reading(Struct, frozen=True):
    name: str
    """The document that references without a name are in."""
    modern: bool

    def node(self, schema: Any) -> SchemaNode:
        match schema:
            case bool():
                return SchemaNode(kind="any" if schema else "never")
            case {"$ref": str(target)}:
                reference = f"{self.name}{target}" if target.startswith("#") else target
                return SchemaNode(
                    kind="reference",
                    keywords=schema,
                    target=reference if "#" in reference else f"{reference}#",
                )
            case Mapping():
                parts = list(self.parts(schema))
            case _:
                raise SchemaError("", f"{json.dumps(schema)} is not a schema")
        if not parts:
            return SchemaNode(kind="any", keywords=schema)
        return parts[0] if len(parts) == 1 else SchemaNode(kind="allOf", keywords=schema, parts=tuple(parts))

    def parts(self, keywords: Mapping[str, Any]) -> Iterator[SchemaNode]:
        """Yield the nodes of a schema's keywords; a value must fit all of them."""
        for word in ("enum", "const"):
            if word in keywords:
                yield SchemaNode(kind=word, keywords=keywords)
        for word in COMBINED:
            if word in keywords:
                yield SchemaNode(kind=word, keywords=keywords, parts=self.nodes(keywords[word]))
        if "not" in keywords:
            yield SchemaNode(kind="not", keywords=keywords, parts=(self.node(keywords["not"]),))
        types = keywords.get("type", [])
        names = [types] if isinstance(types, str) else list(types)
        named = [self.typed(type_name, keywords) for type_name in names]
        if isinstance(types, str):
            yield from named
        elif named:
            yield SchemaNode(kind="anyOf", keywords=keywords, parts=tuple(named))
        handled = {_kind(name) for name in names}
        for kind, words in _WORDS.items():
            applicable = [word for word in words if not (self.modern and word == "format")]
            if kind not in handled and any(word in keywords for word in applicable):
                yield self.typed(kind, keywords)
        if "if" in keywords:
            yield SchemaNode(kind="conditional", keywords=keywords)

    def nodes(self, schemas: Iterable[Any]) -> tuple[SchemaNode, ...]:
        return tuple(self.node(schema) for schema in schemas)

    def named(self, schemas: Mapping[str, Any] | None) -> dict[str, SchemaNode]:
        return {name: self.node(schema) for name, schema in (schemas or {}).items()}

    def typed(self, name: str, keywords: Mapping[str, Any]) -> SchemaNode:
        match _kind(name):
            case "object":
                return self.object(keywords)
            case "array":
                return self.array(keywords)
            case kind if kind in _WORDS:
                return SchemaNode(kind=kind, keywords=keywords)
        raise SchemaError("", f"'{name}' is not a type of JSON Schema")

    def object(self, keywords: Mapping[str, Any]) -> SchemaNode:
        dependencies = {**keywords.get("dependencies", {}), **keywords.get("dependentRequired", {})}
        lists = {
            name: frozenset(dependency)
            for name, dependency in dependencies.items()
            if isinstance(dependency, list)
        }
        schemas = {
            name: dependency for name, dependency in dependencies.items() if not isinstance(dependency, list)
        }
        others = keywords.get("additionalProperties", True)
        return SchemaNode(
            kind="object",
            keywords=keywords,
            properties=self.named(keywords.get("properties")),
            patterns=self.named(keywords.get("patternProperties")),
            dependent=self.named({**schemas, **keywords.get("dependentSchemas", {})}),
            needs=lists,
            closed=others is False,
            others=None if isinstance(others, bool) else self.node(others),
            unevaluated=self.unevaluated(keywords, "unevaluatedProperties"),
        )

    def array(self, keywords: Mapping[str, Any]) -> SchemaNode:
        items, others = keywords.get("items"), keywords.get("additionalItems", True)
        parts: Any = items if isinstance(items, list) else ()
        if self.modern and not isinstance(items, list):
            parts = keywords.get("prefixItems", ())
            others = True if items is None else items
            # Without a tuple, all items are others; a schema of them is the schema of all.
            items = None if parts or isinstance(others, bool) else items
            others = others if parts or isinstance(others, bool) else True
        return SchemaNode(
            kind="array",
            keywords=keywords,
            parts=self.nodes(parts),
            items=None if items is None or isinstance(items, list) else self.node(items),
            closed=others is False,
            others=None if isinstance(others, bool) else self.node(others),
            unevaluated=self.unevaluated(keywords, "unevaluatedItems"),
        )

    def unevaluated(self, keywords: Mapping[str, Any], word: str) -> SchemaNode | None:
        return self.node(keywords[word]) if self.modern and word in keywords else None


def _kind(name: str) -> str:
    return "number" if name == "integer" else name
