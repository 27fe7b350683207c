"""Typed shapes of YAML: a mapping is checked against a Struct, and every mistake is told at its place.

For example:

    class Key(Shape):
        name: Annotated[str, Meta(description="the column that the key is read as")]
        type: str = "string"

    reader = Reader(text)
    key = reader.read(node, Key)     # None and `reader.diagnostics` where it does not fit
    key.places["type"]               # where its value stands
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Meta, Struct, UnsetType
from msgspec.structs import fields
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.errors import Diagnostic, MillstreamError, at, did_you_mean, nearest
from millstream.project.secrets import Secret
from millstream.project.wording import bare, kind, metas, remedy, shown, type_name
from millstream.project.yaml import entries, place, plain, scalar, span
from millstream.text import Location, Text

S = TypeVar("S", bound=Struct)


class Raw(Struct, frozen=True):
    """A value that its reader looks at itself: a list of tests, a text with places in it."""

    node: Any


class Shape(Struct, kw_only=True):
    """A mapping of YAML; `place` is where it stands, `places` where the values of its keys stand."""

    words: ClassVar[dict[str, str]] = {}
    """Keys that users bring from elsewhere, with what to write instead."""

    place: Location = Location("", 1, 1)
    places: dict[str, Location] = {}


_OWN = frozenset(("place", "places"))


class Key(Struct, frozen=True):
    """One key that a shape may have."""

    name: str
    attribute: str
    type: Any
    required: bool


@cache
def keys_of(shape: type[Struct]) -> dict[str, Key]:
    return {
        field.encode_name: Key(
            field.encode_name,
            field.name,
            field.type,
            field.default is NODEFAULT and field.default_factory is NODEFAULT,
        )
        for field in fields(shape)
        if field.name not in _OWN
    }


class Plan(Struct, frozen=True):
    """What a type says, taken apart once."""

    annotated: Any
    wanted: Any
    origin: Any
    arguments: tuple[Any, ...]
    verbatim: bool
    demands: bool


_plans: dict[int, Plan] = {}
"""By identity, which a plan keeps alive: annotations can't be hashed."""


def plan_of(annotated: Any) -> Plan:
    if plan := _plans.get(id(annotated)):
        return plan
    wanted, known = bare(annotated), metas(annotated)
    verbatim = any(bool(meta.extra and meta.extra.get("verbatim")) for meta in known)
    demands = any(map(_demands, known))
    plan = Plan(annotated, wanted, get_origin(wanted), get_args(wanted), verbatim, demands)
    _plans[id(annotated)] = plan
    return plan


class Reader:
    """Reads values from one file and collects what does not fit."""

    def __init__(self, text: Text, render: Callable[[str], Any] | None = None) -> None:
        self.text = text
        self.render = render
        self.diagnostics: list[Diagnostic] = []

    def problem(self, node: Node, code: str, message: str, remedy: str = "") -> None:
        self.diagnostics.append(at(self.text, *span(self.text, node), code, message, remedy))

    def place(self, node: Node) -> Location:
        return place(self.text, node)

    def read(self, node: Node, shape: type[S]) -> S | None:
        """Read a mapping; None when it is none or a required key is missing or wrong."""
        keys = keys_of(shape)
        if not isinstance(node, MappingNode):
            example = ", ".join(f"{name}: …" for name in list(keys)[:2])
            self.problem(node, "MS107", f"a mapping is needed here, not {kind(node)}", f"write {example}")
            return None
        given: dict[str, Any] = {}
        places: dict[str, Location] = {}
        for name, (key_node, value) in entries(node).items():
            key = keys.get(name)
            if key is None:
                self._unknown(key_node, name, keys, shape)
                # What a misspelt key was meant to be is not missing beside it.
                if meant := nearest(name, keys):
                    places.setdefault(meant, self.place(value))
                continue
            places[name] = self.place(value)
            before = len(self.diagnostics)
            found = self.value(value, key.type, name)
            if found is not None or (len(self.diagnostics) == before and not _is_null(value)):
                given[key.attribute] = found
        missing = [key for key in keys.values() if key.required and key.name not in places]
        for key in missing:
            self.problem(node, "MS108", f"'{key.name}' is missing", f"add `{key.name}: …`")
        if any(key.required and key.attribute not in given for key in keys.values()):
            return None
        if issubclass(shape, Shape):
            given |= {"place": self.place(node), "places": places}
        return shape(**given)

    def _unknown(self, node: Node, name: str, keys: dict[str, Key], shape: type[Struct]) -> None:
        words: dict[str, str] = getattr(shape, "words", {})
        hint = words.get(name) or did_you_mean(name, keys, f"known keys: {', '.join(sorted(keys))}")
        self.problem(node, "MS106", f"unknown key '{name}'", hint)

    def value(self, node: Node, wanted: Any, name: str = "") -> Any:
        """Read a value of a type; None and a diagnostic where it does not fit."""
        plan = plan_of(wanted)
        if plan.verbatim and self.render:
            render, self.render = self.render, None
            try:
                return self.value(node, wanted, name)
            finally:
                self.render = render
        before = len(self.diagnostics)
        found = self._typed(node, plan, name)
        if plan.demands and found is not None and len(self.diagnostics) == before:
            return self._constrained(node, wanted, found, name)
        return found

    def _constrained(self, node: Node, wanted: Any, found: Any, name: str) -> Any:
        """Check what an annotation demands beside the type: a pattern, a least value."""
        if isinstance(found, Secret):
            return found
        try:
            return msgspec.convert(found, wanted)
        except msgspec.ValidationError:
            what = type_name(wanted)
            self.problem(node, "MS107", f"'{name}' is {what}, not {shown(node)}", remedy(wanted, name, node))

    def _typed(self, node: Node, plan: Plan, name: str) -> Any:
        wanted, origin, arguments = plan.wanted, plan.origin, plan.arguments
        if wanted is Raw:
            return Raw(node)
        if wanted is Any:
            return self._rendered(node, plain(node))
        if origin in {Union, UnionType}:
            return self._union(node, arguments, name)
        if origin is Literal:
            return self._literal(node, arguments, name)
        if origin in {list, tuple}:
            return self._list(node, arguments[0], name, origin)
        if origin is dict or wanted is dict:
            return self._dict(node, arguments[1] if arguments else Any, name)
        if isinstance(wanted, type) and issubclass(wanted, Struct):
            return self.read(node, wanted)
        return self._scalar(node, plan.annotated, wanted, name)

    def _union(self, node: Node, choices: tuple[Any, ...], name: str) -> Any:
        """Choose by the kind of node, so that a mistake is told for the choice that was meant."""
        if _is_null(node) and NoneType in choices:
            return None
        choices = tuple(choice for choice in choices if choice not in {NoneType, UnsetType})
        if len(choices) == 1:
            return self.value(node, choices[0], name)
        if self._is_template(node):
            return self._rendered_union(node, choices, name)
        for choice in choices:
            if _fits(node, choice):
                return self.value(node, choice, name)
        what = " or ".join(dict.fromkeys(type_name(choice) for choice in choices))
        self.problem(node, "MS107", f"'{name}' is {what}, not {kind(node)}", f"write {what}")
        return None

    def _rendered_union(self, node: Node, choices: tuple[Any, ...], name: str) -> Any:
        found = self._rendered(node, plain(node))
        if found is None or isinstance(found, Secret):
            return found
        for choice in choices:
            if bare(choice) is not Raw:
                try:
                    return msgspec.convert(found, choice)
                except msgspec.ValidationError:
                    continue
        what = " or ".join(dict.fromkeys(type_name(choice) for choice in choices))
        self.problem(node, "MS107", f"'{name}' is {what}, not {found!r}", f"mend what {shown(node)} gives")
        return None

    def _literal(self, node: Node, allowed: tuple[Any, ...], name: str) -> Any:
        before = len(self.diagnostics)
        found = self._rendered(node, scalar(node)) if isinstance(node, ScalarNode) else None
        if isinstance(found, Secret) and found.reveal() in allowed:
            return found.reveal()  # one of a few words that everybody knows
        if found in allowed or len(self.diagnostics) > before:
            return found
        if isinstance(node, ScalarNode) and node.value in allowed:
            # YAML 1.1 takes on, off, yes and no for booleans.
            return node.value
        choices = ", ".join(str(choice) for choice in allowed)
        hint = did_you_mean(str(found), map(str, allowed), f"use one of {choices}")
        self.problem(node, "MS107", f"'{name}' is one of {choices}, not {kind(node)}", hint)
        return None

    def _list(self, node: Node, item: Any, name: str, origin: Any) -> Any:
        if _is_null(node):
            return origin()
        if self._is_template(node):
            found = self._rendered(node, plain(node))
            if isinstance(found, list | tuple):
                return origin(found)
        if not isinstance(node, SequenceNode):
            self.problem(node, "MS107", f"'{name}' is a list, not {kind(node)}", f"write {name}: [ … ]")
            return None
        before = len(self.diagnostics)
        found = [self.value(each, item, name) for each in node.value]
        if len(self.diagnostics) > before:
            found = [each for each in found if each is not None]
        return origin(found)

    def _dict(self, node: Node, value: Any, name: str) -> Any:
        if _is_null(node):
            return {}
        if not isinstance(node, MappingNode):
            self.problem(
                node, "MS107", f"'{name}' is a mapping, not {kind(node)}", f"write {name}: {{ key: value }}"
            )
            return None
        return {key: self.value(each, value, key) for key, (_, each) in entries(node).items()}

    def _scalar(self, node: Node, annotated: Any, wanted: Any, name: str) -> Any:
        if isinstance(node, ScalarNode):
            before = len(self.diagnostics)
            found = self._rendered(node, scalar(node))
            if type(found) is wanted or isinstance(found, Secret) or len(self.diagnostics) > before:
                return found
            if wanted is float and type(found) is int:
                return float(found)
            if wanted is str and type(found) in {int, float}:
                return str(found) if self._is_template(node) else str(node.value)
        self.problem(
            node,
            "MS107",
            f"'{name}' is {type_name(annotated)}, not {kind(node)}",
            remedy(annotated, name, node),
        )
        return None

    def _is_template(self, node: Node) -> bool:
        return (
            self.render is not None
            and isinstance(node, ScalarNode)
            and ("{{" in node.value or "{%" in node.value)
        )

    def _rendered(self, node: Node, found: Any) -> Any:
        if self.render is None:
            return found
        if isinstance(found, str):
            if "{{" not in found and "{%" not in found:
                return found
            try:
                return self.render(found)
            except MillstreamError as error:
                for diagnostic in error.diagnostics:
                    self.problem(node, diagnostic.code, diagnostic.message, diagnostic.help)
                return None
        if isinstance(found, dict):
            return {key: self._rendered(node, each) for key, each in found.items()}
        if isinstance(found, list):
            return [self._rendered(node, each) for each in found]
        return found


def described(wanted: Any) -> str:
    """Return what a field's annotation says of it."""
    return next((meta.description for meta in metas(wanted) if meta.description), "")


def _demands(meta: Meta) -> bool:
    limits = (meta.pattern, meta.ge, meta.gt, meta.le, meta.lt, meta.min_length)
    return any(limit is not None for limit in limits)


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag.endswith(":null")


def _fits(node: Node, choice: Any) -> bool:
    choice = bare(choice)
    origin = get_origin(choice)
    if choice in {Any, Raw}:
        return True
    if isinstance(node, MappingNode):
        return origin is dict or choice is dict or (isinstance(choice, type) and issubclass(choice, Struct))
    if isinstance(node, SequenceNode):
        return origin in {list, tuple}
    if not isinstance(node, ScalarNode):
        return False
    if origin is Literal:
        return True
    found = scalar(node)
    numbers = {int, float}
    return type(found) is choice or (choice in {str, float} and type(found) in numbers)
