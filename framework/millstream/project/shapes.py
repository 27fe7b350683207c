"""What the YAML files of a project may say: the shapes that are checked, and that editors complete."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from millstream.project.schema import Raw, Shape


def about(description: str) -> Meta:
    return Meta(description=description)


Names = str | list[str]
Format = Literal["json", "avro", "protobuf", "csv", "xml", "string", "long", "binary"]
OnBadRecord = Literal["fail", "skip", "dead_letter"]
Tests = Annotated[Raw, about("data tests: not_null, unique, {accepted_values: {values: [...]}}, ...")]
SqlType = Annotated[Raw, about("a Spark SQL type, such as string or struct<id: bigint, tags: array<string>>")]


class ColumnShape(Shape):
    name: Annotated[str, about("the column's name")]
    type: SqlType | None = None
    description: str = ""
    nullable: Annotated[bool, about("whether the column can be NULL")] = True
    from_: Annotated[Raw | None, about("SQL that the column is derived by when a record is decoded")] = field(
        default=None, name="from"
    )
    tests: Tests | None = None
    data_tests: Tests | None = None
    tags: Names = []
    meta: dict[str, Any] = {}
    distinct: Annotated[int | None, about("about how many different values there are")] = None


class KeyShape(Shape):
    name: Annotated[str, about("the column that a record's key is read as")]
    type: SqlType | None = None


class WatermarkShape(Shape):
    column: Annotated[str, about("the event time")]
    delay: Annotated[str, about("how late rows may come, such as 10 seconds")]


class TopicShape(Shape):
    name: Annotated[str, about("what source('source', 'name') calls it")]
    topic: Annotated[str | None, about("the Kafka topic, by default the name")] = None
    description: str = ""
    table: Annotated[bool, about("a reference table: the latest value per key, null deletes")] = False
    key: KeyShape | None = None
    format: Annotated[str | None, about("how values are encoded: json, avro, ... or python:<function>")] = None
    schema: Annotated[str | None, about("registry, or a file: schemas/x.avsc, .proto, .json")] = None
    columns: list[ColumnShape] = []
    watermark: WatermarkShape | None = None
    on_bad_record: Annotated[OnBadRecord | None, about("what happens to a record that can't be decoded")] = None
    tests: Tests | None = None
    data_tests: Tests | None = None
    tags: Names = []
    owner: str | None = None
    meta: dict[str, Any] = {}
    partitions: int | None = None
    replication: int | None = None
    topic_config: dict[str, Any] = {}
    options: Annotated[dict[str, Any], about("options of the format")] = {}
    starting: Annotated[str | None, about("earliest, latest or a time")] = None
    max_rows_per_trigger: int | None = None
    rows_per_second: Annotated[float | None, about("a hint for the optimizer")] = None


class SourceShape(Shape):
    name: str
    description: str = ""
    topics: list[TopicShape] = []
    format: str | None = None
    on_bad_record: OnBadRecord | None = None
    tags: Names = []
    owner: str | None = None
    meta: dict[str, Any] = {}


class ModelShape(Shape):
    name: Annotated[str, about("the model's file name without .sql")]
    description: str = ""
    config: Annotated[Raw | None, about("options as in {{ config(...) }}")] = None
    columns: list[ColumnShape] = []
    tests: Tests | None = None
    data_tests: Tests | None = None
    tags: Names = []
    owner: str | None = None
    meta: dict[str, Any] = {}
    keeps: Annotated[float | None, about("the share of rows that its filter keeps, a hint for the optimizer")] = None
    rows_per_second: float | None = None


class SeedShape(Shape):
    name: str
    description: str = ""
    columns: list[ColumnShape] = []
    tests: Tests | None = None
    data_tests: Tests | None = None
    tags: Names = []
    meta: dict[str, Any] = {}


class FunctionShape(Shape):
    name: str
    description: str = ""
    cost: Annotated[Literal["low", "medium", "high"], about("how dear one call is")] = "medium"


class OwnerShape(Shape):
    name: str | None = None
    email: str | None = None


class ExposureShape(Shape):
    name: str
    type: Literal["dashboard", "notebook", "analysis", "ml", "application"] = "application"
    label: str | None = None
    description: str = ""
    url: str | None = None
    owner: Annotated[OwnerShape | str | None, about("who to ask")] = None
    depends_on: Annotated[Raw | None, about("ref('model') or source('source', 'topic')")] = None
    maturity: Literal["high", "medium", "low"] | None = None
    tags: Names = []
    meta: dict[str, Any] = {}


class MetricShape(Shape):
    name: str
    model: Annotated[str, about("ref('model') or its name")]
    expression: Annotated[str, about("an aggregate of the model's columns")]
    label: str | None = None
    description: str = ""
    dimensions: list[str] = []
    tags: Names = []
    meta: dict[str, Any] = {}


class UnitTestShape(Shape):
    name: str
    model: str
    description: str = ""
    given: Annotated[list[Any], about("rows per input")] = []
    expect: Annotated[Any, about("the rows that come out")] = None
    steps: Annotated[list[Any], about("rows and expectations as event time goes on")] = []
    at: str | None = None
    strict: bool | None = None
    vars: dict[str, Any] = {}
    overrides: dict[str, Any] = {}
    expect_dead_letters: list[Any] = []
    expect_error: str | None = None
    tags: Names = []


class PropertiesShape(Shape):
    """A YAML file below models/, seeds/, macros/ or tests/."""

    version: int | None = None
    sources: list[SourceShape] = []
    models: list[ModelShape] = []
    seeds: list[SeedShape] = []
    functions: list[FunctionShape] = []
    exposures: list[ExposureShape] = []
    metrics: list[MetricShape] = []
    unit_tests: list[UnitTestShape] = []
