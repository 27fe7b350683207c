"""What every part of a properties file has: a name, columns, tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from yaml.nodes import Node, ScalarNode

from millstream.errors import Diagnostic, Note, at, did_you_mean
from millstream.project.data_tests import read_tests
from millstream.project.references import IDENTIFIER, RESERVED, RESERVED_COLUMNS
from millstream.project.schema import Raw, Reader, Shape
from millstream.project.shapes import ColumnShape
from millstream.project.values import Column, DataTest
from millstream.project.yaml import inside, span
from millstream.text import Location
from millstream.types import NAMES, Type, TypeSyntaxError, parse_type

METADATA = frozenset(("_key", "_topic", "_partition", "_offset", "_timestamp", "_headers"))
Named = TypeVar("Named", bound=Shape)


class ColumnReader(Reader):
    """Turns checked shapes into values, and checks what a type alone can't."""

    def location(self, shape: Shape, key: str = "name") -> Location:
        return shape.places.get(key, shape.place)

    def at(self, location: Location, code: str, message: str, remedy: str, *notes: Note) -> None:
        line = self.text.line(location.line)
        self.diagnostics.append(Diagnostic(code, message, location, remedy, line, notes))

    def named(self, shape: Shape, name: str, what: str) -> None:
        if not IDENTIFIER.match(name):
            remedy = "use letters, digits and '_', not beginning with a digit"
            self.at(self.location(shape), "MS110", f"'{name}' can't be the name of a {what}", remedy)
        elif name.lower() in RESERVED and what != "column":
            self.at(
                self.location(shape), "MS110", f"'{name}' is a reserved name", f"give the {what} another name"
            )

    def once(self, shapes: Iterable[Named], name: Callable[[Named], str], what: str) -> None:
        """Every name may be given once."""
        seen: dict[str, Named] = {}
        for shape in shapes:
            key = name(shape).lower()
            if key in seen:
                note = Note("first given here", self.location(seen[key]))
                message = f"{what} '{name(shape)}' is given twice"
                self.at(self.location(shape), "MS109", message, "keep one of them", note)
            seen.setdefault(key, shape)

    def columns(self, shapes: list[ColumnShape], *, metadata: bool = False) -> tuple[Column, ...]:
        """Read columns; those of a topic (`metadata`) can't take the names that every topic has."""
        self.once(shapes, lambda shape: shape.name, "column")
        for shape in shapes:
            self.named(shape, shape.name, "column")
            if metadata and shape.name.lower() in METADATA:
                message = f"'{shape.name}' is a metadata column of every topic"
                self.at(self.location(shape), "MS110", message, "remove it, or give the column another name")
            elif metadata and shape.name.lower() in RESERVED_COLUMNS:
                message = f"'{shape.name}' is a column that queries add to rows themselves"
                self.at(self.location(shape), "MS110", message, "leave it out")
        return tuple(map(self.column, shapes))

    def column(self, shape: ColumnShape) -> Column:
        if shape.type and shape.data_type:
            place = shape.places["data_type"]
            self.at(place, "MS107", "'data_type' and 'type' say the same", "keep type")
        expression = self.expression(shape.from_)
        return Column(
            name=shape.name,
            location=self.location(shape),
            type=self.type(shape.type or shape.data_type),
            nullable=shape.nullable,
            description=shape.description,
            expression=expression[0] if expression else None,
            expression_location=expression[1] if expression else None,
            tests=self.tests(shape.tests, shape.data_tests, column=True),
            tags=names(shape.tags),
            meta=shape.meta | ({"distinct": shape.distinct} if shape.distinct else {}),
        )

    def expression(self, raw: Raw | None) -> tuple[str, Location] | None:
        """Return SQL with the place of its text, inside the quotes."""
        if raw is None:
            return None
        node: Node = raw.node
        if not isinstance(node, ScalarNode) or not str(node.value).strip():
            self.problem(
                node, "MS107", "'from' is an SQL expression", 'write from: "timestamp_millis(timestamp)"'
            )
            return None
        start, stop = span(self.text, node)
        first = inside(self.text, node, 0)
        return str(node.value), self.text.location(first, stop - (first - start) if node.style else stop)

    def type(self, raw: Raw | None) -> Type | None:
        if raw is None:
            return None
        node: Node = raw.node
        if not isinstance(node, ScalarNode) or node.tag.endswith(":null"):
            self.problem(node, "MS107", "'type' is a text", "write a Spark SQL type, such as type: string")
            return None
        try:
            return parse_type(str(node.value))
        except TypeSyntaxError as error:
            first = inside(self.text, node, error.offset)
            remedy = did_you_mean(
                error.name, NAMES, "use a Spark SQL type, such as string, bigint, double, timestamp"
            )
            if not error.name:
                remedy = "write it as in struct<id: bigint, tags: array<string>>"
            stop = first + max(1, len(error.name))
            self.diagnostics.append(at(self.text, first, stop, "MS107", str(error), remedy))
            return None

    def tests(self, *raws: Raw | None, column: bool = False) -> tuple[DataTest, ...]:
        return tuple(
            test for raw in raws if raw is not None for test in read_tests(self, raw.node, column=column)
        )


def names(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
