"""What the YAML files of a project may say: the shapes that are checked, and that editors complete."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from millstream.formats import DEFAULT_FORMAT, Encoding
from millstream.project.schema import Raw, Shape


def about(description: str, *, verbatim: bool = False) -> Meta:
    """Describe a key; a `verbatim` value may hold `{{` without being a template."""
    return Meta(description=description, extra={"verbatim": True} if verbatim else None)


Names = str | list[str]
Description = Annotated[str, about("what it is, for people", verbatim=True)]
OnBadRecord = Literal["fail", "skip", "dead_letter"]
Tests = Annotated[
    Raw | None,
    Meta(
        description="data tests: not_null, unique, {accepted_values: {values: [...]}}, ...",
        extra_json_schema={"$ref": "#/$defs/Tests"},
    ),
]
SqlType = Annotated[
    Raw | None,
    Meta(
        description="a Spark SQL type, such as string or struct<id: bigint, tags: array<string>>",
        extra_json_schema={"type": "string"},
    ),
]
_UNIT = r"\d+(\.\d+)? (microsecond|millisecond|second|minute|hour|day|week|month|year)s?"
Duration = Annotated[
    str,
    Meta(pattern=f"^{_UNIT}( {_UNIT})*$", title="a duration", examples=["10 seconds", "1 hour 30 minutes"]),
]
Positive = Annotated[int, Meta(ge=1, title="a whole number from 1")]
Rate = Annotated[float, Meta(gt=0, title="a number above 0")]
Size = Annotated[str, Meta(pattern=r"^\d+ ?([kKmMgG][bB]?)$", title="a size", examples=["512 MB"])]
TopicName = Annotated[
    str,
    Meta(
        pattern=r"^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$",
        title="a Kafka topic (letters, digits, '.', '_', '-')",
        examples=["shop.events"],
    ),
]
Starting = Annotated[
    str,
    Meta(
        pattern=r"^(earliest|latest|\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?)$",
        title="earliest, latest or a time",
        examples=["earliest", "2026-01-31 12:00:00"],
    ),
]


class ColumnShape(Shape):
    words: ClassVar[dict[str, str]] = {
        "quote": "remove it: write the name as it is",
        "constraints": "write tests: [not_null], or nullable: false",
    }

    name: Annotated[str, about("the column's name")]
    type: SqlType = None
    data_type: SqlType = None
    description: Description = ""
    nullable: Annotated[bool, about("whether the column can be NULL")] = True
    from_: Annotated[
        Raw | None,
        Meta(
            description="SQL that the column is derived by when a record is decoded",
            extra_json_schema={"type": "string"},
        ),
    ] = field(default=None, name="from")
    tests: Tests = None
    data_tests: Tests = None
    tags: Annotated[Names, about("words to select by")] = []
    meta: Annotated[dict[str, Any], about("anything for other tools")] = {}
    distinct: Annotated[Positive | None, about("about how many different values there are, a hint")] = None


class KeyShape(Shape):
    name: Annotated[str, about("the column that a record's key is read as")]
    type: SqlType = None


class WatermarkShape(Shape):
    column: Annotated[str, about("the event time")]
    delay: Annotated[Duration, about("how late rows may come, such as 10 seconds")]


class HintsShape(Shape):
    """What the optimizer can't know: none of it changes a result."""

    rows_per_second: Annotated[Rate | None, about("about how many records come")] = None
    distinct: Annotated[dict[str, Positive], about("about how many different values columns have")] = {}
    keeps: Annotated[
        Annotated[float, Meta(gt=0, le=1, title="a number above 0, at most 1")] | None,
        about("the share of rows that its filter keeps"),
    ] = None


class TopicDefaults(Shape):
    """What a source may say once for all of its topics."""

    key: Annotated[KeyShape | str | None, about("the record's key as a column: a name, or {name, type}")] = (
        None
    )
    format: Annotated[Encoding | None, about(f"how values are encoded, by default {DEFAULT_FORMAT}")] = None
    watermark: Annotated[WatermarkShape | None, about("the event time and how late it may be")] = None
    on_bad_record: Annotated[OnBadRecord | None, about("what happens to a record that can't be decoded")] = (
        None
    )
    partitions: Annotated[Positive | None, about("partitions of a topic that is created")] = None
    replication: Annotated[Positive | None, about("replication factor of a topic that is created")] = None
    topic_config: Annotated[dict[str, Any], about("settings of a topic that is created")] = {}
    options: Annotated[
        dict[str, Any],
        about("options of Kafka's consumer, such as fetch.max.bytes, and of Spark's reader: minPartitions"),
    ] = {}
    starting: Annotated[Starting | None, about("where a new query begins: earliest, latest or a time")] = None
    max_rows_per_trigger: Annotated[Positive | None, about("read at most this many records in a batch")] = (
        None
    )
    min_rows_per_trigger: Annotated[
        Positive | None, about("wait for this many records, while `run` looks for new ones at intervals")
    ] = None
    max_trigger_delay: Annotated[Duration | None, about("but not longer than this")] = None
    rows_per_second: Annotated[Rate | None, about("about how many records come, a hint")] = None
    hints: Annotated[HintsShape | None, about("what the optimizer can't know")] = None
    tags: Annotated[Names, about("words to select by")] = []
    owner: Annotated[str | None, about("who to ask")] = None
    meta: Annotated[dict[str, Any], about("anything for other tools")] = {}


class TopicShape(TopicDefaults, kw_only=True):
    words: ClassVar[dict[str, str]] = {
        "identifier": "write topic: …",
        "schema": "declare its columns: columns: [{name: …, type: …}]",
        "freshness": "write tests: [{freshness: {within: 1 hour}}]",
    }

    name: Annotated[str, about("what source('source', 'name') calls it")]
    topic: Annotated[TopicName | None, about("the Kafka topic, by default the name")] = None
    description: Description = ""
    table: Annotated[bool, about("a reference table: the latest value per key, null deletes")] = False
    columns: Annotated[list[ColumnShape], about("what its values hold")] = []
    tests: Tests = None
    data_tests: Tests = None


class SourceShape(TopicDefaults, kw_only=True):
    words: ClassVar[dict[str, str]] = {
        "tables": "write topics: …",
        "schema": "declare the columns of its topics: columns: [{name: …, type: …}]",
        "database": "a source is a set of topics of the target's Kafka",
    }

    name: Annotated[str, about("what source('name', 'topic') calls it")]
    description: Description = ""
    topics: Annotated[list[TopicShape], about("its topics")] = []


class ModelShape(Shape):
    name: Annotated[str, about("the model's file name without .sql")]
    description: Description = ""
    config: Annotated[Raw | None, about("options as in {{ config(...) }}")] = None
    columns: list[ColumnShape] = []
    tests: Tests = None
    data_tests: Tests = None
    tags: Names = []
    owner: str | None = None
    meta: dict[str, Any] = {}
    keeps: Annotated[
        Annotated[float, Meta(gt=0, le=1, title="a number above 0, at most 1")] | None,
        about("the share of rows that its filter keeps, a hint for the optimizer"),
    ] = None
    rows_per_second: Annotated[Rate | None, about("about how many rows it gives, a hint")] = None
    hints: Annotated[HintsShape | None, about("what the optimizer can't know")] = None


class SeedConfigShape(Shape):
    words: ClassVar[dict[str, str]] = {"quote_columns": "remove it: names are taken as they are"}

    column_types: Annotated[
        dict[str, SqlType], about("types by column, as in dbt; or write them in columns")
    ] = {}
    delimiter: Annotated[str | None, about("what separates fields, by default a comma")] = None
    tags: Names = []
    meta: dict[str, Any] = {}


class SeedShape(Shape):
    name: Annotated[str, about("the seed's file name without .csv")]
    description: Description = ""
    config: SeedConfigShape | None = None
    columns: list[ColumnShape] = []
    tests: Tests = None
    data_tests: Tests = None
    tags: Names = []
    meta: dict[str, Any] = {}


class FunctionShape(Shape):
    name: str
    description: Description = ""
    cost: Annotated[Literal["low", "medium", "high"], about("how dear one call is")] = "medium"


class OwnerShape(Shape):
    name: str | None = None
    email: str | None = None


class ExposureShape(Shape):
    name: str
    type: Literal["dashboard", "notebook", "analysis", "ml", "application"] = "application"
    label: str | None = None
    description: Description = ""
    url: str | None = None
    owner: Annotated[OwnerShape | str | None, about("who to ask")] = None
    depends_on: Annotated[
        Raw | None,
        Meta(
            description="ref('model') or source('source', 'topic')",
            extra_json_schema={"type": ["array", "string"], "items": {"type": "string"}},
        ),
    ] = None
    maturity: Literal["high", "medium", "low"] | None = None
    tags: Names = []
    meta: dict[str, Any] = {}


class MetricShape(Shape):
    name: str
    model: Annotated[str, about("ref('model') or its name")]
    expression: Annotated[str, about("an aggregate of the model's columns", verbatim=True)]
    label: str | None = None
    description: Description = ""
    dimensions: list[str] = []
    tags: Names = []
    meta: dict[str, Any] = {}


Rows = Annotated[Any, about("rows: a list of mappings, or CSV text", verbatim=True)]


class GivenShape(Shape):
    """The rows of one input."""

    input: Annotated[str, about("ref('model') or source('source', 'topic')", verbatim=True)]
    rows: Rows = None
    format: Annotated[Literal["dict", "csv"] | None, about("how rows are written")] = None
    fixture: Annotated[str | None, about("a CSV file of rows, below tests/fixtures or the project")] = None


class StepShape(Shape):
    """Rows that come, and what is expected after them, as event time goes on."""

    given: Annotated[list[GivenShape], about("rows per input")] = []
    at: Annotated[str | None, about("the event time that has been reached then", verbatim=True)] = None
    expect: Annotated[Any, about("the rows that this step gives", verbatim=True)] = None


class OverridesShape(Shape):
    """dbt's form of what stands in for parts of the project."""

    words: ClassVar[dict[str, str]] = {"macros": "give the macro a variable, and set that under vars:"}

    vars: Annotated[dict[str, Any], about("variables", verbatim=True)] = {}
    env_vars: Annotated[dict[str, Any], about("environment variables", verbatim=True)] = {}
    functions: Annotated[
        dict[str, Any], about("Python functions, and what every call gives", verbatim=True)
    ] = {}


class UnitTestShape(Shape):
    name: str
    model: Annotated[str, about("the model that is tested; +model: all above it, too")]
    description: Description = ""
    given: Annotated[list[GivenShape], about("rows per input")] = []
    expect: Annotated[Any, about("the rows that come out", verbatim=True)] = None
    steps: Annotated[list[StepShape], about("rows and expectations as event time goes on")] = []
    at: Annotated[str | None, about("the event time that has been reached", verbatim=True)] = None
    now: Annotated[str | None, about("what current_timestamp() says", verbatim=True)] = None
    strict: Annotated[bool | None, about("run again, cut into other batches, and demand the same")] = None
    vars: Annotated[dict[str, Any], about("variables, for this test", verbatim=True)] = {}
    overrides: Annotated[OverridesShape | None, about("dbt's form: {vars, env_vars, functions}")] = None
    expect_dead_letters: Annotated[list[Any] | None, about("records that must be refused", verbatim=True)] = (
        None
    )
    expect_error: Annotated[str | None, about("the error that must come", verbatim=True)] = None
    tags: Names = []
    meta: dict[str, Any] = {}


class PropertiesShape(Shape):
    """A YAML file below models/, seeds/, macros/ or tests/."""

    words: ClassVar[dict[str, str]] = {
        "macros": "describe Python functions under functions:, Jinja macros by a comment in their file",
        "snapshots": "a table of materialized: table keeps the newest row per key",
        "selectors": "write them in selectors.yml",
        "semantic_models": "write metrics: with model and expression",
        "data_tests": "write tests: below a model, source or column",
    }

    version: int | None = None
    sources: list[SourceShape] = []
    models: list[ModelShape] = []
    seeds: list[SeedShape] = []
    functions: list[FunctionShape] = []
    exposures: list[ExposureShape] = []
    metrics: list[MetricShape] = []
    unit_tests: list[UnitTestShape] = []
