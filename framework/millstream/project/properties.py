"""Reads YAML files of properties: sources, models, seeds, exposures, metrics and unit tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from yaml.nodes import Node, SequenceNode

from millstream.core.errors import Diagnostic
from millstream.core.node_id import NodeId
from millstream.core.text import FileText, Location
from millstream.project.columns import ColumnReader, column_names
from millstream.project.config import read_options
from millstream.project.references import model_in, parse_reference
from millstream.project.schema import RawValue, Shape, keys_of
from millstream.project.shapes import (
    ExposureShape,
    FunctionShape,
    HintsShape,
    LogShape,
    MetricShape,
    ModelShape,
    OwnerShape,
    SeedShape,
    UnitTestShape,
)
from millstream.project.source_shapes import PropertiesShape, SourceShape, kinds_for, properties_shape
from millstream.project.values import (
    DataTest,
    DeclaredColumn,
    DeclaredSource,
    Exposure,
    Metric,
    ModelLog,
    ModelProperties,
    UnitTest,
)
from millstream.project.yaml import node_value, parse_yaml
from millstream.sources.registry import KINDS, source_declaration


class SeedProperties(Struct, frozen=True):
    """The properties of a seed in YAML; dbt's `column_types` are among the columns."""

    name: str
    location: Location
    description: str = ""
    columns: tuple[DeclaredColumn, ...] = ()
    tests: tuple[DataTest, ...] = ()
    tags: tuple[str, ...] = ()
    meta: dict[str, Any] = {}
    config: dict[str, Any] = {}
    """`delimiter`."""


class FunctionProperties(Struct, frozen=True):
    name: str
    location: Location
    description: str = ""
    cost: str = "medium"
    runs: str = "auto"


class PropertiesFile(Struct, frozen=True):
    """The contents of one YAML file."""

    sources: tuple[DeclaredSource, ...] = ()
    models: tuple[ModelProperties, ...] = ()
    seeds: tuple[SeedProperties, ...] = ()
    functions: tuple[FunctionProperties, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    metrics: tuple[Metric, ...] = ()
    unit_tests: tuple[UnitTest, ...] = ()


def read_properties(
    text: FileText, render: Callable[[str], Any] | None = None
) -> tuple[PropertiesFile, list[Diagnostic]]:
    """Read a YAML file; valid parts are returned even if others are wrong."""
    node, diagnostics = parse_yaml(text)
    if node is None:
        return PropertiesFile(), diagnostics
    reader = _Properties(text, render)
    reader.diagnostics += diagnostics
    kinds = kinds_for(node)
    shape = reader.read(node, properties_shape(kinds))
    if shape is None:
        return PropertiesFile(), reader.diagnostics
    return reader.file(shape, kinds), reader.diagnostics


class _Properties(ColumnReader):
    """Reads the parts of one file."""

    def file(self, shape: PropertiesShape, kinds: tuple[str, ...]) -> PropertiesFile:
        for what in ("model", "seed", "function", "exposure", "metric"):
            self.check_unique(getattr(shape, f"{what}s"), lambda shape: str(shape.name), what)
        self.check_unique(shape.unit_tests, lambda test: f"{test.model}.{test.name}", "unit test")
        return PropertiesFile(
            sources=read_sources(self, shape.sources, kinds),
            models=tuple(map(self.model, shape.models)),
            seeds=tuple(map(self.seed, shape.seeds)),
            functions=tuple(map(self.function, shape.functions)),
            exposures=tuple(map(self.exposure, shape.exposures)),
            metrics=tuple(map(self.metric, shape.metrics)),
            unit_tests=tuple(map(self.unit_test, shape.unit_tests)),
        )

    def model(self, shape: ModelShape) -> ModelProperties:
        self.check_name(shape, shape.name, "model")
        config, locations, lines = read_options(self, shape.config)
        return ModelProperties(
            name=shape.name,
            location=self.location(shape),
            description=shape.description,
            columns=self.columns(shape.columns),
            config=config,
            config_locations=locations,
            config_lines=lines,
            tests=self.tests(shape.tests, shape.data_tests),
            tags=column_names(shape.tags),
            owner=shape.owner,
            meta=shape.meta,
            hints=_hints(shape, shape.hints),
            log=self.log(shape.log) if shape.log else None,
        )

    def log(self, shape: LogShape) -> ModelLog:
        return ModelLog(
            self.location(shape),
            shape.when or "",
            self.location(shape, "when"),
            tuple(shape.columns),
            self.location(shape, "columns"),
            shape.level,
            shape.sample,
            shape.per_minute,
        )

    def seed(self, shape: SeedShape) -> SeedProperties:
        self.check_name(shape, shape.name, "seed")
        columns = self.columns(shape.columns)
        config = shape.config
        if config:
            declared = {column.name.lower() for column in columns}
            types = {
                name: raw for name, raw in config.column_types.items() if raw and name.lower() not in declared
            }
            columns += tuple(
                DeclaredColumn(name, self.locate(raw.node), self.type(raw)) for name, raw in types.items()
            )
        return SeedProperties(
            shape.name,
            self.location(shape),
            shape.description,
            columns,
            self.tests(shape.tests, shape.data_tests),
            tuple(dict.fromkeys((*column_names(shape.tags), *(column_names(config.tags) if config else ())))),
            shape.meta | (config.meta if config else {}),
            {"delimiter": config.delimiter} if config and config.delimiter else {},
        )

    def function(self, shape: FunctionShape) -> FunctionProperties:
        return FunctionProperties(shape.name, self.location(shape), shape.description, shape.cost, shape.runs)

    def exposure(self, shape: ExposureShape) -> Exposure:
        self.check_name(shape, shape.name, "exposure")
        depends = self.references(shape.depends_on)
        owner = shape.owner
        return Exposure(
            name=shape.name,
            location=self.location(shape),
            kind=shape.type,
            depends_on=tuple(depends),
            depends_on_locations=tuple(depends.values()),
            owner=(owner.name or owner.email) if isinstance(owner, OwnerShape) else owner,
            description=shape.description,
            url=shape.url,
            tags=column_names(shape.tags),
            meta=shape.meta,
        )

    def references(self, raw: RawValue | None) -> dict[NodeId, Location]:
        """Return ids of relations with their locations."""
        locations: dict[NodeId, Location] = {}
        node: Node | None = raw.node if raw else None
        for item in node.value if isinstance(node, SequenceNode) else [node] if node else []:
            value = node_value(item)
            id_ = parse_reference(value) if isinstance(value, str) else None
            if id_:
                locations.setdefault(id_, self.locate(item))
            else:
                shown = f"'{value}'" if isinstance(value, str) else "this"
                message = f"{shown} is not a relation"
                self.report(item, "MS107", message, "write ref('model') or source('source', 'topic')")
        return locations

    def metric(self, shape: MetricShape) -> Metric:
        self.check_name(shape, shape.name, "metric")
        model = parse_reference(shape.model)
        if model is None:
            message = f"'{shape.model}' is not a model"
            self.report_at(
                self.location(shape, "model"), "MS107", message, "write model: ref('name'), or its name"
            )
        return Metric(
            shape.name,
            self.location(shape),
            model or NodeId("model", shape.model),
            shape.expression,
            shape.description,
            tuple(shape.dimensions),
            column_names(shape.tags),
            shape.meta,
            self.location(shape, "model"),
            shape.type,
            shape.where,
            tuple(shape.buckets),
            shape.most,
        )

    def unit_test(self, shape: UnitTestShape) -> UnitTest:
        self.check_name(shape, shape.name, "unit test")
        body = {key: value for key, value in _written(shape).items() if key not in _ABOUT}
        chain, model = shape.model.strip().startswith("+"), shape.model.strip().removeprefix("+")
        model = model_in(model)
        location = self.location(shape, "model")
        return UnitTest(shape.name, location, model, shape.description, column_names(shape.tags), body, chain)


_ABOUT = frozenset(("name", "model", "description", "tags", "meta"))


def _written(value: Any) -> Any:
    """Return a shape as it was written, without defaults."""
    if isinstance(value, Shape):
        keys = keys_of(type(value)).values()
        return {
            key.name: _written(getattr(value, key.attribute)) for key in keys if key.name in value.locations
        }
    if isinstance(value, list):
        return [_written(inner) for inner in value]
    return value


def _hints(shape: ModelShape, hints: HintsShape | None) -> dict[str, Any]:
    hint_values = {"keeps": shape.keeps, "rows_per_second": shape.rows_per_second}
    if hints:
        hint_values |= {
            name: value
            for name in ("keeps", "rows_per_second", "distinct")
            if (value := getattr(hints, name))
        }
    return {name: value for name, value in hint_values.items() if value is not None}


def read_sources(
    reader: ColumnReader, shapes: list[SourceShape], kinds: tuple[str, ...] = KINDS
) -> tuple[DeclaredSource, ...]:
    """Return what all sources declare; a source may be written in several parts."""
    declared: list[tuple[str, SourceShape, Shape]] = []
    for source in shapes:
        reader.check_name(source, source.name, "source")
        for kind in kinds:
            source_declaration(kind).check(reader, source)
            declared += [(kind, source, shape) for shape in getattr(source, source_declaration(kind).key)]
    names = {id(shape): f"{source.name}.{getattr(shape, 'name', '')}" for _, source, shape in declared}
    titles = " or ".join(dict.fromkeys(source_declaration(kind).title for kind, _, _ in declared))
    reader.check_unique([shape for _, _, shape in declared], lambda shape: names[id(shape)], titles)
    return tuple(source_declaration(kind).read(reader, source, shape) for kind, source, shape in declared)
