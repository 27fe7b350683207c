"""YAML with locations: every key and value has its location, and only plain data is built.

For example:

    node, diagnostics = parse_yaml(Text("models/shop.yml", "name: shop"))
    entries(node)["name"]      # the nodes of key and value
    plain(node)                # {"name": "shop"}
"""

from __future__ import annotations

from typing import Any

import yaml
from msgspec import Struct
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.core.errors import Diagnostic, DiagnosticNote, diagnostic_at
from millstream.core.text import FileText, Location
from millstream.project.numbers import QUOTE, fits_bigint
from millstream.project.yaml_syntax import DEEPEST, report_syntax, too_deep

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_construct = yaml.constructor.SafeConstructor()
_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"
_PLAIN = frozenset(
    _TAG + name
    for name in ("null", "bool", "int", "float", "str", "timestamp", "map", "seq", "merge", "value")
)
MOST_KEYS = 1000
"""Wrong keys that are reported in one file: a generated file can have millions."""
_LARGEST = 100_000
"""Values after expanding aliases; without a limit, a few lines could fill the memory."""


def parse_yaml(text: FileText) -> tuple[Node | None, list[Diagnostic]]:
    """Read one YAML document; an empty file is neither a document nor an error."""
    if deep := too_deep(text):
        return None, [deep]
    try:
        node = yaml.compose(text.content, Loader=_Loader)
    except (yaml.YAMLError, ValueError) as error:
        return None, [report_syntax(text, error)]
    if node is None:
        return None, []
    check = _Check(text)
    check.node(node, 0)
    return (None if check.fatal else node), check.diagnostics


class _Check(Struct):
    """Reports what YAML allows but Millstream doesn't: duplicate keys, tags, exploding aliases."""

    text: FileText
    diagnostics: list[Diagnostic] = []
    fatal: bool = False
    sizes: dict[int, int] = {}
    above: set[int] = set()

    def report(self, node: Node, code: str, message: str, remedy: str, *notes: DiagnosticNote) -> None:
        self.diagnostics.append(
            diagnostic_at(self.text, *node_span(self.text, node), code, message, remedy, *notes)
        )

    def refuse(self, node: Node, message: str, remedy: str) -> int:
        """Report, once, what makes the whole document unusable."""
        if not self.fatal:
            self.report(node, "MS105", message, remedy)
        self.fatal = True
        return 1

    def node(self, node: Node, depth: int) -> int:
        """Return the number of values of a node with its aliases expanded."""
        if node.tag not in _PLAIN:
            name = node.tag.replace(_TAG, "!!")
            return self.refuse(node, f"tag {name} is not allowed", "remove it")
        if isinstance(node, ScalarNode):
            self.scalar(node)
            return 1
        if id(node) in self.above:
            return self.refuse(node, "an alias contains itself", "write the values without the alias")
        if cached_size := self.sizes.get(id(node)):
            return cached_size
        if depth > DEEPEST:
            return self.refuse(node, f"more than {DEEPEST} levels of nesting", "reduce the nesting")
        self.above.add(id(node))
        size = 1 + (
            self.mapping(node, depth) if isinstance(node, MappingNode) else self.sequence(node, depth)
        )
        self.above.discard(id(node))
        self.sizes[id(node)] = size
        # Without aliases a value takes at least two characters.
        if size > _LARGEST and size > len(self.text.content):
            return self.refuse(node, f"aliases expand to {size:,} values", "write only the values you need")
        return size

    def scalar(self, node: ScalarNode) -> None:
        if "\0" in node.value:
            self.report(node, "MS105", "a text can't contain the character NUL", "remove it")
            node.value = node.value.replace("\0", "")
        value = scalar_value(node)
        if node.tag in {_TAG + "int", _TAG + "float"} and isinstance(value, str) and ":" not in node.value:
            self.report(node, "MS105", f"'{node.value}' is not a number", "put it in quotes, or fix it")
        if isinstance(value, int) and not fits_bigint(value):
            self.report(node, "MS105", "the number does not fit in 64 bits", QUOTE)
            node.value = "1"  # so that no second error follows

    def sequence(self, node: Node, depth: int) -> int:
        return sum(self.node(self.template(item), depth + 1) for item in node.value)

    def mapping(self, node: MappingNode, depth: int) -> int:
        seen: dict[str, Node] = {}
        size = 0
        for index, (key, written) in enumerate(node.value):
            value = self.template(written)
            if value is not written:
                node.value[index] = (key, value)
            size += self.node(value, depth + 1) + 1
            if not isinstance(key, ScalarNode):
                self.report(key, "MS105", "a key must be a string", "write `key: value`")
                continue
            if key.tag == _MERGE:
                self.merge(value)
            elif key.value in seen and len(self.diagnostics) < MOST_KEYS:
                note = DiagnosticNote("first defined here", location_of(self.text, seen[key.value]))
                self.report(key, "MS111", f"'{key.value}' is defined twice", "keep one of them", note)
            seen.setdefault(key.value, key)
        return size

    def template(self, value: Node) -> Node:
        """Read `{{ … }}` without quotes, which YAML takes for a mapping, as the intended text."""
        start, stop = node_span(self.text, value)
        if not isinstance(value, MappingNode) or not self.text.content.startswith("{{", start):
            return value
        self.report(value, "MS105", "a value that starts with {{ needs quotes", 'write "{{ … }}"')
        return ScalarNode(_TAG + "str", self.text.content[start:stop], value.start_mark, value.end_mark)

    def merge(self, value: Node) -> None:
        for item in value.value if isinstance(value, SequenceNode) else [value]:
            if not isinstance(item, MappingNode):
                self.report(item, "MS105", "'<<' needs a mapping", "write <<: *name of an anchored mapping")


def node_span(text: FileText, node: Node) -> tuple[int, int]:
    """Return the span of a node; that of a block ends with its last line."""
    # Not by line and column: YAML counts more characters as line ends than editors do.
    start, stop = node.start_mark.index, node.end_mark.index
    if not isinstance(node, ScalarNode) or node.style not in {"'", '"'}:
        stop = start + len(text.content[start:stop].rstrip())
    return start, max(start + 1, stop)


def offset_inside(text: FileText, node: ScalarNode, index: int) -> int:
    """Return the offset in the file of a character of a value; the value's start if folding hides it."""
    start, stop = node_span(text, node)
    written, value = text.content[start:stop], str(node.value)
    if node.style in {"|", ">"}:
        line = value.count("\n", 0, index)
        lines = written.split("\n")
        part = value.split("\n")[line]
        if line + 1 < len(lines) and lines[line + 1].endswith(part):
            before = sum(len(earlier) + 1 for earlier in lines[: line + 1])
            column = index - (value.rfind("\n", 0, index) + 1)
            return start + before + len(lines[line + 1]) - len(part) + column
        return start
    position = start + (node.style in {"'", '"'})
    for character in value[:index]:
        step = 2 if node.style == "'" and character == "'" else 1
        if not text.content.startswith(character, position):
            return start
        position += step
    return position


def location_of(text: FileText, node: Node) -> Location:
    return text.location(*node_span(text, node))


def mapping_entries(node: Node) -> dict[str, tuple[Node, Node]]:
    """Return the keys of a mapping with the nodes of key and value; `<<` is merged in."""
    merged: dict[str, tuple[Node, Node]] = {}
    direct: dict[str, tuple[Node, Node]] = {}
    for key, value in node.value if isinstance(node, MappingNode) else ():
        if key.tag == _MERGE:
            for other in value.value if isinstance(value, SequenceNode) else [value]:
                merged = mapping_entries(other) | merged
        elif isinstance(key, ScalarNode):
            direct[key.value] = (key, value)
    return merged | direct if merged else direct


def node_value(node: Node) -> Any:
    """Return a node's value in Python's types; dates remain texts."""
    match node:
        case SequenceNode():
            return [node_value(item) for item in node.value]
        case MappingNode():
            return {name: node_value(value) for name, (_, value) in mapping_entries(node).items()}
        case ScalarNode():
            return scalar_value(node)
        case _:
            return None


def scalar_value(node: ScalarNode) -> str | int | float | bool | None:
    try:
        match node.tag.removeprefix(_TAG):
            case "null":
                return None
            case "bool":
                return bool(_construct.construct_yaml_bool(node))
            # YAML 1.1 reads 10:30 as a number of seconds, but users mean a time.
            case "int" if ":" not in node.value:
                return int(_construct.construct_yaml_int(node))
            case "float" if ":" not in node.value:
                return float(_construct.construct_yaml_float(node))
            case _:
                return str(node.value)
    except (ValueError, KeyError, IndexError):
        return str(node.value)


def node_of(value: Any) -> Node:
    """Return the node of a Python value, to check it by the same rules; it has no location."""
    mark = yaml.Mark("", 0, 0, 0, None, 0)
    if isinstance(value, dict):
        pairs = [(node_of(str(key)), node_of(inner)) for key, inner in value.items()]
        return MappingNode(_TAG + "map", pairs, mark, mark)
    if isinstance(value, list | tuple):
        return SequenceNode(_TAG + "seq", [node_of(inner) for inner in value], mark, mark)
    # A bool is an int to Python: it must come first.
    for kind, name in ((bool, "bool"), (int, "int"), (float, "float")):
        if isinstance(value, kind):
            return ScalarNode(f"{_TAG}{name}", str(value).lower(), mark, mark)
    return ScalarNode(
        _TAG + ("null" if value is None else "str"), "" if value is None else str(value), mark, mark
    )
