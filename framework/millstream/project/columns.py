"""The common parts of a properties file: names, columns, tests."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from yaml.nodes import Node, ScalarNode

from millstream.core.errors import Diagnostic, DiagnosticNote, diagnostic_at, did_you_mean
from millstream.core.text import Location
from millstream.core.type_names import type_remedy
from millstream.core.types import DATE, TIMESTAMP, TIMESTAMP_NTZ, UNKNOWN, Type, TypeSyntaxError, parse_type
from millstream.project.data_tests import read_tests
from millstream.project.references import IDENTIFIER, RESERVED, RESERVED_COLUMNS
from millstream.project.schema import RawValue, Shape, ShapeReader
from millstream.project.shapes import ColumnShape, WatermarkShape
from millstream.project.values import DataTest, DeclaredColumn, DeclaredWatermark
from millstream.project.yaml import node_span, offset_inside

_TIMES = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_QUOTABLE = re.compile(r"[^`\x00-\x20\x7f](?:[^`\x00-\x1f\x7f]*[^`\x00-\x20\x7f])?")
Named = TypeVar("Named", bound=Shape)


class ColumnReader(ShapeReader):
    """Converts checked shapes to values, and checks what types can't express."""

    def location(self, shape: Shape, key: str = "name") -> Location:
        return shape.locations.get(key, shape.location)

    def report_at(
        self, location: Location, code: str, message: str, remedy: str, *notes: DiagnosticNote
    ) -> None:
        line = self.text.line(location.line)
        self.diagnostics.append(Diagnostic(code, message, location, remedy, line, notes))

    def check_name(self, shape: Shape, name: str, what: str) -> None:
        if not IDENTIFIER.match(name):
            remedy = "use letters, digits and '_', not starting with a digit"
            self.report_at(self.location(shape), "MS110", f"'{name}' can't be the name of a {what}", remedy)
        elif name.lower() in RESERVED and what != "column":
            message = f"'{name}' is a reserved name"
            self.report_at(self.location(shape), "MS110", message, f"give the {what} another name")

    def check_unique(self, shapes: Iterable[Named], name: Callable[[Named], str], what: str) -> None:
        """Report names that are not unique."""
        seen: dict[str, Named] = {}
        for shape in shapes:
            key = name(shape).lower()
            if key in seen:
                note = DiagnosticNote("first defined here", self.location(seen[key]))
                message = f"{what} '{name(shape)}' is defined twice"
                self.report_at(self.location(shape), "MS109", message, "keep one of them", note)
            seen.setdefault(key, shape)

    def columns(
        self, shapes: list[ColumnShape], of: str = "", metadata: Collection[str] = ()
    ) -> tuple[DeclaredColumn, ...]:
        """Read columns; those of a source, such as a topic, can't have the names of its metadata columns."""
        self.check_unique(shapes, lambda shape: shape.name, "column")
        for shape in shapes:
            self.check_column(shape, shape.name)
            if shape.name.lower() in metadata:
                message = f"'{shape.name}' is a metadata column of every {of}"
                self.report_at(
                    self.location(shape), "MS110", message, "remove it, or give the column another name"
                )
            elif of and shape.name.lower() in RESERVED_COLUMNS:
                message = f"'{shape.name}' is a reserved column that queries add to rows"
                self.report_at(self.location(shape), "MS110", message, "remove it, or rename the column")
        return tuple(map(self.column, shapes))

    def check_column(self, shape: Shape, name: str) -> None:
        """Report a name that no SQL can quote; fields of JSON are called `user-id` or `with.dot`."""
        if not _QUOTABLE.fullmatch(name):
            message = f"'{name}' can't be the name of a column"
            remedy = "use no backtick, no line break, and no space at its start or end"
            self.report_at(self.location(shape), "MS110", message, remedy)

    def column(self, shape: ColumnShape) -> DeclaredColumn:
        if shape.type and shape.data_type:
            location = shape.locations["data_type"]
            self.report_at(location, "MS107", "'data_type' and 'type' are the same option", "keep only type")
        expression = self.expression(shape.from_)
        return DeclaredColumn(
            name=shape.name,
            location=self.location(shape),
            type=self.type(shape.type or shape.data_type),
            nullable=shape.nullable,
            description=shape.description,
            expression=expression[0] if expression else None,
            expression_location=expression[1] if expression else None,
            templated=expression[2] if expression else False,
            tests=self.tests(shape.tests, shape.data_tests, column=True),
            tags=column_names(shape.tags),
            meta=shape.meta | ({"distinct": shape.distinct} if shape.distinct else {}),
        )

    def expression(self, raw: RawValue | None) -> tuple[str, Location, bool] | None:
        """Return SQL with the location of its text inside the quotes, and whether it was a template."""
        if raw is None:
            return None
        node: Node = raw.node
        if not isinstance(node, ScalarNode) or not str(node.value).strip():
            message = "'from' must be an SQL expression"
            self.report(node, "MS107", message, 'write from: "timestamp_millis(timestamp)"')
            return None
        start, stop = node_span(self.text, node)
        first = offset_inside(self.text, node, 0)
        location = self.text.location(first, stop - (first - start) if node.style else stop)
        sql = self.rendered(node, str(node.value))
        return None if sql is None else (str(sql), location, sql != node.value)

    def type(self, raw: RawValue | None) -> Type | None:
        if raw is None:
            return None
        node: Node = raw.node
        if not isinstance(node, ScalarNode) or node.tag.endswith(":null"):
            message = "'type' must be a string"
            self.report(node, "MS107", message, "write a Spark SQL type, such as type: string")
            return None
        try:
            return parse_type(str(node.value))
        except TypeSyntaxError as error:
            first = offset_inside(self.text, node, error.offset)
            remedy = type_remedy(
                error.name, "use a Spark SQL type, such as string, bigint, double, timestamp"
            )
            if not error.name:
                remedy = "write it as in struct<id: bigint, tags: array<string>>"
            stop = first + max(1, len(error.name))
            self.diagnostics.append(diagnostic_at(self.text, first, stop, "MS107", str(error), remedy))
            return None

    def watermark(
        self, shape: WatermarkShape | None, columns: Sequence[DeclaredColumn], others: Mapping[str, Type]
    ) -> DeclaredWatermark | None:
        """Read a watermark over columns, or over others that rows have."""
        if shape is None:
            return None
        names = [*(column.name for column in columns), *others]
        if columns and shape.column.lower() not in {name.lower() for name in names}:
            times = [column.name for column in columns if column.type in (*_TIMES, UNKNOWN, None)]
            times += [name for name, type_ in others.items() if type_ in _TIMES]
            hint = did_you_mean(shape.column, times, f"name a timestamp: {', '.join(times)}")
            message = f"column '{shape.column}' does not exist"
            self.report_at(self.location(shape, "column"), "MS117", message, hint)
        return DeclaredWatermark(shape.column, shape.delay, shape.location)

    def tests(self, *raws: RawValue | None, column: bool = False) -> tuple[DataTest, ...]:
        return tuple(
            test for raw in raws if raw is not None for test in read_tests(self, raw.node, column=column)
        )


def column_names(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)
