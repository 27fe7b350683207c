"""Whether records of one JSON Schema are valid by another, by the rules of Confluent's registry.

Its rules follow from what a schema says about undeclared properties: they are allowed (an open content
model),
forbidden (closed), or must fit a schema (partially open).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from millstream.compatibility.json_combined import combined, criteria
from millstream.compatibility.json_limits import array_limits, number_limits, object_limits, string_limits
from millstream.compatibility.json_types import COMBINED, JsonSchema, Node
from millstream.compatibility.values import Difference, Sides, compatible, differs, joined
from millstream.formats.format import SchemaFiles

Pair = tuple[Node, Node]
Found = list[Difference]


def compare(writer: SchemaFiles, reader: SchemaFiles, sides: Sides) -> Found:
    one, other = JsonSchema(writer), JsonSchema(reader)
    known: dict[Pair, Found] = {}
    while True:
        # A schema within itself is compatible, unless the comparison proves otherwise: then it is repeated.
        comparison = _Comparison(one, other, sides, known)
        found = comparison.nodes(one.root, other.root, "")
        broken = {pair: each for pair, each in comparison.memo.items() if not compatible(each)}
        if not comparison.assumed or broken.keys() == known.keys():
            return list(dict.fromkeys(found))
        known = broken


class _Comparison:
    def __init__(
        self, writer: JsonSchema, reader: JsonSchema, sides: Sides, broken: dict[Pair, Found]
    ) -> None:
        self.writer, self.reader, self.sides = writer, reader, sides
        self.broken = broken
        """Pairs that are known to be incompatible."""
        self.memo: dict[Pair, Found] = {}
        self.open: set[Pair] = set()
        self.assumed = False
        """A pair was taken as compatible because it is being compared."""

    def nodes(self, was: Node | None, now: Node | None, path: str) -> Found:
        if was is None or now is None:
            return list(self.missing(was, now, path))
        pair = (self.followed(was, self.writer), self.followed(now, self.reader))
        if pair in self.open and pair not in self.memo:
            if pair not in self.broken:
                self.assumed = True
            return self.placed(self.broken.get(pair, []), path)
        if pair not in self.memo:
            self.open.add(pair)
            self.memo[pair] = self.kinds(*pair)
            self.open.discard(pair)
        return self.placed(self.memo[pair], path)

    def followed(self, node: Node, schema: JsonSchema) -> Node:
        return schema.resolved(node.target) if node.kind == "reference" else node

    def placed(self, found: Found, path: str) -> Found:
        return [replace(each, path=joined(path, each.path)) for each in found]

    def missing(self, was: Node | None, now: Node | None, path: str) -> Iterator[Difference]:
        if now is not None:
            yield Difference(path, "schema_added", f"only the {self.sides.reader} schema restricts it")
        elif was is not None:
            what = f"only the {self.sides.writer} schema restricts it"
            yield Difference(path, "schema_removed", what, breaks=False)

    def kinds(self, was: Node, now: Node) -> Found:
        if (found := self.one_of_several(was, now)) is not None:
            return found
        same = was.kind == now.kind or {was.kind, now.kind} <= {*COMBINED}
        if not same:
            if was.kind == "never" or now.is_any:
                return []
            if was.given.get("connect.type") == now.given.get("connect.type") == "bytes":
                return []
            return [differs(self.sides, "", "type_changed", "it", _shown(now), _shown(was))]
        match was.kind:
            case "string":
                return list(string_limits(was.given, now.given, self.sides))
            case "number":
                return list(number_limits(was.given, now.given, self.sides))
            case "object":
                return list(self.objects(was, now))
            case "array":
                return list(self.arrays(was, now))
            case "enum" | "const":
                return list(self.values(was, now))
            case "not":
                return self.negated(was, now)
            case "allOf" | "anyOf" | "oneOf":
                found = criteria(was, now, self.sides)
                if compatible(found):
                    found += combined(was, now, self.sides, self.nodes)
                return found
        return []

    def one_of_several(self, was: Node, now: Node) -> Found | None:
        """Compare a single schema with a combination; None if that alone decides nothing."""
        several, single = (now, was) if now.kind in COMBINED else (was, now)
        if several.kind not in COMBINED or single.kind in COMBINED:
            return None
        sums = several is now and several.kind in {"anyOf", "oneOf"}
        products = several is was and several.kind == "allOf"
        if len(several.parts) == 1 or sums or products:
            for part in several.parts:
                found = self.nodes(was, part, "") if several is now else self.nodes(part, now, "")
                if compatible(found):
                    if len(several.parts) > 1 and sums:
                        what = f"the {self.sides.reader} schema allows other values, too"
                        found.append(Difference("", "sum_type_extended", what, breaks=False))
                    return found
        return None

    def negated(self, was: Node, now: Node) -> Found:
        # What the reader forbids must be forbidden by the writer: the roles are exchanged.
        self.writer, self.reader = self.reader, self.writer
        found = self.nodes(now.parts[0], was.parts[0], "")
        self.writer, self.reader = self.reader, self.writer
        if compatible(found):
            return []
        return [Difference("", "not_type_extended", f"the {self.sides.reader} schema forbids more values")]

    def values(self, was: Node, now: Node) -> Iterator[Difference]:
        if was.kind == "const":
            before, after = [was.given["const"]], [now.given["const"]]
        else:
            before, after = was.given["enum"], now.given["enum"]
        gone = [each for each in before if each not in after]
        if gone:
            listed = ", ".join(map(str, gone))
            what = f"the {self.sides.reader} schema does not allow {listed}"
            rule = (
                "enum_array_changed" if any(each not in before for each in after) else "enum_array_narrowed"
            )
            yield Difference("", rule, what)
        elif len(after) > len(before):
            what = f"the {self.sides.reader} schema allows more values"
            yield Difference("", "enum_array_extended", what, breaks=False)

    def objects(self, was: Node, now: Node) -> Iterator[Difference]:
        for name in {**was.properties, **now.properties}:
            before, after = was.properties.get(name), now.properties.get(name)
            if after is None:
                assert before is not None
                yield from self.removed(before, now, name)
            elif before is None:
                yield from self.added(was, now, name)
            else:
                yield from self.required(was, now, name)
                yield from self.nodes(before, after, name)
        yield from self.dependencies(was, now)
        yield from self.content(was, now, "properties", self.nodes)
        yield from object_limits(was.given, now.given, self.sides)

    def required(self, was: Node, now: Node, name: str) -> Iterator[Difference]:
        if name in now.required and name not in was.required:
            what = f"it is required in the {self.sides.reader} schema, but not in the {self.sides.writer} one"
            breaks = not now.properties[name].has_default
            rule = "required_attribute_added" if breaks else "required_attribute_with_default_added"
            yield Difference(name, rule, what, breaks)

    def removed(self, before: Node, now: Node, name: str) -> Iterator[Difference]:
        if now.is_open:
            what = f"the {self.sides.reader} schema lacks it"
            yield Difference(name, "property_removed_from_open_content_model", what, breaks=False)
        elif covering := _covering(now, name):
            yield from self.nodes(before, covering, name)
        elif before.kind != "never":
            what = f"the {self.sides.reader} schema lacks it and allows no additional properties"
            yield Difference(name, "property_removed_from_closed_content_model", what)

    def added(self, was: Node, now: Node, name: str) -> Iterator[Difference]:
        after = now.properties[name]
        if was.is_open:
            if not after.is_any:
                what = (
                    f"the {self.sides.writer} schema does not declare it, but allows any additional property"
                )
                yield Difference(name, "property_added_to_open_content_model", what)
            return
        if covering := _covering(was, name):
            yield from self.nodes(covering, after, name)
        if name in now.required:
            what = f"the {self.sides.reader} schema requires it, and the {self.sides.writer} one lacks it"
            rule = "required_property_added_to_unopen_content_model"
            yield Difference(name, rule, what, breaks=not after.has_default)
        else:
            what = f"the {self.sides.writer} schema lacks it"
            yield Difference(name, "optional_property_added_to_unopen_content_model", what, breaks=False)

    def dependencies(self, was: Node, now: Node) -> Iterator[Difference]:
        for name, needed in now.needs.items():
            if more := sorted(needed - was.needs.get(name, frozenset())):
                what = f"it needs {', '.join(more)} in the {self.sides.reader} schema only"
                yield Difference(name, "dependency_array_added", what)
            elif name not in was.needs:
                what = f"only the {self.sides.reader} schema has dependencies of it"
                yield Difference(name, "dependency_array_added", what)
        for name, schema in now.dependent.items():
            if name not in was.dependent:
                what = f"other fields depend on it in the {self.sides.reader} schema only"
                yield Difference(name, "dependency_schema_added", what)
            else:
                yield from self.nodes(was.dependent[name], schema, "")

    def content(
        self, was: Node, now: Node, what: str, nodes: Callable[[Node, Node, str], Found]
    ) -> Iterator[Difference]:
        """Compare what is said about undeclared properties, or items."""
        none = f"additional {what} are allowed by the {self.sides.writer} schema only"
        less = f"only the {self.sides.reader} schema restricts additional {what}"
        rule = f"additional_{what}"
        place = "{}" if what == "properties" else "[]"
        if was.closed != now.closed:
            if now.closed:
                yield Difference("", f"{rule}_removed", none)
        elif was.others is None and now.others is not None:
            yield Difference(place, f"{rule}_narrowed", less)
        elif was.others is not None and now.others is not None:
            yield from nodes(was.others, now.others, place)
        before, after = was.unevaluated, now.unevaluated
        if after is None or (before and before.kind == "never" and after.kind != "never"):
            return
        if after.kind == "never":
            if before is None or before.kind != "never":
                yield Difference("", f"unevaluated_{what}_removed", none)
        elif before is None or (before.is_any and not after.is_any):
            yield Difference(place, f"unevaluated_{what}_narrowed", less)
        elif not after.is_any:
            yield from nodes(before, after, place)

    def arrays(self, was: Node, now: Node) -> Iterator[Difference]:
        yield from self.nodes(was.items, now.items, "[]")
        common = min(len(was.parts), len(now.parts))
        for index in range(common):
            yield from self.nodes(was.parts[index], now.parts[index], f"[{index}]")
        for index, before in enumerate(was.parts[common:], common):
            place = f"[{index}]"
            if now.is_open:
                continue
            if covering := now.other_schema:
                yield from self.nodes(before, covering, place)
            elif before.kind != "never":
                what = f"the {self.sides.reader} schema lacks it and allows no additional items"
                yield Difference(place, "item_removed_from_closed_content_model", what)
        for index, after in enumerate(now.parts[common:], common):
            place = f"[{index}]"
            if was.is_open:
                if not after.is_any:
                    what = (
                        f"the {self.sides.writer} schema allows any value for it, as for all additional items"
                    )
                    yield Difference(place, "item_added_to_open_content_model", what)
            elif covering := was.other_schema:
                yield from self.nodes(covering, after, place)
        yield from self.content(was, now, "items", self.nodes)
        yield from array_limits(was.given, now.given, self.sides)


def _covering(node: Node, name: str) -> Node | None:
    """Return the schema of a property that is not declared, if there is one."""
    for pattern, schema in node.patterns.items():
        if re.search(pattern, name):
            return schema
    return node.other_schema


def _shown(node: Node) -> str:
    match node.kind:
        case "any":
            return "any value"
        case "never":
            return "no value"
        case "enum":
            return "one of " + ", ".join(map(str, node.given["enum"]))
        case "const":
            return f"always {node.given['const']}"
        case "allOf" | "anyOf" | "oneOf":
            listed = ", ".join(_shown(each) for each in node.parts)
            return f"{'all' if node.kind == 'allOf' else 'one'} of ({listed})"
        case "number" if "integer" in str(node.given.get("type")):
            return "an integer"
        case "reference":
            return node.target
        case "not" | "conditional":
            return "restricted by a condition"
        case "null":
            return "null"
        case kind:
            return f"{'an' if kind in {'object', 'array'} else 'a'} {kind}"
