"""Reads YAML selectors: trees of method, value, union, intersection and exclude."""

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct

from millstream.compile.selectors.grammar import Locator, parse_selector
from millstream.compile.selectors.methods import METHOD_NAMES, check_method
from millstream.compile.selectors.values import (
    Criterion,
    Indirect,
    SelectionContext,
    SelectorDifference,
    SelectorIntersection,
    SelectorOrigin,
    SelectorUnion,
    Spec,
    Step,
    iterate_criteria,
)
from millstream.core.cycles import shortest_cycles
from millstream.core.errors import Diagnostic, did_you_mean

Path = tuple[Step, ...]

_ENTRY = ("name", "description", "definition", "default")
_FLAGS = ("children", "parents", "childrens_parents")
_DEPTHS = ("children_depth", "parents_depth")
_KEYS = ("method", "value", *_FLAGS, *_DEPTHS, "indirect_selection", "exclude")
_DEEPEST = 60
"""Deeper than anyone writes; without a limit, deep nesting would end in a recursion error."""


class SelectorDefinition(Struct, frozen=True):
    name: str
    spec: Spec
    origin: SelectorOrigin
    references: tuple[Criterion, ...]
    """Its criteria of method `selector`."""
    default: bool = False


def read_definition(
    name: str, entry: Any, context: SelectionContext, diagnostics: list[Diagnostic]
) -> SelectorDefinition | None:
    """Read one selector: its definition, or its whole entry in `selectors.yml`."""
    reader = _Reader(name, context, diagnostics)
    path: Path = (name,)
    default = False
    if isinstance(entry, Mapping) and "definition" in entry:
        reader.refuse_unknown(entry, _ENTRY, path)
        default = reader.flag(entry, "default", path)
        path, entry = (*path, "definition"), entry["definition"]
    spec = reader.spec(entry, path)
    if spec is None:
        return None
    references = tuple(c for c in iterate_criteria(spec) if c.method == "selector")
    return SelectorDefinition(name, spec, reader.origin(path), references, default)


def find_loops(definitions: Mapping[str, SelectorDefinition]) -> list[Diagnostic]:
    """Report YAML selectors that refer to each other in a cycle."""
    edges = {name: [r.value for r in definition.references] for name, definition in definitions.items()}
    diagnostics = []
    for cycle in shortest_cycles(edges):
        after = cycle[1 % len(cycle)]
        origin = next(r.origin for r in definitions[cycle[0]].references if r.value == after)
        path = " → ".join(f"'{name}'" for name in (*cycle, cycle[0]))
        message = f"selectors refer to each other in a cycle: {path}"
        diagnostics.append(origin.report("MS608", message, "remove one of these references"))
    return diagnostics


def is_default(entry: Any) -> bool:
    return isinstance(entry, Mapping) and "definition" in entry and entry.get("default") is True


class _Reader:
    """Reads the tree of one selector; errors are added to `problems`."""

    def __init__(self, name: str, context: SelectionContext, diagnostics: list[Diagnostic]) -> None:
        self.within = f"selector '{name}': "
        self.context = context
        self.diagnostics = diagnostics

    def origin(self, path: Path) -> SelectorOrigin:
        """Return the location of a value, or of the nearest enclosing value that has one."""
        for stop in range(len(path), 0, -1):
            if location := self.context.locate(path[:stop]):
                return SelectorOrigin(location, within=self.within)
        return SelectorOrigin(within=self.within)

    def fail(self, path: Path, message: str, remedy: str) -> None:
        self.diagnostics.append(self.origin(path).report("MS607", message, remedy))

    def spec(self, tree: Any, path: Path) -> Spec | None:
        if len(path) > _DEEPEST:
            remedy = "move its parts to separate selectors"
            self.fail(path[:_DEEPEST], "the definition is nested too deeply", remedy)
            return None
        match tree:
            case str():
                return parse_selector(tree, self.locator(path, tree), self.diagnostics)
            case {"union": _} | {"intersection": _}:
                return self.group(tree, path)
            case {"method": _} | {"value": _}:
                return self.criterion(tree, path)
            case dict() if len(tree) == 1:
                method, value = next(iter(tree.items()))
                return self.matched(str(method), value, (*path, method), (*path, method), {})
            case dict():
                self.refuse_unknown(tree, (*_KEYS, "union", "intersection"), path)
                self.fail(path, "a definition needs 'method' and 'value'", _SHAPE)
            case _:
                self.fail(path, f"a definition can't be {_name(tree)}", _SHAPE)
        return None

    def locator(self, path: Path, content: str) -> Locator:
        """Return a locator within a text: exact if it is on one line, plain or in quotes."""
        full_origin = self.origin(path)
        location = self.context.locate(path)
        spare = location.end - location.column - len(content) if location else -1

        def part(start: int, stop: int) -> SelectorOrigin:
            if location is None or spare not in (0, 2):
                return full_origin
            first = location.column + spare // 2
            there = type(location)(location.path, location.line, first + start, first + stop)
            return SelectorOrigin(there, within=self.within)

        return part

    def group(self, tree: Mapping[str, Any], path: Path) -> Spec | None:
        kind = "union" if "union" in tree else "intersection"
        self.refuse_unknown(tree, (kind,), path)
        items = tree[kind]
        if not isinstance(items, list):
            self.fail((*path, kind), f"'{kind}' must be a list, not {_name(items)}", _SHAPE)
            return None
        parts: list[Spec] = []
        excluded: Spec | None = None
        excludes = 0
        for index, item in enumerate(items):
            here = (*path, kind, index)
            if isinstance(item, Mapping) and "exclude" in item and "method" not in item:
                self.refuse_unknown(item, ("exclude",), here)
                excludes += 1
                excluded = self.excluded(item, here)
                if excludes == 2:
                    self.fail(here, f"this {kind} has a second 'exclude'", "combine both in one list")
            elif part := self.spec(item, here):
                parts.append(part)
        if not parts and len(items) == excludes:
            self.fail((*path, kind), f"'{kind}' is empty", _SHAPE)
            return None
        combined = (
            SelectorUnion(tuple(parts))
            if kind == "union"
            else SelectorIntersection(tuple(parts), "intersection", self.origin(path))
        )
        return SelectorDifference(combined, excluded) if excluded else combined

    def excluded(self, tree: Mapping[str, Any], path: Path) -> Spec | None:
        items = tree["exclude"]
        if not isinstance(items, list):
            self.fail((*path, "exclude"), f"'exclude' must be a list, not {_name(items)}", _SHAPE)
            return None
        specs = [self.spec(item, (*path, "exclude", index)) for index, item in enumerate(items)]
        return SelectorUnion(tuple(spec for spec in specs if spec))

    def criterion(self, tree: Mapping[str, Any], path: Path) -> Spec | None:
        self.refuse_unknown(tree, _KEYS, path)
        missing = [key for key in ("method", "value") if key not in tree]
        if missing:
            self.fail(path, f"a definition also needs '{missing[0]}'", _SHAPE)
            return None
        if not isinstance(tree["method"], str):
            self.fail((*path, "method"), f"'method' can't be {_name(tree['method'])}", _SHAPE)
            return None
        excluded = self.excluded(tree, path) if "exclude" in tree else None
        criterion = self.matched(tree["method"], tree["value"], (*path, "method"), (*path, "value"), tree)
        return SelectorDifference(criterion, excluded) if criterion and excluded else criterion

    def matched(
        self, method: str, value: Any, method_path: Path, value_path: Path, options: Mapping[str, Any]
    ) -> Criterion | None:
        if isinstance(value, bool):
            value = str(value).lower()
        if isinstance(value, int | float):
            value = str(value)
        if not isinstance(value, str) or not value:
            self.fail(value_path, f"a value can't be {_name(value)}", _SHAPE)
            return None
        name, *arguments = method.split(".")
        origin = self.origin(value_path)
        if diagnostic := check_method(name, tuple(arguments), value, self.origin(method_path), origin):
            self.diagnostics.append(diagnostic)
            return None
        path = value_path[:-1]
        around = self.flag(options, "childrens_parents", path)
        parents, children = self.edges(options, "parents", path), self.edges(options, "children", path)
        if around and children != 0:
            remedy = "remove 'children'"
            self.fail((*path, "children"), "'childrens_parents' already includes all children", remedy)
        indirect = self.indirect(options, path)
        text = f"{method}:{value}"
        return Criterion(text, name, value, origin, tuple(arguments), around, parents, children, indirect)

    def edges(self, options: Mapping[str, Any], key: str, path: Path) -> int | None:
        depth = options.get(f"{key}_depth")
        if depth is not None and (isinstance(depth, bool) or not isinstance(depth, int) or depth < 0):
            remedy = "write 1"
            self.fail(
                (*path, f"{key}_depth"), f"'{key}_depth' must be a number of edges, not {depth!r}", remedy
            )
        return depth if self.flag(options, key, path) else 0

    def flag(self, options: Mapping[str, Any], key: str, path: Path) -> bool:
        value = options.get(key, False)
        if not isinstance(value, bool):
            self.fail((*path, key), f"'{key}' must be true or false, not {value!r}", f"write '{key}: true'")
        return value is True

    def indirect(self, options: Mapping[str, Any], path: Path) -> Indirect | None:
        value = options.get("indirect_selection")
        for mode in get_args(Indirect):
            if value == mode:
                return mode  # type: ignore[no-any-return]
        if value is not None:
            modes = get_args(Indirect)
            remedy = did_you_mean(str(value), modes, f"use one of {', '.join(modes)}")
            self.fail((*path, "indirect_selection"), f"unknown indirect selection {value!r}", remedy)
        return None

    def refuse_unknown(self, tree: Mapping[Any, Any], keys: tuple[str, ...], path: Path) -> None:
        for key in tree:
            if key not in keys:
                names = (*keys, *METHOD_NAMES) if "method" in keys else keys
                otherwise = f"known keys: {', '.join(keys)}"
                self.fail((*path, key), f"unknown key '{key}'", did_you_mean(str(key), names, otherwise))


_SHAPE = (
    "write a string such as 'tag:nightly', one 'method: value', 'method' and 'value' as two keys, "
    "or a list under 'union' or 'intersection'"
)


def _name(value: Any) -> str:
    match value:
        case None | "":
            return "empty"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return repr(value)
