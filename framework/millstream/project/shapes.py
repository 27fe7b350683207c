"""The shapes of a project's YAML files, for validation and for completion in editors."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from millstream.core.durations import PATTERN
from millstream.formats.registry import KEY, FormatName, Framing
from millstream.project.schema import RawValue, Shape


def describe_key(description: str, *, verbatim: bool = False) -> Meta:
    """Describe a key; a `verbatim` value may hold `{{` without being a template."""
    return Meta(description=description, extra={"verbatim": True} if verbatim else None)


Names = str | list[str]
Description = Annotated[str, describe_key("a description for readers", verbatim=True)]
OnBadRecord = Literal["fail", "skip", "dead_letter"]
Tests = Annotated[
    RawValue | None,
    Meta(
        description="data tests: not_null, unique, {accepted_values: {values: [...]}}, ...",
        extra_json_schema={"$ref": "#/$defs/Tests"},
    ),
]
SqlType = Annotated[
    RawValue | None,
    Meta(
        description="a Spark SQL type, such as string or struct<id: bigint, tags: array<string>>",
        extra_json_schema={"type": "string"},
    ),
]
Duration = Annotated[
    str,
    Meta(pattern=f"^{PATTERN}$", title="a duration", examples=["10 seconds", "1 hour 30 minutes"]),
]
DurationOrAll = Annotated[
    str,
    Meta(pattern=f"^(all|{PATTERN})$", title="a duration, or all", examples=["30 days", "all"]),
]
Positive = Annotated[int, Meta(ge=1, title="a whole number from 1")]
NotNegative = Annotated[int, Meta(ge=0, title="a whole number from 0")]
Rate = Annotated[float, Meta(gt=0, title="a number above 0")]
Share = Annotated[float, Meta(gt=0, le=1, title="a number above 0, at most 1")]
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


Time = Annotated[
    str,
    Meta(
        pattern=r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$",
        title="a time",
        examples=["2026-01-31", "2026-01-31 12:00:00"],
    ),
]


class ColumnShape(Shape):
    words: ClassVar[dict[str, str]] = {
        "quote": "remove it: write the name as it is",
        "constraints": "write tests: [not_null], or nullable: false",
    }

    name: Annotated[str, describe_key("the column's name")]
    type: SqlType = None
    data_type: SqlType = None
    description: Description = ""
    nullable: Annotated[bool, describe_key("whether the column can be NULL")] = True
    from_: Annotated[
        RawValue | None,
        Meta(
            description="SQL that computes the column when a record is decoded",
            extra_json_schema={"type": "string"},
        ),
    ] = field(default=None, name="from")
    tests: Tests = None
    data_tests: Tests = None
    tags: Annotated[Names, describe_key("labels to select by")] = []
    meta: Annotated[dict[str, Any], describe_key("free-form data for other tools")] = {}
    distinct: Annotated[Positive | None, describe_key("hint: the approximate number of distinct values")] = (
        None
    )


class SubjectShape(Shape):
    """A subject of a schema registry, by its name or by what it is named after."""

    subject: Annotated[str | None, describe_key("the subject, by default <topic>-value, or <topic>-key")] = (
        None
    )
    strategy: Annotated[
        Literal["topic_name", "record_name", "topic_record_name"] | None,
        describe_key("what the subject is named after, as in Confluent's serializers; by default topic_name"),
    ] = None
    record: Annotated[str | None, describe_key("the record's full name, for a strategy that needs it")] = None
    version: Annotated[
        Positive | None, describe_key("the version that has the columns, by default the newest")
    ] = None


class KeyShape(Shape):
    name: Annotated[str, describe_key("the name of the column that holds the record's key")]
    type: SqlType = None
    format: Annotated[FormatName | None, describe_key(f"how keys are encoded, by default {KEY.name}")] = None
    format_options: Annotated[dict[str, str | bool], describe_key("options of the format")] = {}
    schema: Annotated[
        SubjectShape | str | None,
        describe_key("what describes the keys: a file such as schemas/x.avsc, registry, or a subject"),
    ] = None
    message: Annotated[str | None, describe_key("the message, if a Protobuf schema has several: shop.Id")] = (
        None
    )
    framing: Annotated[
        Framing | None, describe_key("confluent: a schema's id precedes each key; plain, the default: no id")
    ] = None


class WatermarkShape(Shape):
    column: Annotated[str, describe_key("the event time column")]
    delay: Annotated[Duration, describe_key("how late rows may be, such as 10 seconds")]


class HintsShape(Shape):
    """Hints for the optimizer: none of them changes a result."""

    rows_per_second: Annotated[Rate | None, describe_key("the approximate number of records per second")] = (
        None
    )
    distinct: Annotated[
        dict[str, Positive], describe_key("the approximate number of distinct values, by column")
    ] = {}
    keeps: Annotated[Share | None, describe_key("the share of rows that its filter keeps")] = None


LogLevel = Literal["debug", "info", "warning", "error"]


class LogShape(Shape):
    """The rows of a model that `run` writes to its log."""

    when: Annotated[str | None, describe_key("a condition over the model's columns, by default all rows")] = (
        None
    )
    columns: Annotated[list[str], describe_key("the columns to log, by default all")] = []
    level: Annotated[LogLevel, describe_key("the level of their lines")] = "info"
    sample: Annotated[Share, describe_key("the share of these rows that is logged, chosen at random")] = 1
    per_minute: Annotated[
        Positive, describe_key("the most lines per minute; how many rows are left out is logged, too")
    ] = 60


class ModelShape(Shape):
    name: Annotated[str, describe_key("the model's file name without .sql")]
    description: Description = ""
    config: Annotated[RawValue | None, describe_key("options as in {{ config(...) }}")] = None
    columns: list[ColumnShape] = []
    tests: Tests = None
    data_tests: Tests = None
    tags: Names = []
    owner: str | None = None
    meta: dict[str, Any] = {}
    keeps: Annotated[Share | None, describe_key("hint: the share of rows that its filter keeps")] = None
    rows_per_second: Annotated[
        Rate | None, describe_key("hint: the approximate number of rows per second")
    ] = None
    hints: Annotated[HintsShape | None, describe_key("hints for the optimizer")] = None
    log: Annotated[LogShape | None, describe_key("rows that `run` writes to its log")] = None


class SeedConfigShape(Shape):
    words: ClassVar[dict[str, str]] = {"quote_columns": "remove it: names are taken as they are"}

    column_types: Annotated[
        dict[str, SqlType], describe_key("types by column, as in dbt; or write them in columns")
    ] = {}
    delimiter: Annotated[str | None, describe_key("the field separator, by default a comma")] = None
    tags: Names = []
    meta: dict[str, Any] = {}


class SeedShape(Shape):
    name: Annotated[str, describe_key("the seed's file name without .csv")]
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
    cost: Annotated[Literal["low", "medium", "high"], describe_key("the cost of a call")] = "medium"
    runs: Annotated[
        Literal["auto", "native", "python"],
        describe_key(
            "auto: in the JVM if its translation provably does the same; native: a compile error if that is "
            "impossible; python: always in Python"
        ),
    ] = "auto"


class OwnerShape(Shape):
    name: str | None = None
    email: str | None = None


class ExposureShape(Shape):
    name: str
    type: Literal["dashboard", "notebook", "analysis", "ml", "application"] = "application"
    label: str | None = None
    description: Description = ""
    url: str | None = None
    owner: Annotated[OwnerShape | str | None, describe_key("who to contact")] = None
    depends_on: Annotated[
        RawValue | None,
        Meta(
            description="ref('model') or source('source', 'topic')",
            extra_json_schema={"type": ["array", "string"], "items": {"type": "string"}},
        ),
    ] = None
    maturity: Literal["high", "medium", "low"] | None = None
    tags: Names = []
    meta: dict[str, Any] = {}


MetricType = Literal["counter", "gauge", "histogram", "timer", "meter"]


class MetricShape(Shape):
    name: str
    model: Annotated[str, describe_key("ref('model') or its name")]
    expression: Annotated[
        str,
        describe_key(
            "an aggregate of the model's columns; of a histogram or a timer, a number of each row",
        ),
    ]
    type: Annotated[
        MetricType | None,
        describe_key("computed while queries run, for Prometheus; without it, for readers only"),
    ] = None
    where: Annotated[str | None, describe_key("with type: the rows that count")] = None
    buckets: Annotated[
        list[float],
        describe_key("histogram and timer: upper bounds, by default from 0.005 to 10 s for a timer"),
    ] = []
    most: Annotated[
        Positive, describe_key("with type: the most combinations of dimensions; all others count as one")
    ] = 100
    label: str | None = None
    description: Description = ""
    dimensions: Annotated[list[str], describe_key("columns by which it is divided")] = []
    tags: Names = []
    meta: dict[str, Any] = {}


Rows = Annotated[Any, describe_key("rows: a list of mappings, or CSV text", verbatim=True)]


class GivenShape(Shape):
    """The rows of one input."""

    input: Annotated[str, describe_key("ref('model') or source('source', 'topic')", verbatim=True)]
    rows: Rows = None
    format: Annotated[Literal["dict", "csv"] | None, describe_key("the format of rows")] = None
    fixture: Annotated[
        str | None, describe_key("a CSV file of rows, below tests/fixtures or the project")
    ] = None


class StepShape(Shape):
    """The rows of one micro-batch, and the rows expected after it."""

    inputs: Annotated[list[GivenShape], describe_key("the rows of each input")] = field(
        default_factory=list, name="given"
    )
    event_time: Annotated[
        str | None, describe_key("the event time reached after this step", verbatim=True)
    ] = field(default=None, name="at")
    expect: Annotated[Any, describe_key("the rows expected from this step", verbatim=True)] = None


class OverridesShape(Shape):
    """Replacements for parts of the project, in dbt's form."""

    words: ClassVar[dict[str, str]] = {"macros": "give the macro a variable, and set that under vars:"}

    vars: Annotated[dict[str, Any], describe_key("variables", verbatim=True)] = {}
    env_vars: Annotated[dict[str, Any], describe_key("environment variables", verbatim=True)] = {}
    functions: Annotated[
        dict[str, Any],
        describe_key("Python functions, each with the value that every call returns", verbatim=True),
    ] = {}


class UnitTestShape(Shape):
    name: str
    model: Annotated[str, describe_key("the tested model; +model: with all upstream models")]
    description: Description = ""
    inputs: Annotated[list[GivenShape], describe_key("the rows of each input")] = field(
        default_factory=list, name="given"
    )
    expect: Annotated[Any, describe_key("the expected rows", verbatim=True)] = None
    steps: Annotated[list[StepShape], describe_key("micro-batches with rows and expectations")] = []
    event_time: Annotated[str | None, describe_key("the event time reached", verbatim=True)] = field(
        default=None, name="at"
    )
    now: Annotated[str | None, describe_key("the value of current_timestamp()", verbatim=True)] = None
    strict: Annotated[
        bool | None, describe_key("run again with other micro-batches, and require the same result")
    ] = None
    vars: Annotated[dict[str, Any], describe_key("variables for this test", verbatim=True)] = {}
    overrides: Annotated[OverridesShape | None, describe_key("dbt's form: {vars, env_vars, functions}")] = (
        None
    )
    expect_dead_letters: Annotated[
        list[Any] | None, describe_key("the dead letters expected", verbatim=True)
    ] = None
    expect_error: Annotated[str | None, describe_key("a text in the expected error", verbatim=True)] = None
    tags: Names = []
    meta: dict[str, Any] = {}
