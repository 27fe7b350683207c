"""Whether records of one JSON Schema are valid by another, by the rules of Confluent's registry.

Its rules follow from what a schema says about undeclared properties: they are allowed (an open content
model),
forbidden (closed), or must fit a schema (partially open).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from millstream.formats.compatibility.json_combined import compare_combined, compare_criteria
from millstream.formats.compatibility.json_limits import (
    array_limits,
    number_limits,
    object_limits,
    string_limits,
)
from millstream.formats.compatibility.json_types import COMBINED, JsonSchema, SchemaNode
from millstream.formats.compatibility.values import (
    ComparedSides,
    SchemaDifference,
    is_compatible,
    join_path,
    make_difference,
)
from millstream.formats.format import SchemaFiles

Pair = tuple[SchemaNode, SchemaNode]
Differences = list[SchemaDifference]


def compare_json(writer: SchemaFiles, reader: SchemaFiles, sides: ComparedSides) -> Differences:
    one, other = JsonSchema(writer), JsonSchema(reader)
    incompatible: dict[Pair, Differences] = {}
    while True:
        # A schema within itself is compatible, unless the comparison proves otherwise: then it is repeated.
        comparison = _Comparison(one, other, sides, incompatible)
        differences = comparison.nodes(one.root, other.root, "")
        broken = {pair: compared for pair, compared in comparison.memo.items() if not is_compatible(compared)}
        if not comparison.assumed or broken.keys() == incompatible.keys():
            return list(dict.fromkeys(differences))
        incompatible = broken


class _Comparison:
    def __init__(
        self, writer: JsonSchema, reader: JsonSchema, sides: ComparedSides, broken: dict[Pair, Differences]
    ) -> None:
        self.writer, self.reader, self.sides = writer, reader, sides
        self.broken = broken
        """Pairs that are known to be incompatible."""
        self.memo: dict[Pair, Differences] = {}
        self.open: set[Pair] = set()
        self.assumed = False
        """A pair was taken as compatible because it is being compared."""

    def nodes(self, was: SchemaNode | None, now: SchemaNode | None, path: str) -> Differences:
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

    def followed(self, node: SchemaNode, schema: JsonSchema) -> SchemaNode:
        return schema.resolved(node.target) if node.kind == "reference" else node

    def placed(self, differences: Differences, path: str) -> Differences:
        return [replace(difference, path=join_path(path, difference.path)) for difference in differences]

    def missing(
        self, was: SchemaNode | None, now: SchemaNode | None, path: str
    ) -> Iterator[SchemaDifference]:
        if now is not None:
            yield SchemaDifference(path, "schema_added", f"only the {self.sides.reader} schema restricts it")
        elif was is not None:
            what = f"only the {self.sides.writer} schema restricts it"
            yield SchemaDifference(path, "schema_removed", what, breaks=False)

    def kinds(self, was: SchemaNode, now: SchemaNode) -> Differences:
        if (differences := self.one_of_several(was, now)) is not None:
            return differences
        same = was.kind == now.kind or {was.kind, now.kind} <= {*COMBINED}
        if not same:
            if was.kind == "never" or now.is_any:
                return []
            if was.keywords.get("connect.type") == now.keywords.get("connect.type") == "bytes":
                return []
            return [make_difference(self.sides, "", "type_changed", "it", _shown(now), _shown(was))]
        match was.kind:
            case "string":
                return list(string_limits(was.keywords, now.keywords, self.sides))
            case "number":
                return list(number_limits(was.keywords, now.keywords, self.sides))
            case "object":
                return list(self.objects(was, now))
            case "array":
                return list(self.arrays(was, now))
            case "enum" | "const":
                return list(self.values(was, now))
            case "not":
                return self.negated(was, now)
            case "allOf" | "anyOf" | "oneOf":
                differences = compare_criteria(was, now, self.sides)
                if is_compatible(differences):
                    differences += compare_combined(was, now, self.sides, self.nodes)
                return differences
        return []

    def one_of_several(self, was: SchemaNode, now: SchemaNode) -> Differences | None:
        """Compare a single schema with a combination; None if that alone decides nothing."""
        several, single = (now, was) if now.kind in COMBINED else (was, now)
        if several.kind not in COMBINED or single.kind in COMBINED:
            return None
        sums = several is now and several.kind in {"anyOf", "oneOf"}
        products = several is was and several.kind == "allOf"
        if len(several.parts) == 1 or sums or products:
            for part in several.parts:
                differences = self.nodes(was, part, "") if several is now else self.nodes(part, now, "")
                if is_compatible(differences):
                    if len(several.parts) > 1 and sums:
                        what = f"the {self.sides.reader} schema allows other values, too"
                        differences.append(SchemaDifference("", "sum_type_extended", what, breaks=False))
                    return differences
        return None

    def negated(self, was: SchemaNode, now: SchemaNode) -> Differences:
        # What the reader forbids must be forbidden by the writer: the roles are exchanged.
        self.writer, self.reader = self.reader, self.writer
        differences = self.nodes(now.parts[0], was.parts[0], "")
        self.writer, self.reader = self.reader, self.writer
        if is_compatible(differences):
            return []
        return [
            SchemaDifference("", "not_type_extended", f"the {self.sides.reader} schema forbids more values")
        ]

    def values(self, was: SchemaNode, now: SchemaNode) -> Iterator[SchemaDifference]:
        if was.kind == "const":
            before, after = [was.keywords["const"]], [now.keywords["const"]]
        else:
            before, after = was.keywords["enum"], now.keywords["enum"]
        gone = [value for value in before if value not in after]
        if gone:
            missing = ", ".join(map(str, gone))
            what = f"the {self.sides.reader} schema does not allow {missing}"
            rule = (
                "enum_array_changed" if any(value not in before for value in after) else "enum_array_narrowed"
            )
            yield SchemaDifference("", rule, what)
        elif len(after) > len(before):
            what = f"the {self.sides.reader} schema allows more values"
            yield SchemaDifference("", "enum_array_extended", what, breaks=False)

    def objects(self, was: SchemaNode, now: SchemaNode) -> Iterator[SchemaDifference]:
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
        yield from object_limits(was.keywords, now.keywords, self.sides)

    def required(self, was: SchemaNode, now: SchemaNode, name: str) -> Iterator[SchemaDifference]:
        if name in now.required and name not in was.required:
            what = f"it is required in the {self.sides.reader} schema, but not in the {self.sides.writer} one"
            breaks = not now.properties[name].has_default
            rule = "required_attribute_added" if breaks else "required_attribute_with_default_added"
            yield SchemaDifference(name, rule, what, breaks)

    def removed(self, before: SchemaNode, now: SchemaNode, name: str) -> Iterator[SchemaDifference]:
        if now.is_open:
            what = f"the {self.sides.reader} schema lacks it"
            yield SchemaDifference(name, "property_removed_from_open_content_model", what, breaks=False)
        elif covering := _covering(now, name):
            yield from self.nodes(before, covering, name)
        elif before.kind != "never":
            what = f"the {self.sides.reader} schema lacks it and allows no additional properties"
            yield SchemaDifference(name, "property_removed_from_closed_content_model", what)

    def added(self, was: SchemaNode, now: SchemaNode, name: str) -> Iterator[SchemaDifference]:
        after = now.properties[name]
        if was.is_open:
            if not after.is_any:
                what = (
                    f"the {self.sides.writer} schema does not declare it, but allows any additional property"
                )
                yield SchemaDifference(name, "property_added_to_open_content_model", what)
            return
        if covering := _covering(was, name):
            yield from self.nodes(covering, after, name)
        if name in now.required:
            what = f"the {self.sides.reader} schema requires it, and the {self.sides.writer} one lacks it"
            rule = "required_property_added_to_unopen_content_model"
            yield SchemaDifference(name, rule, what, breaks=not after.has_default)
        else:
            what = f"the {self.sides.writer} schema lacks it"
            yield SchemaDifference(
                name, "optional_property_added_to_unopen_content_model", what, breaks=False
            )

    def dependencies(self, was: SchemaNode, now: SchemaNode) -> Iterator[SchemaDifference]:
        for name, needed in now.needs.items():
            if more := sorted(needed - was.needs.get(name, frozenset())):
                what = f"it needs {', '.join(more)} in the {self.sides.reader} schema only"
                yield SchemaDifference(name, "dependency_array_added", what)
            elif name not in was.needs:
                what = f"only the {self.sides.reader} schema has dependencies of it"
                yield SchemaDifference(name, "dependency_array_added", what)
        for name, schema in now.dependent.items():
            if name not in was.dependent:
                what = f"other fields depend on it in the {self.sides.reader} schema only"
                yield SchemaDifference(name, "dependency_schema_added", what)
            else:
                yield from self.nodes(was.dependent[name], schema, "")

    def content(
        self,
        was: SchemaNode,
        now: SchemaNode,
        what: str,
        nodes: Callable[[SchemaNode, SchemaNode, str], Differences],
    ) -> Iterator[SchemaDifference]:
        """Compare what is said about undeclared properties, or items."""
        none = f"additional {what} are allowed by the {self.sides.writer} schema only"
        less = f"only the {self.sides.reader} schema restricts additional {what}"
        rule = f"additional_{what}"
        path = "{}" if what == "properties" else "[]"
        if was.closed != now.closed:
            if now.closed:
                yield SchemaDifference("", f"{rule}_removed", none)
        elif was.others is None and now.others is not None:
            yield SchemaDifference(path, f"{rule}_narrowed", less)
        elif was.others is not None and now.others is not None:
            yield from nodes(was.others, now.others, path)
        before, after = was.unevaluated, now.unevaluated
        if after is None or (before and before.kind == "never" and after.kind != "never"):
            return
        if after.kind == "never":
            if before is None or before.kind != "never":
                yield SchemaDifference("", f"unevaluated_{what}_removed", none)
        elif before is None or (before.is_any and not after.is_any):
            yield SchemaDifference(path, f"unevaluated_{what}_narrowed", less)
        elif not after.is_any:
            yield from nodes(before, after, path)

    def arrays(self, was: SchemaNode, now: SchemaNode) -> Iterator[SchemaDifference]:
        yield from self.nodes(was.items, now.items, "[]")
        common = min(len(was.parts), len(now.parts))
        for index in range(common):
            yield from self.nodes(was.parts[index], now.parts[index], f"[{index}]")
        for index, before in enumerate(was.parts[common:], common):
            path = f"[{index}]"
            if now.is_open:
                continue
            if covering := now.other_schema:
                yield from self.nodes(before, covering, path)
            elif before.kind != "never":
                what = f"the {self.sides.reader} schema lacks it and allows no additional items"
                yield SchemaDifference(path, "item_removed_from_closed_content_model", what)
        for index, after in enumerate(now.parts[common:], common):
            path = f"[{index}]"
            if was.is_open:
                if not after.is_any:
                    what = (
                        f"the {self.sides.writer} schema allows any value for it, as for all additional items"
                    )
                    yield SchemaDifference(path, "item_added_to_open_content_model", what)
            elif covering := was.other_schema:
                yield from self.nodes(covering, after, path)
        yield from self.content(was, now, "items", self.nodes)
        yield from array_limits(was.keywords, now.keywords, self.sides)


def _covering(node: SchemaNode, name: str) -> SchemaNode | None:
    """Return the schema of a property that is not declared, if there is one."""
    for pattern, schema in node.patterns.items():
        if re.search(pattern, name):
            return schema
    return node.other_schema


def _shown(node: SchemaNode) -> str:
    match node.kind:
        case "any":
            return "any value"
        case "never":
            return "no value"
        case "enum":
            return "one of " + ", ".join(map(str, node.keywords["enum"]))
        case "const":
            return f"always {node.keywords['const']}"
        case "allOf" | "anyOf" | "oneOf":
            parts = ", ".join(_shown(part) for part in node.parts)
            return f"{'all' if node.kind == 'allOf' else 'one'} of ({parts})"
        case "number" if "integer" in str(node.keywords.get("type")):
            return "an integer"
        case "reference":
            return node.target
        case "not" | "conditional":
            return "restricted by a condition"
        case "null":
            return "null"
        case kind:
            return f"{'an' if kind in {'object', 'array'} else 'a'} {kind}"
