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


class Node(Struct, frozen=True, eq=False, kw_only=True):
    """A schema without its references. Two of them are only equal if they are the same."""

    kind: str
    """any, never, reference, enum, const, not, conditional, allOf, anyOf, oneOf, or the name of a type."""
    given: Mapping[str, Any] = {}
    parts: tuple[Node, ...] = ()
    """Of a combination; what `not` forbids; the items of a tuple."""
    target: str = ""
    """Of a reference."""
    properties: Mapping[str, Node] = {}
    patterns: Mapping[str, Node] = {}
    dependent: Mapping[str, Node] = {}
    """Schemas that apply if a property is there."""
    needs: Mapping[str, frozenset[str]] = {}
    """The properties that another one needs."""
    items: Node | None = None
    """Of an array, the schema of all of them."""
    closed: bool = False
    """There are no other properties, or items, than those that are declared."""
    others: Node | None = None
    """The schema of other properties, or items."""
    unevaluated: Node | None = None

    @property
    def is_any(self) -> bool:
        return self.kind == "any"

    @property
    def required(self) -> frozenset[str]:
        return frozenset(self.given.get("required") or ())

    @property
    def has_default(self) -> bool:
        return "default" in self.given

    @property
    def is_open(self) -> bool:
        """Whether there may be other properties, or items, with any value."""
        if self.closed or self.others or self.patterns:
            return False
        return self.unevaluated is None or self.unevaluated.is_any

    @property
    def other_schema(self) -> Node | None:
        """The schema of other properties, if they don't fit all values."""
        if self.others is None and not self.closed and self.unevaluated:
            return None if self.unevaluated.kind in {"never", "any"} else self.unevaluated
        return self.others


class JsonSchema:
    """A schema with what it refers to."""

    def __init__(self, files: SchemaFiles) -> None:
        self.texts = files.texts
        self.documents: dict[str, Any] = {"": _decoded(files.texts[files.path])}
        self.nodes: dict[str, Node] = {}
        self.root = self.resolved("#")

    def resolved(self, target: str) -> Node:
        """Return the schema that a reference names."""
        if target not in self.nodes:
            name, _, pointer = target.partition("#")
            self.nodes[target] = _Reading(name, modern=self.modern(name)).node(self.found(name, pointer))
        return self.nodes[target]

    def modern(self, name: str) -> bool:
        document = self.document(name)
        named = document.get("$schema") if isinstance(document, Mapping) else None
        return isinstance(named, str) and any(each in named for each in _MODERN)

    def document(self, name: str) -> Any:
        if name not in self.documents:
            own = self.documents[""]
            if isinstance(own, Mapping) and name == str(own.get("$id", "")).partition("#")[0]:
                return own
            if name not in self.texts:
                raise SchemaError("", f"'{name}' is not a schema that it may refer to")
            self.documents[name] = _decoded(self.texts[name])
        return self.documents[name]

    def found(self, name: str, pointer: str) -> Any:
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

    def node(self, given: Any) -> Node:
        match given:
            case bool():
                return Node(kind="any" if given else "never")
            case {"$ref": str(target)}:
                own = f"{self.name}{target}" if target.startswith("#") else target
                return Node(kind="reference", given=given, target=own if "#" in own else f"{own}#")
            case Mapping():
                parts = list(self.parts(given))
            case _:
                raise SchemaError("", f"{json.dumps(given)} is not a schema")
        if not parts:
            return Node(kind="any", given=given)
        return parts[0] if len(parts) == 1 else Node(kind="allOf", given=given, parts=tuple(parts))

    def parts(self, given: Mapping[str, Any]) -> Iterator[Node]:
        """Yield the nodes of a schema's keywords; a value must fit all of them."""
        for word in ("enum", "const"):
            if word in given:
                yield Node(kind=word, given=given)
        for word in COMBINED:
            if word in given:
                yield Node(kind=word, given=given, parts=self.nodes(given[word]))
        if "not" in given:
            yield Node(kind="not", given=given, parts=(self.node(given["not"]),))
        types = given.get("type", [])
        names = [types] if isinstance(types, str) else list(types)
        named = [self.typed(each, given) for each in names]
        if isinstance(types, str):
            yield from named
        elif named:
            yield Node(kind="anyOf", given=given, parts=tuple(named))
        handled = {_kind(each) for each in names}
        for kind, words in _WORDS.items():
            known = [each for each in words if not (self.modern and each == "format")]
            if kind not in handled and any(word in given for word in known):
                yield self.typed(kind, given)
        if "if" in given:
            yield Node(kind="conditional", given=given)

    def nodes(self, given: Iterable[Any]) -> tuple[Node, ...]:
        return tuple(self.node(each) for each in given)

    def named(self, given: Mapping[str, Any] | None) -> dict[str, Node]:
        return {name: self.node(each) for name, each in (given or {}).items()}

    def typed(self, name: str, given: Mapping[str, Any]) -> Node:
        match _kind(name):
            case "object":
                return self.object(given)
            case "array":
                return self.array(given)
            case kind if kind in _WORDS:
                return Node(kind=kind, given=given)
        raise SchemaError("", f"'{name}' is not a type of JSON Schema")

    def object(self, given: Mapping[str, Any]) -> Node:
        dependencies = {**given.get("dependencies", {}), **given.get("dependentRequired", {})}
        lists = {name: frozenset(each) for name, each in dependencies.items() if isinstance(each, list)}
        schemas = {name: each for name, each in dependencies.items() if not isinstance(each, list)}
        others = given.get("additionalProperties", True)
        return Node(
            kind="object",
            given=given,
            properties=self.named(given.get("properties")),
            patterns=self.named(given.get("patternProperties")),
            dependent=self.named({**schemas, **given.get("dependentSchemas", {})}),
            needs=lists,
            closed=others is False,
            others=None if isinstance(others, bool) else self.node(others),
            unevaluated=self.unevaluated(given, "unevaluatedProperties"),
        )

    def array(self, given: Mapping[str, Any]) -> Node:
        items, others = given.get("items"), given.get("additionalItems", True)
        parts: Any = items if isinstance(items, list) else ()
        if self.modern and not isinstance(items, list):
            parts = given.get("prefixItems", ())
            others = True if items is None else items
            # Without a tuple, all items are others; a schema of them is the schema of all.
            items = None if parts or isinstance(others, bool) else items
            others = others if parts or isinstance(others, bool) else True
        return Node(
            kind="array",
            given=given,
            parts=self.nodes(parts),
            items=None if items is None or isinstance(items, list) else self.node(items),
            closed=others is False,
            others=None if isinstance(others, bool) else self.node(others),
            unevaluated=self.unevaluated(given, "unevaluatedItems"),
        )

    def unevaluated(self, given: Mapping[str, Any], word: str) -> Node | None:
        return self.node(given[word]) if self.modern and word in given else None


def _kind(name: str) -> str:
    return "number" if name == "integer" else name
