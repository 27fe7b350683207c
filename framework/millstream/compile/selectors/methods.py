"""The selector methods. A new method is one row in `METHODS`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from posixpath import basename, normpath, splitext
from typing import Any, get_args

from msgspec import Struct

from millstream.compile.graph import GraphNode
from millstream.compile.selectors.values import SelectorOrigin
from millstream.core.errors import Diagnostic, did_you_mean
from millstream.project.values import Kind

Keys = tuple[str, ...]
Predicate = Callable[[GraphNode], bool]

_NAMED = ("model", "seed", "test", "unit_test")
"""Kinds that a bare name can match; others are selected by their own methods, as in dbt."""


class Method(Struct, frozen=True):
    matches: Callable[[str, Keys], Predicate]
    values: Callable[[GraphNode, Keys], Iterable[str]] = lambda _node, _keys: ()
    """The values that would match a node, for suggestions."""
    choices: tuple[str, ...] = ()
    """All allowed values, if they are fixed."""


def _fqn(value: str, _keys: Keys) -> Predicate:
    patterns = value.split(".")
    wild = next((i for i, part in enumerate(patterns) if is_pattern(part)), None)
    head, tail = patterns[:wild], ".".join(patterns[wild:]) if wild is not None else ""

    def in_folder(fqn: Sequence[str]) -> bool:
        parts = ".".join(fqn).split(".")
        if len(parts) < len(patterns) or parts[: len(head)] != head:
            return False
        return wild is None or fnmatchcase(".".join(parts[wild:]), tail)

    def matches(node: GraphNode) -> bool:
        if node.kind not in _NAMED:
            return False
        # dbt only matches patterns against folders, so its `stg_*` misses staging/stg_orders.sql
        named = fnmatchcase(node.name, value) if wild is not None else node.name == value
        return named or in_folder(node.fqn) or in_folder(node.fqn[1:])

    return matches


def is_pattern(text: str) -> bool:
    return any(character in text for character in "*?[]")


def _fqn_values(node: GraphNode, _keys: Keys) -> Iterable[str]:
    if node.kind in _NAMED:
        yield node.name
        yield from (".".join(node.fqn[1:stop]) for stop in range(2, len(node.fqn) + 1))


def _tag(value: str, _keys: Keys) -> Predicate:
    return lambda node: any(fnmatchcase(tag, value) for tag in node.tags)


def _path(value: str, _keys: Keys) -> Predicate:
    """Match a file, or everything below a folder; `*` matches within a folder, `**` any number of folders."""
    patterns = normpath(value.replace("\\", "/")).split("/")

    def matches(node: GraphNode) -> bool:
        positions = _skip_folders({0}, patterns)
        for part in node.path.split("/"):
            if len(patterns) in positions:
                return True
            stay = {p for p in positions if patterns[p] == "**"}
            step = {p + 1 for p in positions if patterns[p] != "**" and fnmatchcase(part, patterns[p])}
            positions = _skip_folders(stay | step, patterns)
        return len(patterns) in positions

    return (lambda _node: True) if patterns == ["."] else matches


def _skip_folders(positions: set[int], patterns: Sequence[str]) -> set[int]:
    """Add the positions after `**`, which can match no folder."""
    reached = set(positions)
    for position in range(len(patterns)):
        if position in reached and patterns[position] == "**":
            reached.add(position + 1)
    return reached


def _path_values(node: GraphNode, _keys: Keys) -> Iterable[str]:
    parts = node.path.split("/")
    return ("/".join(parts[:stop]) for stop in range(1, len(parts) + 1))


def _file(value: str, _keys: Keys) -> Predicate:
    return lambda node: any(fnmatchcase(name, value) for name in _file_values(node, ()))


def _file_values(node: GraphNode, _keys: Keys) -> Iterable[str]:
    name = basename(node.path)
    return name, splitext(name)[0]


def _package(value: str, _keys: Keys) -> Predicate:
    # `this` is dbt's name for the project itself
    return lambda node: value == "this" or any(fnmatchcase(name, value) for name in node.fqn[:1])


def _source(value: str, _keys: Keys) -> Predicate:
    """Match `source`, `source.topic` or `package.source.topic`; a topic's name can contain dots."""

    def matches(node: GraphNode) -> bool:
        if node.kind != "source":
            return False
        source, topic = _source_and_topic(node)
        if "." not in value:
            return fnmatchcase(source, value)
        patterns = value.split(".", 1)
        if fnmatchcase(source, patterns[0]) and fnmatchcase(topic, patterns[1]):
            return True
        names = (*node.fqn[:1], source, topic)
        return _all_match(names, value.split(".", 2))

    return matches


def _source_and_topic(node: GraphNode) -> tuple[str, str]:
    name = node.id.name
    topic = node.name if name.endswith(f".{node.name}") else name.partition(".")[2]
    return name[: -len(topic) - 1], topic


def _all_match(names: Sequence[str], patterns: Sequence[str]) -> bool:
    pairs = zip(names, patterns, strict=False)
    return len(names) == len(patterns) and all(fnmatchcase(name, pattern) for name, pattern in pairs)


def _source_values(node: GraphNode, _keys: Keys) -> Iterable[str]:
    if node.kind == "source":
        source, topic = _source_and_topic(node)
        yield from (f"{source}.{topic}", source)


def _of_kind(kind: Kind) -> Method:
    """Match nodes of a kind by `name` or `package.name`."""

    def build(value: str, _keys: Keys) -> Predicate:
        def matches(node: GraphNode) -> bool:
            return node.kind == kind and (
                fnmatchcase(node.name, value) or _all_match((*node.fqn[:1], node.name), value.split(".", 1))
            )

        return matches

    return Method(build, lambda node, _keys: (node.name,) if node.kind == kind else ())


def _config(value: str, keys: Keys) -> Predicate:
    expected = value.casefold() if keys == ("severity",) else value

    def matches(node: GraphNode) -> bool:
        setting = _look_up(_configured(node), keys)
        return _matches_value(
            setting.casefold() if keys == ("severity",) and isinstance(setting, str) else setting, expected
        )

    return matches


def _configured(node: GraphNode) -> Mapping[Any, Any]:
    return {"tags": node.tags, **node.config}


def _look_up(tree: Any, keys: Keys) -> Any:
    """Look up nested keys, where a key can contain dots: `producer.linger.ms`."""
    if not keys:
        return tree
    if isinstance(tree, Mapping):
        for stop in range(1, len(keys) + 1):
            key = ".".join(keys[:stop])
            if key in tree and (setting := _look_up(tree[key], keys[stop:])) is not None:
                return setting
    return None


def _matches_value(value: Any, expected: str) -> bool:
    match value:
        case None:
            return False
        case bool():
            return str(value).lower() == expected.lower()
        case Mapping():
            return any(str(key) == expected for key in value)
        case list() | tuple() | set() | frozenset():
            return any(_matches_value(one, expected) for one in value)
        case _:
            return str(value) == expected


def _config_values(node: GraphNode, keys: Keys) -> Iterable[str]:
    value = _look_up(_configured(node), keys)
    values = value if isinstance(value, list | tuple | set | frozenset | Mapping) else (value,)
    return (str(one) for one in values if one is not None)


def _test_type(value: str, _keys: Keys) -> Predicate:
    match value:
        case "unit":
            return lambda node: node.kind == "unit_test"
        case "data":
            return lambda node: node.kind == "test"
        case _:
            return lambda node: node.kind == "test" and bool(node.test) == (value == "generic")


METHODS = {
    "fqn": Method(_fqn, _fqn_values),
    "tag": Method(_tag, lambda node, _keys: node.tags),
    "path": Method(_path, _path_values),
    "file": Method(_file, _file_values),
    "package": Method(_package, lambda node, _keys: node.fqn[:1]),
    "source": Method(_source, _source_values),
    "exposure": _of_kind("exposure"),
    "metric": _of_kind("metric"),
    "unit_test": _of_kind("unit_test"),
    "config": Method(_config, _config_values),
    "resource_type": Method(lambda value, _keys: lambda node: node.kind == value, choices=get_args(Kind)),
    "test_name": Method(
        lambda value, _keys: lambda node: bool(node.test) and fnmatchcase(node.test, value),
        lambda node, _keys: (node.test,) if node.test else (),
    ),
    "test_type": Method(_test_type, choices=("generic", "singular", "unit", "data")),
}

_PARTS = ("body", "configs", "relation", "persisted_descriptions", "macros", "contract", "state")

BEYOND_NODES: dict[str, tuple[str, ...]] = {
    "state": ("new", "old", "modified", "unmodified", *(f"modified.{part}" for part in _PARTS)),
    "result": ("success", "error", "fail", "warn", "pass", "skipped"),
    "selector": (),
}
"""Methods that need more than a node, with their values if these are fixed."""

METHOD_NAMES = (*METHODS, *BEYOND_NODES)


def check_method(
    name: str, arguments: Keys, value: str, method_origin: SelectorOrigin, value_origin: SelectorOrigin
) -> Diagnostic | None:
    """Return the error of a method, its arguments or its value; None if valid."""
    if name not in METHOD_NAMES:
        remedy = did_you_mean(
            name, METHOD_NAMES, f"use one of {', '.join(METHOD_NAMES)}: see selectors.md in the docs"
        )
        return method_origin.report("MS602", f"unknown selector method '{name}'", remedy)
    if name == "config" and not all(arguments or ("",)):
        remedy = "add the key: 'config.materialized:view' or 'config.meta.owner:ann'"
        return method_origin.report("MS601", "'config' needs the key of a setting", remedy)
    if name != "config" and arguments:
        remedy = f"write '{name}:{value}'"
        return method_origin.report("MS601", f"'{name}' does not accept '.{'.'.join(arguments)}'", remedy)
    choices = METHODS[name].choices if name in METHODS else BEYOND_NODES[name]
    if choices and value not in choices:
        remedy = did_you_mean(value, choices, f"use one of {', '.join(choices)}")
        return value_origin.report("MS605", f"'{name}' has no value '{value}'", remedy)
    return None
