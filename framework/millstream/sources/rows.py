"""The keys that all sources of rows have in YAML: a kind adds its settings to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from msgspec.structs import replace

from millstream.core.text import Location
from millstream.project.columns import ColumnReader, column_names
from millstream.project.schema import Shape
from millstream.project.shapes import (
    ColumnShape,
    Description,
    HintsShape,
    Names,
    Tests,
    WatermarkShape,
    describe_key,
)
from millstream.project.values import DataTest, DeclaredColumn, RowSource
from millstream.sources.declaration import Declaration
from millstream.sources.registry import source_declaration


class RowShape(Shape):
    """The keys of a source of rows; the shape of a kind extends it."""

    name: Annotated[str, describe_key("the name in source('source', 'name')")]
    description: Description = ""
    columns: Annotated[list[ColumnShape], describe_key("its columns, with their types")] = []
    watermark: Annotated[
        WatermarkShape | None, describe_key("the event time column, and how late rows may be")
    ] = None
    tests: Tests = None
    data_tests: Tests = None
    hints: Annotated[HintsShape | None, describe_key("hints for the optimizer")] = None
    tags: Annotated[Names, describe_key("labels to select by")] = []
    owner: Annotated[str | None, describe_key("who to contact")] = None
    meta: Annotated[dict[str, Any], describe_key("free-form data for other tools")] = {}


def row_reader(
    kind: str, *settings: str, options: Sequence[str] = ()
) -> Callable[[ColumnReader, Any, Any], RowSource]:
    """Return a function that reads sources of a kind.

    `settings` are the keys of its shape that say which rows it has, `options` those of how they are read.
    """

    def read(reader: ColumnReader, source: Any, shape: Any) -> RowSource:
        declared = source_declaration(kind)
        reader.check_name(shape, shape.name, declared.title)
        metadata = {column.name: column.type for column in declared.metadata}
        columns = reader.columns(shape.columns, declared.title, metadata)
        if declared.columns:
            columns = _with_given(reader, declared, columns, reader.location(shape))
        if not columns:
            message = f"{declared.title} '{shape.name}' has no columns"
            reader.report_at(reader.location(shape), "MS108", message, "add `columns: [{name: …, type: …}]`")
        for column in columns:
            if column.type is None and column.expression is None:
                message = f"column '{column.name}' has no type"
                reader.report_at(column.location, "MS108", message, "add `type: …`")
        values = {name: getattr(shape, name) for name in (*settings, *options)}
        hints = shape.hints
        return RowSource(
            kind=kind,
            source=source.name,
            name=shape.name,
            location=reader.location(shape),
            columns=columns,
            watermark=reader.watermark(shape.watermark, columns, metadata),
            description=shape.description,
            tags=column_names(shape.tags),
            owner=shape.owner,
            meta=shape.meta,
            tests=tuple(
                _with_time(reader, declared, test) for test in reader.tests(shape.tests, shape.data_tests)
            ),
            settings={name: values[name] for name in settings if values[name] is not None},
            options={
                key: value
                for key in ("rows_per_second", "distinct", "keeps", *options)
                if (value := values.get(key) or (getattr(hints, key, None) if hints is not None else None))
            },
        )

    return read


def _with_time(reader: ColumnReader, kind: Declaration, test: DataTest) -> DataTest:
    """Return a test of freshness with the column that it reads by default."""
    if test.name != "freshness" or test.arguments.get("column"):
        return test
    if not kind.time:
        message = f"the rows of a {kind.title} have no time of their own"
        remedy = "name the column with their time: freshness: {within: …, column: …}"
        reader.report_at(test.location, "MS107", message, remedy)
    return replace(test, arguments={**test.arguments, "column": kind.time})


def _with_given(
    reader: ColumnReader, kind: Declaration, columns: tuple[DeclaredColumn, ...], location: Location
) -> tuple[DeclaredColumn, ...]:
    """Return the columns that all sources of a kind have, then computed ones; others are mistakes."""
    declared = {column.name.lower(): column for column in columns}
    of_kind = {column.name.lower(): column for column in kind.columns}
    for name, column in declared.items():
        type_ = of_kind[name].type if name in of_kind else None
        if type_ is None and column.expression is None:
            names = " and ".join(f"'{column.name}'" for column in kind.columns)
            message = f"a {kind.title} has no column '{column.name}'"
            reader.report_at(column.location, "MS107", message, f"compute it, `from: …`, of {names}")
        elif type_ is not None and (column.expression is not None or column.type not in {None, type_}):
            message = f"the column '{column.name}' of a {kind.title} is {type_}"
            remedy = "remove its type, or give the column another name"
            reader.report_at(column.location, "MS107", message, remedy)
    first = [
        replace(
            declared.get(name) or DeclaredColumn(column.name, location),
            type=column.type,
            nullable=column.nullable,
            expression=None,
            description=declared[name].description if name in declared else column.description,
        )
        for name, column in of_kind.items()
    ]
    return (*first, *(column for name, column in declared.items() if name not in of_kind))
