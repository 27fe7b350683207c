"""Typed shapes of YAML: a mapping is checked against a Struct, and every mistake is told at its place.

    class Key(Shape):
        name: Annotated[str, Meta(description="the column that the key is read as")]
        type: str = "string"

    key = Reader(text).read(node, Key)     # None and diagnostics where it does not fit
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

from msgspec import NODEFAULT, Meta, Struct, UnsetType
from msgspec.structs import fields
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.errors import Diagnostic, MillstreamError, at, did_you_mean
from millstream.project.secrets import Secret
from millstream.project.yaml import place, plain, scalar, span
from millstream.text import Location, Text

S = TypeVar("S", bound="Shape")


class Raw(Struct, frozen=True):
    """A value that its reader looks at itself: a list of tests, a text with places in it."""

    node: Any


class Shape(Struct, kw_only=True):
    """A mapping of YAML; `place` is where it stands, `places` where the values of its keys stand."""

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
def keys_of(shape: type[Shape]) -> dict[str, Key]:
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
        """Read a mapping; None when it is none or a required key is missing."""
        if not isinstance(node, MappingNode):
            self.problem(node, "MS107", f"a mapping is needed here, not {_kind(node)}", f"write {_example(shape)}")
            return None
        keys = keys_of(shape)
        given: dict[str, Any] = {}
        places: dict[str, Location] = {}
        for key_node, value in node.value:
            name = str(key_node.value)
            key = keys.get(name)
            if key is None:
                known = f"known keys: {', '.join(sorted(keys))}"
                self.problem(key_node, "MS106", f"unknown key '{name}'", did_you_mean(name, keys, known))
                continue
            places[name] = self.place(value)
            before = len(self.diagnostics)
            found = self.value(value, key.type, name)
            if len(self.diagnostics) == before or found is not None:
                given[key.attribute] = found
        missing = [key.name for key in keys.values() if key.required and key.name not in places]
        for name in missing:
            self.problem(node, "MS108", f"'{name}' is missing", f"add `{name}: …`")
        if missing or any(key.required and key.attribute not in given for key in keys.values()):
            return None
        return shape(**given, place=self.place(node), places=places)

    def value(self, node: Node, wanted: Any, name: str = "") -> Any:
        """Read a value of a type; None and a diagnostic where it does not fit."""
        wanted = _bare(wanted)
        if wanted is Raw:
            return Raw(node)
        if wanted is Any:
            return self._rendered(node, plain(node))
        origin, arguments = get_origin(wanted), get_args(wanted)
        if origin in {Union, UnionType}:
            return self._union(node, [_bare(a) for a in arguments], name)
        if origin is Literal:
            return self._literal(node, arguments, name)
        if origin in {list, tuple}:
            return self._list(node, arguments[0], name, origin)
        if origin is dict or wanted is dict:
            return self._dict(node, arguments[1] if arguments else Any, name)
        if isinstance(wanted, type) and issubclass(wanted, Shape):
            return self.read(node, wanted)
        return self._scalar(node, wanted, name)

    def _union(self, node: Node, choices: list[Any], name: str) -> Any:
        """Choose by the kind of node, so that a mistake is told for the choice that was meant."""
        if isinstance(node, ScalarNode) and node.tag.endswith(":null") and NoneType in choices:
            return None
        choices = [choice for choice in choices if choice not in {NoneType, UnsetType}]
        fitting = [choice for choice in choices if _fits(node, choice)]
        if fitting:
            return self.value(node, fitting[0], name)
        what = " or ".join(dict.fromkeys(_name(choice) for choice in choices))
        self.problem(node, "MS107", f"'{name}' is {what}, not {_kind(node)}", f"write {what}")
        return None

    def _literal(self, node: Node, allowed: tuple[Any, ...], name: str) -> Any:
        found = self._rendered(node, scalar(node)) if isinstance(node, ScalarNode) else None
        if found in allowed:
            return found
        choices = ", ".join(str(choice) for choice in allowed)
        hint = did_you_mean(str(found), map(str, allowed), f"one of {choices}")
        self.problem(node, "MS107", f"'{name}' is one of {choices}, not {_shown(node)}", hint)
        return None

    def _list(self, node: Node, item: Any, name: str, origin: Any) -> Any:
        if not isinstance(node, SequenceNode):
            self.problem(node, "MS107", f"'{name}' is a list, not {_kind(node)}", f"write {name}: [ … ]")
            return None
        before = len(self.diagnostics)
        found = [self.value(each, item, name) for each in node.value]
        if len(self.diagnostics) > before:
            found = [each for each in found if each is not None]
        return origin(found)

    def _dict(self, node: Node, value: Any, name: str) -> Any:
        if not isinstance(node, MappingNode):
            self.problem(node, "MS107", f"'{name}' is a mapping, not {_kind(node)}", f"write {name}: {{ key: value }}")
            return None
        return {str(key.value): self.value(each, value, str(key.value)) for key, each in node.value}

    def _scalar(self, node: Node, wanted: Any, name: str) -> Any:
        if isinstance(node, ScalarNode):
            found = self._rendered(node, scalar(node))
            if type(found) is wanted or isinstance(found, Secret):
                return found
            if wanted is float and type(found) is int:
                return float(found)
            if wanted is str and type(found) in {int, float}:
                return str(node.value)
            if isinstance(found, wanted):
                return found
        self.problem(node, "MS107", f"'{name}' is {_name(wanted)}, not {_shown(node)}", f"write {_name(wanted)}")
        return None

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
    if get_origin(wanted) is Annotated:
        return next((m.description or "" for m in get_args(wanted)[1:] if isinstance(m, Meta)), "")
    return ""


def _bare(wanted: Any) -> Any:
    while get_origin(wanted) is Annotated:
        wanted = get_args(wanted)[0]
    return wanted


def _fits(node: Node, choice: Any) -> bool:
    choice = _bare(choice)
    origin = get_origin(choice)
    if choice in {Any, Raw}:
        return True
    if isinstance(node, MappingNode):
        return origin is dict or choice is dict or (isinstance(choice, type) and issubclass(choice, Shape))
    if isinstance(node, SequenceNode):
        return origin in {list, tuple}
    if isinstance(node, ScalarNode):
        if origin is Literal:
            return True
        found = scalar(node)
        return choice in {str, int, float, bool} and (
            type(found) is choice or (choice is str and type(found) in {int, float})
        )
    return False


def _kind(node: Node) -> str:
    match node:
        case MappingNode():
            return "a mapping"
        case SequenceNode():
            return "a list"
        case _:
            return _shown(node)


def _shown(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        return _kind(node)
    text = str(node.value)
    if node.tag.endswith(":null"):
        return "nothing"
    return f"'{text if len(text) <= 40 else text[:39] + '…'}'"


def _name(wanted: Any) -> str:
    wanted = _bare(wanted)
    origin = get_origin(wanted)
    if origin in {list, tuple}:
        return "a list"
    if origin is dict or (isinstance(wanted, type) and issubclass(wanted, dict | Shape)):
        return "a mapping"
    if origin is Literal:
        return "one of " + ", ".join(map(str, get_args(wanted)))
    names = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}
    return names.get(wanted, cast(str, getattr(wanted, "__name__", str(wanted))))


def _example(shape: type[Shape]) -> str:
    return ", ".join(f"{key.name}: …" for key in list(keys_of(shape).values())[:2])
