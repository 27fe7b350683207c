"""The keys of topics in YAML."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from millstream.formats.registry import DEFAULT_FORMAT, Decoding, FormatName, Framing
from millstream.project.schema import Shape
from millstream.project.shapes import (
    ColumnShape,
    Description,
    Duration,
    DurationOrAll,
    HintsShape,
    KeyShape,
    Names,
    OnBadRecord,
    Positive,
    Rate,
    Starting,
    SubjectShape,
    Tests,
    TopicName,
    WatermarkShape,
    about,
)


class TopicDefaults(Shape):
    """Keys that a source can set once for all of its topics."""

    key: Annotated[
        KeyShape | str | None, about("the record's key as a column: a name, or {name, type, format, …}")
    ] = None
    format: Annotated[FormatName | None, about(f"how values are encoded, by default {DEFAULT_FORMAT}")] = None
    format_options: Annotated[
        dict[str, str | bool], about("options of the format: csv has delimiter, quote, escape and header")
    ] = {}
    framing: Annotated[
        Framing | None,
        about("confluent: a schema's id precedes each value; plain, the default: no id"),
    ] = None
    decoding: Annotated[
        Decoding | None,
        about(
            "strict, the default: a value is never changed or invented; lenient: as Spark's functions decode"
        ),
    ] = None
    watermark: Annotated[WatermarkShape | None, about("the event time column, and how late rows may be")] = (
        None
    )
    on_bad_record: Annotated[OnBadRecord | None, about("what happens to a record that can't be decoded")] = (
        None
    )
    deduplicate: Annotated[
        Literal["position"] | None,
        about("position: drop records that another project's sink sent again after a failure"),
    ] = None
    partitions: Annotated[Positive | None, about("partitions of a new topic")] = None
    replication: Annotated[Positive | None, about("replication factor of a new topic")] = None
    topic_config: Annotated[dict[str, Any], about("settings of a new topic")] = {}
    options: Annotated[
        dict[str, Any],
        about("options of Kafka's consumer, such as fetch.max.bytes, and of Spark's reader: minPartitions"),
    ] = {}
    starting: Annotated[Starting | None, about("where a new query starts: earliest, latest or a time")] = None
    max_rows_per_trigger: Annotated[Positive | None, about("read at most this many records in a batch")] = (
        None
    )
    min_rows_per_trigger: Annotated[
        Positive | None, about("records that a batch of `run` waits for, if its trigger is an interval")
    ] = None
    max_trigger_delay: Annotated[Duration | None, about("the maximum wait for `min_rows_per_trigger`")] = None
    rows_per_second: Annotated[Rate | None, about("hint: the approximate number of records per second")] = (
        None
    )
    hints: Annotated[HintsShape | None, about("hints for the optimizer")] = None
    tags: Annotated[Names, about("labels to select by")] = []
    owner: Annotated[str | None, about("who to contact")] = None
    meta: Annotated[dict[str, Any], about("free-form data for other tools")] = {}


NO_CONFIG = "write the keys inside it one level higher, without config:"


class TopicShape(TopicDefaults, kw_only=True):
    words: ClassVar[dict[str, str]] = {
        "identifier": "write topic: …",
        "freshness": "write tests: [{freshness: {within: 1 hour}}]",
        "loaded_at_field": "name it in the test: tests: [{freshness: {within: 1 hour, column: …}}]",
        "loaded_at_query": "write tests: [{freshness: {within: 1 hour, column: …}}]",
        "config": NO_CONFIG,
    }

    name: Annotated[str, about("the name in source('source', 'name')")]
    topic: Annotated[TopicName | None, about("the Kafka topic, by default the name")] = None
    description: Description = ""
    table: Annotated[bool, about("a reference topic: the latest value per key; null deletes")] = False
    versions: Annotated[
        DurationOrAll | None,
        about(
            "a reference topic: keeps versions of rows, this long after they were superseded: 30 days, or all"
        ),
    ] = None
    schema: Annotated[
        SubjectShape | str | None,
        about("what describes its values: a file such as schemas/x.json, registry, or a subject"),
    ] = None
    message: Annotated[str | None, about("the message, if a Protobuf schema has several: shop.Order")] = None
    columns: Annotated[
        list[ColumnShape],
        about("the columns of its values; with a schema, what it doesn't say"),
    ] = []
    tests: Tests = None
    data_tests: Tests = None
