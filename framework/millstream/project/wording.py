"""Names of types and values in messages."""

from __future__ import annotations

from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

from msgspec import Meta, Struct
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.core.errors import nearest_name

_TYPES = {str: "a string", int: "a whole number", float: "a number", bool: "true or false"}


def unwrap_type(type_: Any) -> Any:
    """Return a type without its annotations."""
    while get_origin(type_) is Annotated:
        type_ = get_args(type_)[0]
    return type_


def type_metas(type_: Any) -> list[Meta]:
    return (
        [meta for meta in get_args(type_)[1:] if isinstance(meta, Meta)]
        if get_origin(type_) is Annotated
        else []
    )


def type_name(type_: Any) -> str:
    """Name a type as users do: `a string`, `a list`, `a duration`."""
    for meta in type_metas(type_):
        if meta.title:
            return meta.title
    type_ = unwrap_type(type_)
    origin = get_origin(type_)
    if origin in {list, tuple}:
        return "a list"
    if origin is dict or (isinstance(type_, type) and issubclass(type_, dict | Struct)):
        return "a mapping"
    if origin is Literal:
        return "one of " + ", ".join(map(str, get_args(type_)))
    if origin is not None:
        return " or ".join(dict.fromkeys(type_name(a) for a in get_args(type_) if a is not NoneType))
    return _TYPES.get(type_, getattr(type_, "__name__", str(type_)))


def type_remedy(type_: Any, name: str, node: Node) -> str:
    """Return what to write instead."""
    for meta in type_metas(type_):
        if (suggestions := (meta.extra or {}).get("known")) and (
            close := nearest_name(str(getattr(node, "value", "")), suggestions)
        ):
            return f"did you mean '{close}'?"
        if meta.examples:
            return f"write it as in {name}: {meta.examples[0]}"
    type_ = unwrap_type(type_)
    if type_ is str and isinstance(node, ScalarNode) and not node.tag.endswith(":null"):
        return f"put it in quotes: '{node.value}'"
    if get_origin(type_) is list:
        return f"write {name}: [ … ]"
    if get_origin(type_) is dict or type_ is dict:
        return f"write {name}: {{ key: value }}"
    if type_ is bool:
        return "write true or false"
    return f"write {type_name(type_)}"


def node_kind(node: Node) -> str:
    match node:
        case MappingNode():
            return "a mapping"
        case SequenceNode():
            return "a list"
        case _:
            return show_node(node)


def show_node(node: Node) -> str:
    if not isinstance(node, ScalarNode):
        return node_kind(node)
    text = str(node.value)
    if node.tag.endswith(":null"):
        return "nothing"
    return f"'{text if len(text) <= 40 else text[:39] + '…'}'"
