"""YAML files of properties: sources, models, seeds, exposures, metrics and unit tests as values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import Struct, to_builtins
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from millstream.errors import Diagnostic, Note, at, did_you_mean
from millstream.project.data_tests import read_tests
from millstream.project.schema import Raw, Reader, Shape
from millstream.project.shapes import (
    ColumnShape,
    ExposureShape,
    FunctionShape,
    MetricShape,
    ModelShape,
    OwnerShape,
    PropertiesShape,
    SeedShape,
    SourceShape,
    TopicShape,
    UnitTestShape,
)
from millstream.project.values import (
    Column,
    DataTest,
    Exposure,
    Key,
    Metric,
    ModelProperties,
    Topic,
    UnitTest,
    Watermark,
)
from millstream.project.yaml import parse_yaml, plain, span
from millstream.text import Location, Text
from millstream.types import NAMES, STRING, Type, TypeSyntaxError, parse_type

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
METADATA = frozenset(("_key", "_topic", "_partition", "_offset", "_timestamp", "_headers"))
FORMATS = ("json", "avro", "protobuf", "csv", "xml", "string", "long", "binary")
_REFERENCE = re.compile(
    r"""\s*(?:ref\(\s*['"](?P<ref>\w+)['"]\s*\)|source\(\s*['"](?P<source>\w+)['"]\s*,\s*['"](?P<topic>[\w.-]+)['"]\s*\)|(?P<name>\w+))\s*\Z"""
)


class SeedProperties(Struct, frozen=True):
    name: str
    location: Location
    description: str = ""
    columns: tuple[Column, ...] = ()
    tests: tuple[DataTest, ...] = ()
    tags: tuple[str, ...] = ()
    meta: dict[str, Any] = {}


class FunctionProperties(Struct, frozen=True):
    name: str
    location: Location
    description: str = ""
    cost: str = "medium"


class PropertiesFile(Struct, frozen=True):
    """What one YAML file says."""

    sources: tuple[Topic, ...] = ()
    models: tuple[ModelProperties, ...] = ()
    seeds: tuple[SeedProperties, ...] = ()
    functions: tuple[FunctionProperties, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    metrics: tuple[Metric, ...] = ()
    unit_tests: tuple[UnitTest, ...] = ()


def read_properties(text: Text, render: Callable[[str], Any] | None = None) -> tuple[PropertiesFile, list[Diagnostic]]:
    """Read a YAML file; what fits is returned even where something else is wrong."""
    node, diagnostics = parse_yaml(text)
    if node is None:
        return PropertiesFile(), diagnostics
    reader = _Properties(text, render)
    reader.diagnostics += diagnostics
    shape = reader.read(node, PropertiesShape)
    if shape is None:
        return PropertiesFile(), reader.diagnostics
    found = PropertiesFile(
        sources=tuple(topic for source in shape.sources for topic in reader.topics(source)),
        models=tuple(map(reader.model, shape.models)),
        seeds=tuple(map(reader.seed, shape.seeds)),
        functions=tuple(map(reader.function, shape.functions)),
        exposures=tuple(map(reader.exposure, shape.exposures)),
        metrics=tuple(map(reader.metric, shape.metrics)),
        unit_tests=tuple(map(reader.unit_test, shape.unit_tests)),
    )
    return found, reader.diagnostics


Named = TypeVar("Named", bound=Shape)


class _Properties(Reader):
    """Turns checked shapes into values, and checks what a type alone can't."""

    def location(self, shape: Shape, key: str = "name") -> Location:
        return shape.places.get(key, shape.place)

    def at(self, location: Location, code: str, message: str, remedy: str, *notes: Note) -> None:
        self.diagnostics.append(Diagnostic(code, message, location, remedy, self.text.line(location.line), notes))

    def named(self, shape: Shape, name: str, what: str) -> None:
        if not IDENTIFIER.match(name):
            self.at(
                self.location(shape), "MS110", f"'{name}' can't be the name of a {what}",
                "use letters, digits and '_', not beginning with a digit",
            )

    def once(self, shapes: Iterable[Named], name: Callable[[Named], str], what: str) -> None:
        """Every name may be given once in a list."""
        seen: dict[str, Named] = {}
        for shape in shapes:
            key = name(shape).lower()
            if key in seen:
                note = Note("first given here", self.location(seen[key]))
                self.at(self.location(shape), "MS109", f"{what} '{name(shape)}' is given twice", "keep one", note)
            seen.setdefault(key, shape)

    # -- columns

    def columns(self, shapes: list[ColumnShape], *, metadata: bool = False) -> tuple[Column, ...]:
        self.once(shapes, lambda shape: shape.name, "column")
        for shape in shapes:
            if metadata and shape.name.lower() in METADATA:
                self.at(
                    self.location(shape), "MS110", f"'{shape.name}' is a metadata column of every topic",
                    "give the column another name",
                )
        return tuple(self.column(shape) for shape in shapes)

    def column(self, shape: ColumnShape) -> Column:
        expression = shape.from_.node if shape.from_ else None
        meta = shape.meta | ({"distinct": shape.distinct} if shape.distinct else {})
        return Column(
            name=shape.name,
            location=self.location(shape),
            type=self.type(shape.type),
            nullable=shape.nullable,
            description=shape.description,
            expression=str(expression.value) if isinstance(expression, ScalarNode) else None,
            expression_location=self.place(expression) if expression is not None else None,
            tests=self.tests(shape.tests, shape.data_tests, column=True),
            tags=names(shape.tags),
            meta=meta,
        )

    def type(self, raw: Raw | None) -> Type | None:
        if raw is None:
            return None
        node = raw.node
        if not isinstance(node, ScalarNode):
            self.problem(node, "MS107", "'type' is a text", "write a Spark SQL type, such as string")
            return None
        try:
            return parse_type(str(node.value))
        except TypeSyntaxError as error:
            start, stop = span(self.text, node)
            quote = 1 if node.style in {"'", '"'} else 0
            first = start + quote + error.offset
            width = max(1, len(error.name)) if error.name else 1
            remedy = did_you_mean(error.name, NAMES, "use a Spark SQL type") if error.name else "mend the type"
            self.diagnostics.append(at(self.text, first, min(first + width, stop), "MS107", str(error), remedy))
            return None

    def tests(self, *raws: Raw | None, column: bool = False) -> tuple[DataTest, ...]:
        found: list[DataTest] = []
        for raw in raws:
            if raw is not None:
                found += read_tests(self, raw.node, column=column)
        return tuple(found)

    # -- sources

    def topics(self, source: SourceShape) -> list[Topic]:
        self.named(source, source.name, "source")
        self.once(source.topics, lambda shape: shape.name, "topic")
        return [self.topic(source, shape) for shape in source.topics]

    def topic(self, source: SourceShape, shape: TopicShape) -> Topic:
        self.named(shape, shape.name, "source's topic")
        format_ = shape.format or source.format or "json"
        owner = shape if shape.format else source
        if format_ not in FORMATS and not format_.startswith("python:"):
            self.at(
                self.location(owner, "format"), "MS107", f"unknown format '{format_}'",
                did_you_mean(format_, FORMATS, f"one of {', '.join(FORMATS)}, python:<function>"),
            )
        columns = self.columns(shape.columns, metadata=True)
        key = Key(shape.key.name, self.type(shape.key.type) or STRING) if shape.key else None
        if shape.table and key is None:
            self.at(
                self.location(shape), "MS108", f"reference table '{shape.name}' has no key",
                "add `key: {name: …}`: a table keeps the latest value per key",
            )
        watermark = None
        if shape.watermark:
            watermark = Watermark(shape.watermark.column, shape.watermark.delay, shape.watermark.place)
            known = [column.name for column in columns] + ([key.name] if key else []) + ["_timestamp"]
            if watermark.column.lower() not in {name.lower() for name in known} and columns:
                self.at(
                    self.location(shape.watermark, "column"), "MS117", f"there is no column '{watermark.column}'",
                    did_you_mean(watermark.column, known, "name a column of this topic"),
                )
        hints = ("partitions", "replication", "topic_config", "options", "starting", "max_rows_per_trigger", "rows_per_second")
        return Topic(
            source=source.name,
            name=shape.name,
            topic=shape.topic or shape.name,
            location=self.location(shape),
            columns=columns,
            key=key,
            format=format_,
            schema=shape.schema,
            table=shape.table,
            watermark=watermark,
            on_bad_record=shape.on_bad_record or source.on_bad_record or "fail",
            description=shape.description,
            tags=tuple(dict.fromkeys((*names(source.tags), *names(shape.tags)))),
            owner=shape.owner or source.owner,
            meta=source.meta | shape.meta,
            tests=self.tests(shape.tests, shape.data_tests),
            options={name: value for name in hints if (value := getattr(shape, name)) not in (None, {})},
        )

    # -- models and the rest

    def model(self, shape: ModelShape) -> ModelProperties:
        config: dict[str, Any] = {}
        places: dict[str, Location] = {}
        if shape.config is not None:
            node: Node = shape.config.node
            if isinstance(node, MappingNode):
                config = self.value(node, Any, "config")
                places = {str(key.value): self.place(value) for key, value in node.value}
            else:
                self.problem(node, "MS107", "'config' is a mapping", "write config: {materialized: sink}")
        hints = {"keeps": shape.keeps, "rows_per_second": shape.rows_per_second}
        return ModelProperties(
            name=shape.name,
            location=self.location(shape),
            description=shape.description,
            columns=self.columns(shape.columns),
            config=config,
            config_locations=places,
            tests=self.tests(shape.tests, shape.data_tests),
            tags=names(shape.tags),
            owner=shape.owner,
            meta=shape.meta,
            hints={name: value for name, value in hints.items() if value is not None},
        )

    def seed(self, shape: SeedShape) -> SeedProperties:
        return SeedProperties(
            shape.name,
            self.location(shape),
            shape.description,
            self.columns(shape.columns),
            self.tests(shape.tests, shape.data_tests),
            names(shape.tags),
            shape.meta,
        )

    def function(self, shape: FunctionShape) -> FunctionProperties:
        return FunctionProperties(shape.name, self.location(shape), shape.description, shape.cost)

    def exposure(self, shape: ExposureShape) -> Exposure:
        self.named(shape, shape.name, "exposure")
        depends: list[str] = []
        if shape.depends_on is not None:
            node = shape.depends_on.node
            for item in node.value if isinstance(node, SequenceNode) else [node]:
                if (found := reference(str(plain(item)))) is None:
                    self.problem(item, "MS107", f"'{plain(item)}' is no relation", "write ref('model') or source('s', 't')")
                else:
                    depends.append(found)
        owner = shape.owner
        return Exposure(
            name=shape.name,
            location=self.location(shape),
            kind=shape.type,
            depends_on=tuple(depends),
            owner=(owner.name or owner.email) if isinstance(owner, OwnerShape) else owner,
            description=shape.description,
            url=shape.url,
            tags=names(shape.tags),
            meta=shape.meta,
        )

    def metric(self, shape: MetricShape) -> Metric:
        self.named(shape, shape.name, "metric")
        model = reference(shape.model) or shape.model
        return Metric(
            shape.name,
            self.location(shape),
            model,
            shape.expression,
            shape.description,
            tuple(shape.dimensions),
            names(shape.tags),
            shape.meta,
        )

    def unit_test(self, shape: UnitTestShape) -> UnitTest:
        body = {
            key: to_builtins(getattr(shape, key))
            for key in ("given", "expect", "steps", "at", "strict", "vars", "overrides", "expect_dead_letters", "expect_error")
            if key in shape.places
        }
        return UnitTest(
            shape.name, self.location(shape, "model"), shape.model.removeprefix("+"), shape.description, names(shape.tags), body
        )


def names(value: str | list[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def reference(text: str) -> str | None:
    """Return the node id of `ref('x')`, `source('s', 't')` or a bare model name."""
    found = _REFERENCE.match(text)
    if found is None:
        return None
    if found["source"]:
        return f"source.{found['source']}.{found['topic']}"
    return f"model.{found['ref'] or found['name']}"
