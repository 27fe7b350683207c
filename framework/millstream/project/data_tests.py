"""Data tests as YAML writes them: a name, or a name with arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.errors import did_you_mean
from millstream.project.values import DataTest
from millstream.project.yaml import plain

if TYPE_CHECKING:
    from millstream.project.schema import Reader

Severity = Literal["warn", "error", "drop", "dead_letter"]
COMMON = ("severity", "where", "name", "description", "tags", "config", "warn_if", "error_if", "store_failures")
REQUIRED: dict[str, tuple[str, ...]] = {
    "not_null": (),
    "unique": (),
    "accepted_values": ("values",),
    "relationships": ("to", "field"),
    "expression": ("expression",),
    "row_count": (),
    "freshness": (),
}
OPTIONAL: dict[str, tuple[str, ...]] = {
    "accepted_values": ("quote",),
    "unique": ("columns",),
    "row_count": ("min", "max", "equals"),
    "freshness": ("column", "within", "warn_after", "error_after"),
}


def read_tests(reader: Reader, node: Node, *, column: bool) -> list[DataTest]:
    """Read the list of tests of a column or of a relation."""
    if not isinstance(node, SequenceNode):
        reader.problem(node, "MS107", "'tests' is a list", "write tests: [not_null]")
        return []
    return [test for item in node.value if (test := _test(reader, item, column=column))]


def _test(reader: Reader, node: Node, *, column: bool) -> DataTest | None:
    if isinstance(node, ScalarNode):
        return _made(reader, node, str(node.value), {}, node, column=column)
    if not isinstance(node, MappingNode) or len(node.value) != 1:
        reader.problem(node, "MS107", "a test is a name, or one name with arguments", "write - name: {argument: value}")
        return None
    key, value = node.value[0]
    if not isinstance(value, MappingNode):
        found = plain(value)
        if str(key.value) == "expression" and isinstance(found, str):
            return _made(reader, key, "expression", {"expression": found}, value, column=column)
        if found is not None:
            reader.problem(value, "MS107", f"the arguments of '{key.value}' are a mapping", "write {argument: value}")
            return None
        return _made(reader, key, str(key.value), {}, value, column=column)
    return _made(reader, key, str(key.value), plain(value), value, column=column)


def _made(
    reader: Reader, key: Node, name: str, arguments: dict[str, Any], node: Node, *, column: bool
) -> DataTest | None:
    if name not in REQUIRED and not name.isidentifier():
        reader.problem(key, "MS107", f"'{name}' is no data test", did_you_mean(name, REQUIRED, f"one of {', '.join(REQUIRED)}"))
        return None
    if name not in REQUIRED and (close := did_you_mean(name, REQUIRED)):
        # Own tests are macros; a name that is nearly a built-in one is a slip.
        reader.problem(key, "MS107", f"unknown data test '{name}'", close)
        return None
    if name in REQUIRED:
        known = (*REQUIRED[name], *OPTIONAL.get(name, ()), *COMMON)
        for part, _ in node.value if isinstance(node, MappingNode) else ():
            if str(part.value) not in known:
                reader.problem(
                    part, "MS106", f"'{name}' has no argument '{part.value}'",
                    did_you_mean(str(part.value), known, f"it takes {', '.join(known)}"),
                )
        for missing in (argument for argument in REQUIRED[name] if argument not in arguments):
            reader.problem(key, "MS108", f"'{name}' needs '{missing}'", f"write {name}: {{{missing}: …}}")
    severity = arguments.get("severity", "error")
    if severity not in get_args(Severity):
        place = next((v for k, v in node.value if str(k.value) == "severity"), node)
        reader.problem(
            place, "MS107", f"'severity' is one of {', '.join(get_args(Severity))}, not '{severity}'",
            did_you_mean(str(severity), get_args(Severity), "use error or warn"),
        )
        severity = "error"
    rest = {argument: value for argument, value in arguments.items() if argument != "severity"}
    return DataTest(name, reader.place(key), rest, severity)
