"""Where a cursor is in YAML, by indentation: also in files that are not yet YAML."""

from __future__ import annotations

import re

from msgspec import Struct

from millstream.editor.values import Cursor

_LINE = re.compile(r"(?P<indent> *)(?P<dashes>(?:- +|-$)*)(?:(?P<key>[\w+.-]+) *:(?: +(?P<value>.*)|$))?")
_WORD = re.compile(r"[\w:.+*/-]*$")
_FLOW = re.compile(r"[{,]\s*(?P<key>\w+)\s*:\s*(?P<value>[^,{}\[\]]*)")
_FLOW_END = re.compile(r"(?:[{,]\s*(?P<key>\w+)\s*:\s*(?:\[[^\]]*)?)?$")


class YamlContext(Struct, frozen=True):
    path: tuple[str, ...]
    """The keys above; items of lists are `0`."""
    key: str
    """The key whose value is at the cursor; empty where a key, or an item of a list, can be written."""
    typed: str
    """What is already written of the word at the cursor."""
    siblings: frozenset[str]
    """The keys that the mapping already has."""
    relation: str
    """The `name:` of the nearest item around the one with the cursor."""


class _Level(Struct):
    """A key or an item around the cursor, with what its mapping has so far."""

    column: int
    step: str
    mapping: dict[str, str]


def yaml_context(cursor: Cursor) -> YamlContext:
    """Return what surrounds the cursor."""
    root: dict[str, str] = {}
    levels = [_Level(-1, "", root)]
    lines = cursor.before.split("\n")
    current = lines.pop()
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            _enter(levels, line)
    typed = _WORD.search(current)
    assert typed is not None
    word = typed[0]
    before = current[: typed.start()]
    key = _enter(levels, current if ":" in before or not word else before + "x")
    if "{" in before or "[" in before:
        return _in_flow(levels, before, word, key)
    if key and ":" in before:
        levels.pop()
        return _context(levels, key, word)
    return _context(levels, "", word)


def _enter(levels: list[_Level], line: str) -> str:
    """Add the levels that a line begins, after those that it ends; return its key."""
    match = _LINE.match(line)
    assert match is not None
    column = len(match["indent"])
    for dash in match["dashes"].split():
        while levels[-1].column > column or (levels[-1].column == column and levels[-1].step == "0"):
            levels.pop()
        levels.append(_Level(column, "0", {}))
        column += len(dash) + 1
    column = len(match["indent"]) + len(match["dashes"])
    while levels[-1].column >= column:
        levels.pop()
    key = match["key"] or ""
    rest = match["value"] or ""
    if not key:
        rest = line[match.end() :]
        if rest.startswith("{"):
            levels[-1].mapping.update(_flow_entries(rest))
        return ""
    levels[-1].mapping[key] = rest.strip().strip("'\"")
    levels.append(_Level(column, key, {}))
    return key


def _flow_entries(text: str) -> dict[str, str]:
    return {match["key"]: match["value"].strip().strip("'\"") for match in _FLOW.finditer(text)}


def _in_flow(levels: list[_Level], before: str, word: str, key: str) -> YamlContext:
    """Return the context within `{…}` or `[…]` of one line."""
    end = _FLOW_END.search(before)
    inner = end["key"] if end and end["key"] else ""
    if "{" in before:
        if key and re.search(r"\[[^\]]*\{[^}]*$", before):
            levels.append(_Level(10_000, "0", _flow_entries(before.rpartition("[")[2])))
        return _context(levels, inner, word)
    levels.pop()
    return _context(levels, key, word)


def _context(levels: list[_Level], key: str, typed: str) -> YamlContext:
    path = tuple(level.step for level in levels[1:])
    names = [level.mapping["name"] for level in reversed(levels[:-1]) if level.mapping.get("name")]
    return YamlContext(path, key, typed, frozenset(levels[-1].mapping), names[0] if names else "")
