"""Typed shapes of YAML: a mapping is checked against a Struct, and every error has its location.

For example:

    class Key(Shape):
        name: Annotated[str, Meta(description="the column that the key is read as")]
        type: str = "string"

    reader = Reader(text)
    key = reader.read(node, Key)     # None and `reader.diagnostics` where it does not fit
    key.locations["type"]            # of its value
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.core.errors import (
    Diagnostic,
    MillstreamError,
    diagnostic_at,
    did_you_mean,
    listed_keys,
    nearest_name,
)
from millstream.core.text import FileText, Location
from millstream.project.secrets import Placeholder, Secret
from millstream.project.wording import node_kind, show_node, type_metas, type_name, type_remedy, unwrap_type
from millstream.project.yaml import (
    MOST_KEYS,
    location_of,
    mapping_entries,
    node_span,
    node_value,
    scalar_value,
)

S = TypeVar("S", bound=Struct)


class RawValue(Struct, frozen=True):
    """A value that its own reader interprets: a list of tests, or a text whose offsets matter."""

    node: Any


class Shape(Struct, kw_only=True):
    """A mapping of YAML; `location` is its own, `locations` are those of the values of its keys."""

    words: ClassVar[dict[str, str]] = {}
    """Keys of other tools, with what to write instead."""

    location: Location = Location("", 1, 1)
    locations: dict[str, Location] = {}


_LOCATION_FIELDS = frozenset(("location", "locations"))


class ShapeKey(Struct, frozen=True):
    """One key that a shape may have."""

    name: str
    attribute: str
    type: Any
    required: bool


@cache
def keys_of(shape: type[Struct]) -> dict[str, ShapeKey]:
    return {
        field.encode_name: ShapeKey(
            field.encode_name,
            field.name,
            field.type,
            field.default is NODEFAULT and field.default_factory is NODEFAULT,
        )
        for field in fields(shape)
        if field.name not in _LOCATION_FIELDS
    }


class TypeParts(Struct, frozen=True):
    """The parts of an annotated type, determined once."""

    annotated: Any
    type: Any
    origin: Any
    arguments: tuple[Any, ...]
    verbatim: bool
    constrained: bool


_type_parts: dict[int, TypeParts] = {}
"""By the identity of annotations, which can't be hashed; `TypeParts.annotated` keeps them alive."""


def type_parts(annotated: Any) -> TypeParts:
    if parts := _type_parts.get(id(annotated)):
        return parts
    type_, annotations = unwrap_type(annotated), type_metas(annotated)
    verbatim = any(bool(meta.extra and meta.extra.get("verbatim")) for meta in annotations)
    constrained = any(map(_is_constraint, annotations))
    parts = TypeParts(annotated, type_, get_origin(type_), get_args(type_), verbatim, constrained)
    _type_parts[id(annotated)] = parts
    return parts


class ShapeReader(Struct):
    """Reads values from one file and collects diagnostics."""

    text: FileText
    render: Callable[[str], Any] | None = None
    diagnostics: list[Diagnostic] = []

    def report(self, node: Node, code: str, message: str, remedy: str = "") -> None:
        self.diagnostics.append(diagnostic_at(self.text, *node_span(self.text, node), code, message, remedy))

    def locate(self, node: Node) -> Location:
        return location_of(self.text, node)

    def read(self, node: Node, shape: type[S]) -> S | None:
        """Read a mapping; None if the node is not a mapping, or a required key is missing or wrong."""
        keys = keys_of(shape)
        if not isinstance(node, MappingNode):
            example = ", ".join(f"{name}: …" for name in list(keys)[:2])
            self.report(node, "MS107", f"expected a mapping, not {node_kind(node)}", f"write {example}")
            return None
        attributes: dict[str, Any] = {}
        locations: dict[str, Location] = {}
        for name, (key_node, value) in mapping_entries(node).items():
            key = keys.get(name)
            if key is None:
                self._unknown(key_node, name, keys, shape)
                # Don't report the key that a misspelled one was meant to be as missing, too.
                if len(self.diagnostics) < MOST_KEYS and (meant := nearest_name(name, keys)):
                    locations.setdefault(meant, self.locate(value))
                continue
            locations[name] = self.locate(value)
            before = len(self.diagnostics)
            converted = self.value(value, key.type, name)
            if converted is not None or (len(self.diagnostics) == before and not _is_null(value)):
                attributes[key.attribute] = converted
        missing = [key for key in keys.values() if key.required and key.name not in locations]
        for key in missing:
            self.report(node, "MS108", f"'{key.name}' is missing", f"add `{key.name}: …`")
        if any(key.required and key.attribute not in attributes for key in keys.values()):
            return None
        if issubclass(shape, Shape):
            attributes |= {"location": self.locate(node), "locations": locations}
        return shape(**attributes)

    def _unknown(self, node: Node, name: str, keys: dict[str, ShapeKey], shape: type[Struct]) -> None:
        if len(self.diagnostics) >= MOST_KEYS:
            return
        words: dict[str, str] = getattr(shape, "words", {})
        hint = words.get(name) or did_you_mean(name, keys, f"known keys: {listed_keys(sorted(keys))}")
        self.report(node, "MS106", f"unknown key '{name}'", hint)

    def value(self, node: Node, type_: Any, name: str = "") -> Any:
        """Read a value of a type; None and a diagnostic if it does not fit."""
        parts = type_parts(type_)
        if parts.verbatim and self.render:
            render, self.render = self.render, None
            try:
                return self.value(node, type_, name)
            finally:
                self.render = render
        before = len(self.diagnostics)
        converted = self._typed(node, parts, name)
        if parts.constrained and converted is not None and len(self.diagnostics) == before:
            return self._constrained(node, type_, converted, name)
        return converted

    def _constrained(self, node: Node, type_: Any, value: Any, name: str) -> Any:
        """Check the constraints of an annotation, such as a pattern or a minimum."""
        if isinstance(value, Secret):
            return value
        try:
            return msgspec.convert(value, type_)
        except msgspec.ValidationError:
            self._wrong(node, type_, name, show_node(node))

    def _typed(self, node: Node, parts: TypeParts, name: str) -> Any:
        type_, origin, arguments = parts.type, parts.origin, parts.arguments
        if type_ is RawValue:
            return RawValue(node)
        if type_ is Any:
            return self.rendered(node, node_value(node))
        if origin in {Union, UnionType}:
            return self._union(node, arguments, name)
        if origin is Literal:
            return self._literal(node, arguments, name)
        if origin is list:
            return self._list(node, parts, name)
        if origin is dict or type_ is dict:
            return self._dict(node, parts, name)
        if isinstance(type_, type) and issubclass(type_, Struct):
            return self.read(node, type_)
        return self._scalar(node, parts, name)

    def _union(self, node: Node, choices: tuple[Any, ...], name: str) -> Any:
        """Choose by the kind of node, so that an error is about the intended choice."""
        if _is_null(node) and NoneType in choices:
            return None
        choices = tuple(member for member in choices if member is not NoneType)
        if len(choices) == 1:
            return self.value(node, choices[0], name)
        if self._is_template(node):
            return self._rendered_union(node, choices, name)
        for member in choices:
            if _fits(node, member):
                return self.value(node, member, name)
        what = " or ".join(dict.fromkeys(type_name(member) for member in choices))
        self.report(node, "MS107", f"'{name}' must be {what}, not {node_kind(node)}", f"write {what}")
        return None

    def _rendered_union(self, node: Node, choices: tuple[Any, ...], name: str) -> Any:
        rendered = self.rendered(node, node_value(node))
        if rendered is None or isinstance(rendered, Secret):
            return rendered
        for member in choices:
            if unwrap_type(member) is not RawValue:
                try:
                    return msgspec.convert(rendered, member)
                except msgspec.ValidationError:
                    continue
        what = " or ".join(dict.fromkeys(type_name(member) for member in choices))
        message = f"'{name}' must be {what}, not {rendered!r}"
        self.report(node, "MS107", message, f"fix the value of {show_node(node)}")
        return None

    def _literal(self, node: Node, allowed: tuple[Any, ...], name: str) -> Any:
        before = len(self.diagnostics)
        rendered = self.rendered(node, scalar_value(node)) if isinstance(node, ScalarNode) else None
        if isinstance(rendered, Secret) and rendered.reveal() in allowed:
            return rendered.reveal()  # a fixed choice is not secret
        if isinstance(rendered, Placeholder) or rendered in allowed or len(self.diagnostics) > before:
            return rendered
        if isinstance(node, ScalarNode) and node.value in allowed:
            # YAML 1.1 reads on, off, yes and no as booleans.
            return node.value
        choices = ", ".join(str(option) for option in allowed)
        hint = did_you_mean(str(rendered), map(str, allowed), f"use one of {choices}")
        self.report(node, "MS107", f"'{name}' must be one of {choices}, not {node_kind(node)}", hint)
        return None

    def _wrong(self, node: Node, type_: Any, name: str, actual: str) -> None:
        message = f"'{name}' must be {type_name(type_)}, not {actual}"
        self.report(node, "MS107", message, type_remedy(type_, name, node))

    def _list(self, node: Node, parts: TypeParts, name: str) -> list[Any] | None:
        if _is_null(node):
            return []
        if self._is_template(node):
            rendered = self.rendered(node, node_value(node))
            if isinstance(rendered, list | tuple):
                return list(rendered)
        if not isinstance(node, SequenceNode):
            self._wrong(node, parts.annotated, name, node_kind(node))
            return None
        before = len(self.diagnostics)
        items = [self.value(child, parts.arguments[0], name) for child in node.value]
        return [item for item in items if item is not None or len(self.diagnostics) == before]

    def _dict(self, node: Node, parts: TypeParts, name: str) -> dict[str, Any] | None:
        if _is_null(node):
            return {}
        if not isinstance(node, MappingNode):
            self._wrong(node, parts.annotated, name, node_kind(node))
            return None
        value = parts.arguments[1] if parts.arguments else Any
        return {key: self.value(child, value, key) for key, (_, child) in mapping_entries(node).items()}

    def _scalar(self, node: Node, parts: TypeParts, name: str) -> Any:
        type_ = parts.type
        if isinstance(node, ScalarNode):
            before = len(self.diagnostics)
            rendered = self.rendered(node, scalar_value(node))
            if type(rendered) is type_ or isinstance(rendered, Secret) or len(self.diagnostics) > before:
                return rendered
            if type_ is float and type(rendered) is int:
                return float(rendered)
            if type_ is str and type(rendered) in {int, float}:
                return str(rendered) if self._is_template(node) else str(node.value)
        self._wrong(node, parts.annotated, name, node_kind(node))
        return None

    def _is_template(self, node: Node) -> bool:
        return (
            self.render is not None
            and isinstance(node, ScalarNode)
            and ("{{" in node.value or "{%" in node.value)
        )

    def rendered(self, node: Node, value: Any) -> Any:
        """Return a value with its templates rendered; None with a diagnostic if one is wrong."""
        if self.render is None:
            return value
        if isinstance(value, str):
            if "{{" not in value and "{%" not in value:
                return value
            try:
                return self.render(value)
            except MillstreamError as error:
                for diagnostic in error.diagnostics:
                    self.report(node, diagnostic.code, diagnostic.message, diagnostic.help)
                return None
        if isinstance(value, dict):
            return {key: self.rendered(node, inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.rendered(node, inner) for inner in value]
        return value


def field_description(type_: Any) -> str:
    """Return the description in a field's annotation."""
    return next((meta.description for meta in type_metas(type_) if meta.description), "")


def _is_constraint(meta: Meta) -> bool:
    limits = (meta.pattern, meta.ge, meta.gt, meta.le, meta.lt, meta.min_length)
    return any(limit is not None for limit in limits)


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag.endswith(":null")


def _fits(node: Node, type_: Any) -> bool:
    type_ = unwrap_type(type_)
    origin = get_origin(type_)
    if type_ in {Any, RawValue}:
        return True
    if isinstance(node, MappingNode):
        return origin is dict or type_ is dict or (isinstance(type_, type) and issubclass(type_, Struct))
    if isinstance(node, SequenceNode):
        return origin is list
    if not isinstance(node, ScalarNode):
        return False
    if origin is Literal:
        return True
    value = scalar_value(node)
    numbers = {int, float}
    return type(value) is type_ or (type_ in {str, float} and type(value) in numbers)
