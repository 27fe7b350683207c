"""Data tests as written in YAML: a name, or a name with arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct
from msgspec.structs import fields
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.core.errors import did_you_mean
from millstream.project.references import IDENTIFIER, parse_reference, relation_call
from millstream.project.schema import Shape, ShapeReader, keys_of
from millstream.project.shapes import Description, Duration, Names, describe_key
from millstream.project.values import DataTest, Severity
from millstream.project.yaml import mapping_entries, node_value

Sql = Annotated[str, Meta(min_length=1, title="an SQL expression")]
Count = Annotated[int, Meta(ge=0, title="a whole number from 0")]
Tolerated = Annotated[
    str,
    Meta(
        pattern=r"^(\d+|\d+(\.\d+)?%)$",
        title="a number of rows, such as 10, or a share of them, such as 0.5%",
    ),
]
_NAME = re.compile(r"[\w.-]+\Z")
Where = Literal["column", "relation", "both"]


class CommonArguments(Shape):
    """The arguments that every test has."""

    words: ClassVar[dict[str, str]] = {
        "error_if": "use at_most: 10, or a share: at_most: 0.5%",
        "warn_if": "use severity: warn, and at_most",
        "store_failures": "use severity: dead_letter",
        "limit": "remove it",
    }

    severity: Annotated[Severity, describe_key("what happens to a failing row")] = "error"
    where: Annotated[Sql | None, describe_key("an SQL condition; only rows that match it are tested")] = None
    name: Annotated[str | None, describe_key("the name of the test")] = None
    description: Description = ""
    tags: Names = []


class RowsArguments(CommonArguments, kw_only=True):
    """The arguments of tests that find wrong rows."""

    at_most: Annotated[Tolerated | None, describe_key("tolerated failing rows: 10, or 0.5%")] = None


class UniqueArguments(RowsArguments, kw_only=True):
    columns: Annotated[str | list[str] | None, describe_key("the columns that are unique together")] = None
    within: Annotated[Duration | None, describe_key("in a stream: unique within this time")] = None


class AcceptedValuesArguments(RowsArguments, kw_only=True):
    values: Annotated[list[Any], describe_key("the values that may occur")]
    quote: Annotated[bool | None, describe_key("as in dbt: whether the values are strings")] = None


class RelationshipsArguments(RowsArguments, kw_only=True):
    to: Annotated[str, describe_key("ref('model') or source('source', 'topic')", verbatim=True)]
    field: Annotated[str, describe_key("the column of that relation")]


class ExpressionArguments(RowsArguments, kw_only=True):
    expression: Annotated[Sql, describe_key("an SQL condition that must not be false for any row")]


class RowCountArguments(CommonArguments, kw_only=True):
    min: Count | None = None
    max: Count | None = None
    equals: Count | None = None


class FreshnessArguments(CommonArguments, kw_only=True):
    within: Annotated[Duration, describe_key("the maximum age of the newest row")]
    column: Annotated[
        str | None, describe_key("the column with a row's time, by default the record's timestamp")
    ] = None


class DataTestKind(Struct, frozen=True):
    arguments: type[CommonArguments]
    on: Where
    single_row: bool = False
    """Each row fails or passes alone, so that a query can check it before it stores it."""

    @property
    def plain(self) -> bool:
        """Tell whether YAML can give its name without arguments."""
        return self.on != "relation" and not any(field.required for field in fields(self.arguments))


KINDS = {
    "not_null": DataTestKind(RowsArguments, "column", single_row=True),
    "unique": DataTestKind(UniqueArguments, "both"),
    "accepted_values": DataTestKind(AcceptedValuesArguments, "column", single_row=True),
    "relationships": DataTestKind(RelationshipsArguments, "column"),
    "expression": DataTestKind(ExpressionArguments, "both", single_row=True),
    "row_count": DataTestKind(RowCountArguments, "relation"),
    "freshness": DataTestKind(FreshnessArguments, "relation"),
}
_SHORT: dict[str, tuple[str, Callable[[Node], bool]]] = {
    "accepted_values": ("values", lambda node: isinstance(node, SequenceNode)),
    "expression": ("expression", lambda node: isinstance(node, ScalarNode)),
    "freshness": ("within", lambda node: isinstance(node, ScalarNode)),
    "row_count": ("equals", lambda node: isinstance(node, ScalarNode)),
    "unique": ("columns", lambda node: isinstance(node, SequenceNode)),
}
"""Tests with one main argument, whose name can be omitted."""


def read_tests(reader: ShapeReader, node: Node, *, column: bool) -> list[DataTest]:
    """Read the list of tests of a column or of a relation."""
    if isinstance(node, ScalarNode) and node.tag.endswith(":null"):
        return []
    if not isinstance(node, SequenceNode):
        reader.report(node, "MS107", "'tests' is a list", "write tests: [not_null]")
        return []
    return [test for item in node.value if (test := _test(reader, item, column=column))]


def _test(reader: ShapeReader, node: Node, *, column: bool) -> DataTest | None:
    if isinstance(node, ScalarNode) and node.value:
        return _data_test(reader, node, None, column=column)
    pairs = list(mapping_entries(node).values())
    if not pairs:
        reader.report(node, "MS107", "a test is a name, or a name with arguments", "write - not_null")
        return None
    key, value = pairs[0]
    if len(pairs) > 1:
        # The usual mistake: arguments that are not indented below the test.
        remedy = f"indent '{pairs[1][0].value}' below '{key.value}:', or start it with '-'"
        reader.report(pairs[1][0], "MS107", "a test is one name with its arguments below it", remedy)
        return None
    return _data_test(reader, key, None if value.tag.endswith(":null") else value, column=column)


def _data_test(reader: ShapeReader, key: Node, value: Node | None, *, column: bool) -> DataTest | None:
    name = str(key.value)
    kind = KINDS.get(name)
    if kind is None:
        return _macro_test(reader, key, value)
    owner: Where = "column" if column else "relation"
    if kind.on not in {owner, "both"}:
        remedy = (
            "write it below a column" if kind.on == "column" else "write it below the model or topic itself"
        )
        reader.report(key, "MS107", f"'{name}' tests a {kind.on}, not a {owner}", remedy)
        return None
    if value is None and kind.on == "column" and kind.arguments is RowsArguments:
        return DataTest(name, reader.locate(key))
    node = _mapping(reader, name, value, key)
    before = len(reader.diagnostics)
    shape = reader.read(node, kind.arguments) if node else None
    if node is None or shape is None:
        return None
    _check_name(reader, node)
    if name == "relationships" and len(reader.diagnostics) == before:
        _check_relation(reader, node)
    if isinstance(shape, RowCountArguments) and not {"min", "max", "equals"} & shape.locations.keys():
        reader.report(key, "MS108", "'row_count' needs min, max or equals", "write row_count: {min: 1}")
    if isinstance(shape, RowsArguments) and shape.at_most:
        _check_tolerated(reader, name, shape, node)
    if name == "unique" and not column and not getattr(shape, "columns", None):
        reader.report(key, "MS108", "'unique' of a relation needs columns", "write unique: {columns: [a, b]}")
    return DataTest(name, reader.locate(key), _arguments(shape), shape.severity)


def _mapping(reader: ShapeReader, name: str, value: Node | None, key: Node) -> Node | None:
    """Return the arguments as one mapping, however they are written."""
    if value is None:
        return MappingNode("tag:yaml.org,2002:map", [], key.start_mark, key.end_mark)
    if name in _SHORT and _SHORT[name][1](value):
        first = ScalarNode("tag:yaml.org,2002:str", _SHORT[name][0], value.start_mark, value.end_mark)
        return MappingNode("tag:yaml.org,2002:map", [(first, value)], value.start_mark, value.end_mark)
    if not isinstance(value, MappingNode):
        examples = ", ".join(f"{argument}: …" for argument in list(keys_of(KINDS[name].arguments))[-2:])
        message = f"the arguments of '{name}' are a mapping"
        reader.report(value, "MS107", message, f"write {name}: {{{examples}}}")
        return None
    return MappingNode(value.tag, _flat(value), value.start_mark, value.end_mark)


def _flat(value: Node) -> list[tuple[Node, Node]]:
    """Move what dbt nests under `arguments:` and `config:` up to the arguments themselves."""
    pairs: list[tuple[Node, Node]] = []
    for name, (key, child) in mapping_entries(value).items():
        if name in {"arguments", "config"} and isinstance(child, MappingNode):
            pairs += mapping_entries(child).values()
        else:
            pairs.append((key, child))
    return pairs


def _macro_test(reader: ShapeReader, key: Node, value: Node | None) -> DataTest | None:
    """Read a test that is a macro of the project; whether there is one is known when all files are read."""
    name = str(key.value)
    of_macro = value is None or isinstance(value, MappingNode)
    close = "" if of_macro else did_you_mean(name, KINDS)
    if close or not IDENTIFIER.match(name):
        remedy = close or did_you_mean(name, KINDS, f"use one of {', '.join(KINDS)}, or a macro")
        reader.report(key, "MS107", unknown_test(name), remedy)
        return None
    if value is None:
        return DataTest(name, reader.locate(key))
    if not isinstance(value, MappingNode):
        message = f"the arguments of '{name}' are a mapping"
        reader.report(value, "MS107", message, f"write {name}: {{argument: value}}")
        return None
    pairs = _flat(value)
    arguments = {str(argument.value): _argument(reader, node, node_value(node)) for argument, node in pairs}
    _check_name(reader, value)
    severity: Severity = "error"
    for argument, node in pairs:
        if str(argument.value) == "severity":
            severity = reader.value(node, Severity, "severity") or "error"
    arguments.pop("severity", None)
    return DataTest(name, reader.locate(key), arguments, severity)


def unknown_test(name: str) -> str:
    return f"unknown data test '{name}'"


def _argument(reader: ShapeReader, node: Node, value: Any) -> Any:
    """Return an argument of a macro; what names a relation is resolved when the macro is called."""
    match value:
        case str() if call := relation_call(value):
            return call
        case dict():
            return {key: _argument(reader, node, inner) for key, inner in value.items()}
        case list():
            return [_argument(reader, node, inner) for inner in value]
        case _:
            return reader.rendered(node, value)


def _check_name(reader: ShapeReader, node: Node) -> None:
    name = {str(key.value): value for key, value in _flat(node)}.get("name")
    if isinstance(name, ScalarNode) and not _NAME.match(name.value):
        message = f"'{name.value}' can't be the name of a data test"
        reader.report(name, "MS110", message, "use letters, digits, '_', '-' and '.'")


def _check_tolerated(reader: ShapeReader, name: str, shape: RowsArguments, node: Node) -> None:
    at_most = mapping_entries(node)["at_most"][1]
    if shape.severity in {"drop", "dead_letter"}:
        message = f"'at_most' has no effect with severity '{shape.severity}', which drops every failing row"
        reader.report(at_most, "MS107", message, "remove it, or use severity: warn or error")
    elif name in {"unique", "relationships"} and str(shape.at_most).endswith("%"):
        remedy = "write a number of rows: at_most: 10"
        message = f"'{name}' does not test single rows, so a share of rows has no meaning"
        reader.report(at_most, "MS107", message, remedy)


def _check_relation(reader: ShapeReader, node: Node) -> None:
    to = mapping_entries(node)["to"][1]
    if parse_reference(str(to.value)) is None:
        remedy = "write to: ref('model'), or to: source('source', 'topic')"
        reader.report(to, "MS107", f"'{to.value}' is not a relation", remedy)


def _arguments(shape: CommonArguments) -> dict[str, Any]:
    """Return the given arguments as written; `to` becomes the id of a node."""
    arguments = {name: getattr(shape, name) for name in sorted(shape.locations.keys() - {"severity"})}
    if isinstance(shape, RelationshipsArguments):
        arguments["to"] = parse_reference(shape.to) or shape.to
    return arguments
