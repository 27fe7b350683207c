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
    NotNegative,
    OnBadRecord,
    Positive,
    Rate,
    Starting,
    SubjectShape,
    Tests,
    Time,
    TopicName,
    WatermarkShape,
    describe_key,
)


class HistoryShape(Shape):
    """Where the records are that a topic had before."""

    delta_table: Annotated[
        str | None, describe_key("the folder of a Delta table with the records, relative to the project")
    ] = None
    files: Annotated[
        str | None, describe_key("a folder of Parquet files with the records, relative to the project")
    ] = None
    iceberg_table: Annotated[
        str | None,
        describe_key(
            "an Iceberg table with the records: its folder, relative to the project, or its name in `catalog`"
        ),
    ] = None
    catalog: Annotated[
        str | None, describe_key("the catalog of the Iceberg table: one of `catalogs` of the target")
    ] = None
    until: Annotated[
        Time | None,
        describe_key(
            "the time of the topic's first record: older ones are in the history; by default, the history's "
            "columns _partition and _offset say where the topic goes on"
        ),
    ] = None
    offsets: Annotated[
        dict[str, NotNegative],
        describe_key(
            "by partition, an offset before which no record is missing, although the history does not show it"
        ),
    ] = {}


class TopicDefaults(Shape):
    """Keys that a source can set once for all of its topics."""

    key: Annotated[
        KeyShape | str | list[str] | None,
        describe_key(
            "the record's key as a column: a name, or {name, type, format, …}; in Debezium's topics also a "
            "list of the columns that identify a row"
        ),
    ] = None
    format: Annotated[
        FormatName | None, describe_key(f"how values are encoded, by default {DEFAULT_FORMAT}")
    ] = None
    format_options: Annotated[
        dict[str, str | bool],
        describe_key("options of the format: csv has delimiter, quote, escape and header"),
    ] = {}
    framing: Annotated[
        Framing | None,
        describe_key("confluent: a schema's id precedes each value; plain, the default: no id"),
    ] = None
    decoding: Annotated[
        Decoding | None,
        describe_key(
            "strict, the default: a value is never changed or invented; lenient: as Spark's functions decode"
        ),
    ] = None
    watermark: Annotated[
        WatermarkShape | None, describe_key("the event time column, and how late rows may be")
    ] = None
    on_bad_record: Annotated[
        OnBadRecord | None, describe_key("what happens to a record that can't be decoded")
    ] = None
    deduplicate: Annotated[
        Literal["position"] | None,
        describe_key("position: drop records that another project's sink sent again after a failure"),
    ] = None
    partitions: Annotated[Positive | None, describe_key("partitions of a new topic")] = None
    replication: Annotated[Positive | None, describe_key("replication factor of a new topic")] = None
    topic_config: Annotated[dict[str, Any], describe_key("settings of a new topic")] = {}
    options: Annotated[
        dict[str, Any],
        describe_key(
            "options of Kafka's consumer, such as fetch.max.bytes, and of Spark's reader: minPartitions"
        ),
    ] = {}
    starting: Annotated[
        Starting | None, describe_key("where a new query starts: earliest, latest or a time")
    ] = None
    max_rows_per_trigger: Annotated[
        Positive | None, describe_key("read at most this many records in a batch")
    ] = None
    min_rows_per_trigger: Annotated[
        Positive | None,
        describe_key("records that a batch of `run` waits for, if its trigger is an interval"),
    ] = None
    max_trigger_delay: Annotated[
        Duration | None, describe_key("the maximum wait for `min_rows_per_trigger`")
    ] = None
    rows_per_second: Annotated[
        Rate | None, describe_key("hint: the approximate number of records per second")
    ] = None
    hints: Annotated[HintsShape | None, describe_key("hints for the optimizer")] = None
    tags: Annotated[Names, describe_key("labels to select by")] = []
    owner: Annotated[str | None, describe_key("who to contact")] = None
    meta: Annotated[dict[str, Any], describe_key("free-form data for other tools")] = {}


NO_CONFIG = "write the keys inside it one level higher, without config:"


class TopicShape(TopicDefaults, kw_only=True):
    words: ClassVar[dict[str, str]] = {
        "identifier": "write topic: …",
        "freshness": "write tests: [{freshness: {within: 1 hour}}]",
        "loaded_at_field": "name it in the test: tests: [{freshness: {within: 1 hour, column: …}}]",
        "loaded_at_query": "write tests: [{freshness: {within: 1 hour, column: …}}]",
        "config": NO_CONFIG,
    }

    name: Annotated[str, describe_key("the name in source('source', 'name')")]
    topic: Annotated[TopicName | None, describe_key("the Kafka topic, by default the name")] = None
    topics: Annotated[
        list[TopicName] | None,
        describe_key("several Kafka topics that are read as one; _topic has that of each record"),
    ] = None
    topic_pattern: Annotated[
        str | None,
        describe_key(
            "all Kafka topics whose names match this regular expression, also later ones: orders_.*"
        ),
    ] = None
    description: Description = ""
    history: Annotated[
        HistoryShape | None,
        describe_key("old records, which queries read before those of the topic: {delta_table: data/orders}"),
    ] = None
    table: Annotated[bool, describe_key("a reference topic: the latest value per key; null deletes")] = False
    versions: Annotated[
        DurationOrAll | None,
        describe_key(
            "a reference topic: keeps versions of rows, this long after they were superseded: 30 days, or all"
        ),
    ] = None
    schema: Annotated[
        SubjectShape | str | None,
        describe_key("what describes its values: a file such as schemas/x.json, registry, or a subject"),
    ] = None
    message: Annotated[
        str | None, describe_key("the message, if a Protobuf schema has several: shop.Order")
    ] = None
    columns: Annotated[
        list[ColumnShape],
        describe_key("the columns of its values; with a schema, what it doesn't say"),
    ] = []
    tests: Tests = None
    data_tests: Tests = None
