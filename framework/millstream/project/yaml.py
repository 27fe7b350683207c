"""YAML with places: every key and value knows where it stands, and nothing is built but plain data."""

from __future__ import annotations

from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.errors import Diagnostic, Note, at
from millstream.text import Location, Text

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_construct = yaml.constructor.SafeConstructor()
_TAG = "tag:yaml.org,2002:"
_PLAIN = frozenset(_TAG + name for name in ("null", "bool", "int", "float", "str", "timestamp", "map", "seq", "merge"))


def parse_yaml(text: Text) -> tuple[Node | None, list[Diagnostic]]:
    """Read one YAML document; an empty file is no document and no mistake."""
    try:
        node = yaml.compose(text.content, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        return None, [_syntax(text, error)]
    except (yaml.YAMLError, ValueError) as error:
        return None, [at(text, 0, 1, "MS105", str(error).splitlines()[0], "save the file as plain UTF-8 text")]
    if node is None:
        return None, []
    diagnostics: list[Diagnostic] = []
    _check(text, node, diagnostics, frozenset())
    return node, diagnostics


def _syntax(text: Text, error: yaml.MarkedYAMLError) -> Diagnostic:
    mark = error.problem_mark or error.context_mark
    start = text.offset(mark.line + 1, mark.column + 1) if mark else 0
    message = error.problem or "can't be read"
    remedy = "check the indentation, colons and quotes here and in the line above"
    if text.content[start : start + 1] == "\t" or "'\\t'" in message:
        message, remedy = "a tab stands where YAML wants blanks", "indent with blanks"
    elif "expected a single document" in message:
        message, remedy = "a second document begins", "remove the '---'"
    return at(text, start, start + 1, "MS105", message, remedy)


def _check(text: Text, node: Node, found: list[Diagnostic], above: frozenset[int]) -> None:
    """Find what YAML allows and we don't: keys given twice, tags, anchors that contain themselves."""
    if id(node) in above:
        start, stop = span(text, node)
        found.append(at(text, start, stop, "MS105", "an alias contains itself", "write the values out"))
        return
    if node.tag not in _PLAIN:
        start, stop = span(text, node)
        found.append(at(text, start, stop, "MS105", f"tag {node.tag} is not allowed", "write plain values"))
    within = above | {id(node)}
    if isinstance(node, SequenceNode):
        for item in node.value:
            _check(text, item, found, within)
    elif isinstance(node, MappingNode):
        seen: dict[str, Node] = {}
        for key, value in node.value:
            name = str(key.value) if isinstance(key, ScalarNode) else ""
            if name in seen:
                start, stop = span(text, key)
                note = Note("first given here", text.location(*span(text, seen[name])))
                found.append(at(text, start, stop, "MS111", f"'{name}' is given twice", "keep one of them", note))
            seen[name] = key
            _check(text, value, found, within)


def span(text: Text, node: Node) -> tuple[int, int]:
    """Return the offsets of a node; of a list or mapping those of its first line."""
    start = text.offset(node.start_mark.line + 1, node.start_mark.column + 1)
    stop = text.offset(node.end_mark.line + 1, node.end_mark.column + 1)
    if isinstance(node, ScalarNode) and node.style is None:
        stop = start + len(text.content[start:stop].rstrip())
    return start, max(start + 1, stop)


def place(text: Text, node: Node) -> Location:
    return text.location(*span(text, node))


def plain(node: Node) -> Any:
    """Return a node's value as Python's own types; dates stay texts, since users mean what they wrote."""
    match node:
        case SequenceNode():
            return [plain(item) for item in node.value]
        case MappingNode():
            found: dict[str, Any] = {}
            for key, value in node.value:
                if key.tag == _TAG + "merge":
                    found = {**(plain(value) if isinstance(value, MappingNode) else {}), **found}
                else:
                    found[str(key.value)] = plain(value)
            return found
        case ScalarNode():
            return scalar(node)
        case _:
            return None


def scalar(node: ScalarNode) -> str | int | float | bool | None:
    match node.tag.removeprefix(_TAG):
        case "null":
            return None
        case "bool":
            return bool(_construct.construct_yaml_bool(node))
        case "int":
            return int(_construct.construct_yaml_int(node))
        case "float":
            return float(_construct.construct_yaml_float(node))
        case _:
            return str(node.value)
