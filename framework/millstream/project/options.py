"""All options of models, for validation, docs and completion."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from msgspec import Struct

from millstream.formats.registry import DEFAULT_FORMAT, FormatName, Framing
from millstream.outputs.python.declaration import RETRIES, InEnvironments, OnFailure, OnRebuild
from millstream.outputs.registry import KINDS, Word
from millstream.project.shapes import (
    Duration,
    DurationOrAll,
    NotNegative,
    Positive,
    Size,
    TopicName,
    describe_key,
)
from millstream.stores.registry import DEFAULT, StoreName

Guarantee = Literal["at_least_once", "exactly_once"]
AT_LEAST_ONCE, EXACTLY_ONCE = get_args(Guarantee)
Priority = Literal["low", "normal", "high"]
PRIORITIES: tuple[Priority, ...] = get_args(Priority)
"""The last one goes first."""


class DedupeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Drop repeated keys."""

    keys: Annotated[str | list[str], describe_key("the columns that identify an event")]
    within: Annotated[
        Duration | None, describe_key("the minimum time that a key is remembered, such as 1 hour")
    ] = None
    exact: Annotated[
        bool, describe_key("true: drop only rows whose time is at most `within` from that of one that passed")
    ] = False


class StateConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the state of a query is kept, and for how long."""

    store: Annotated[
        Literal["rocksdb", "memory"] | None, describe_key("rocksdb (default), or memory: the JVM's heap")
    ] = None
    ttl: Annotated[
        Duration | None,
        describe_key("when a key of keyed state in Python is forgotten; how far apart rows of a join may be"),
    ] = None
    ttl_by: Annotated[
        Literal["event_time", "processing_time"] | None,
        describe_key("functions: what ttl counts by: processing_time, the clock (default), or event_time"),
    ] = None
    retention: Annotated[Duration | None, describe_key("an option of tables, not of state: see MS522")] = None
    memory: Annotated[Size | None, describe_key("rocksdb: the maximum memory on each executor")] = None


class WatermarkConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How late rows may be."""

    column: Annotated[str, describe_key("the event time column")]
    delay: Annotated[Duration, describe_key("how late rows may be, such as 10 seconds")]


class ModelConfig(Struct, frozen=True, kw_only=True):
    """Every option that a model can have."""

    enabled: Annotated[bool, describe_key("false leaves the model out")] = True
    materialized: Annotated[
        Word, describe_key("; ".join(f"{word}: {kind.about}" for word, kind in KINDS.items()))
    ] = "view"
    tags: Annotated[str | list[str], describe_key("labels to select models by")] = []
    owner: Annotated[str | None, describe_key("who to contact")] = None
    lint: Annotated[
        dict[str, Literal["off", "warning", "error"]],
        describe_key("the severity of rules of `millstream lint`, by their names"),
    ] = {}
    meta: Annotated[dict[str, Any], describe_key("free-form data for other tools")] = {}
    topic: Annotated[TopicName | None, describe_key("sink: the Kafka topic, by default the model's name")] = (
        None
    )
    key: Annotated[
        str | list[str] | None,
        describe_key(
            "sink: the column that becomes the record's key, or a list of columns; python: the columns that "
            "identify a row that can change"
        ),
    ] = None
    key_format: Annotated[
        FormatName | None,
        describe_key("sink: how keys are encoded, by default a column as text, several as a JSON object"),
    ] = None
    key_schema: Annotated[
        str | None,
        describe_key("sink: the file that describes its keys, such as schemas/x_key.avsc, or registry"),
    ] = None
    key_message: Annotated[
        str | None, describe_key("sink: the message of keys, if a Protobuf schema has several")
    ] = None
    key_framing: Annotated[
        Framing | None, describe_key("sink: confluent: the id of the schema precedes each key")
    ] = None
    key_subject: Annotated[
        str | None, describe_key("sink: the subject of its keys in the registry, by default <topic>-key")
    ] = None
    key_format_options: Annotated[
        dict[str, str | bool] | None, describe_key("sink: options of the format of keys")
    ] = None
    format: Annotated[
        FormatName | None, describe_key(f"sink: how values are encoded, by default {DEFAULT_FORMAT}")
    ] = None
    schema: Annotated[
        str | None,
        describe_key("sink: the file that describes its values, such as schemas/x.avsc, or registry"),
    ] = None
    message: Annotated[str | None, describe_key("sink: the message, if a Protobuf schema has several")] = None
    framing: Annotated[
        Framing | None, describe_key("sink: confluent: the id of the schema precedes each value")
    ] = None
    subject: Annotated[
        str | None, describe_key("sink: the subject of its values in the registry, by default <topic>-value")
    ] = None
    format_options: Annotated[
        dict[str, str | bool] | None, describe_key("sink: options of the format, as for topics of sources")
    ] = None
    partitions: Annotated[Positive | None, describe_key("sink: partitions of a new topic")] = None
    replication: Annotated[Positive | None, describe_key("sink: replication factor of a new topic")] = None
    topic_config: Annotated[dict[str, Any] | None, describe_key("sink: settings of a new topic")] = None
    headers: Annotated[
        dict[str, str] | str | None,
        describe_key(
            "sink: record headers, name to SQL expression; keep, or '*': keep, passes on those of the "
            "records that its rows come from"
        ),
    ] = None
    timestamp: Annotated[
        str | None,
        describe_key(
            "sink: SQL of the record's timestamp; by default that of the records that its rows come from; "
            "processing_time: when it is sent"
        ),
    ] = None
    producer: Annotated[dict[str, Any] | None, describe_key("sink: options of the Kafka producer")] = None
    guarantee: Annotated[
        Guarantee | None,
        describe_key("sink: exactly_once sends records in transactions; by default that of the target"),
    ] = None
    unique_key: Annotated[
        str | list[str] | None,
        describe_key("table: the columns that identify a row; without them, rows are only appended"),
    ] = None
    partition_by: Annotated[
        str | list[str] | None,
        describe_key(
            "append-only table: columns of few values, each combination of which has a folder; in Iceberg "
            "also what is computed of a column, such as day(at)"
        ),
    ] = None
    cluster_by: Annotated[
        str | list[str] | None,
        describe_key("append-only table: columns by whose values rows are put into files (not partition_by)"),
    ] = None
    target_file_size: Annotated[
        Size | None, describe_key("append-only table: the size of files after small ones are combined")
    ] = None
    order_by: Annotated[str | None, describe_key("table: the column that decides which row is newest")] = None
    delete_when: Annotated[
        str | None, describe_key("table: an SQL condition; rows that match it are deleted")
    ] = None
    delete_by: Annotated[
        str | list[str] | None,
        describe_key(
            "append-only table: a row that matches delete_when deletes the rows before it that have the same "
            "values in these columns"
        ),
    ] = None
    write: Annotated[
        str | None, describe_key("python: the function of a file of macros/ that gets the rows of each batch")
    ] = None
    retries: Annotated[
        NotNegative | None,
        describe_key(
            "python: how often a failed call is repeated, after pauses of 1, 2, 4 … seconds; by default "
            f"{RETRIES}"
        ),
    ] = None
    on_failure: Annotated[
        OnFailure | None,
        describe_key(
            "python: after the last retry, stop: the query fails (default), or dead_letter: the rows become "
            "dead letters"
        ),
    ] = None
    environments: Annotated[
        InEnvironments | None,
        describe_key(
            "python: call: isolated environments call the function, too; skip (default): they do not"
        ),
    ] = None
    on_rebuild: Annotated[
        OnRebuild | None,
        describe_key(
            "python: what a rebuild hands over of what the running version has read: replay: all rows again "
            "(default), or skip: none"
        ),
    ] = None
    retention: Annotated[Duration | None, describe_key("table: how long a row is kept, by event time")] = None
    versions: Annotated[
        DurationOrAll | None,
        describe_key("table: keeps versions of rows, this long after they were superseded: 30 days, or all"),
    ] = None
    store: Annotated[StoreName | None, describe_key(f"table: where it is stored, by default {DEFAULT}")] = (
        None
    )
    refresh: Annotated[
        Literal["full", "incremental", "keys"] | None,
        describe_key(
            "table over tables: full: compute all rows for each change, and store the differences; "
            "incremental: compute touched rows, also of append-only tables, by what these have stored; "
            "keys: the same, even if changes could be added to counts and sums"
        ),
    ] = None
    every: Annotated[
        Duration | None,
        describe_key("table with refresh='full': how often `run` computes it, if something changed"),
    ] = None
    emit: Annotated[
        Literal["on_change", "on_close", "changes"] | None,
        describe_key(
            "windows: each change, or one final row; sink over a table: changes: "
            "the row before and after each change, as Debezium writes it"
        ),
    ] = None
    tombstones: Annotated[
        bool | None,
        describe_key(
            "sink with emit: changes: a record without a value follows each delete, by default true"
        ),
    ] = None
    watermark: Annotated[WatermarkConfig | None, describe_key("how late rows may be: {column, delay}")] = None
    dedupe: Annotated[
        DedupeConfig | None, describe_key("drop repeated keys: {keys: [...], within: 1 hour}")
    ] = None
    state: Annotated[StateConfig | None, describe_key("state store: {store, ttl, ttl_by, memory}")] = None
    group: Annotated[str | None, describe_key("models of one group share a query")] = None
    latency: Annotated[
        Duration | None,
        describe_key(
            "maximum time until `run` stores the results of a record; by default that of the target"
        ),
    ] = None
    priority: Annotated[
        Priority, describe_key("which batches of `run` go first if more are ready than can run at a time")
    ] = "normal"
    optimize: Annotated[
        str | list[str] | bool | None, describe_key("rules to apply: all, none or names of rules")
    ] = None
    on_bad_record: Annotated[
        Literal["fail", "skip", "dead_letter"] | None,
        describe_key("what happens to a row that a function fails on"),
    ] = None
    unbounded_state: Annotated[
        Literal["warn", "accept"] | None, describe_key("accept: do not warn of state that grows forever")
    ] = None
    opaque: Annotated[bool, describe_key("run the SQL unchanged; YAML declares the columns")] = False
