"""Every option that a model can have: what checks it, documents it and completes it in editors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Struct

from millstream.formats import DEFAULT_FORMAT, Encoding
from millstream.project.shapes import Duration, Positive, Size, TopicName, about
from millstream.stores.registry import DEFAULT, StoreName


class DedupeConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Drop repeated keys."""

    keys: Annotated[str | list[str], about("the columns that tell events apart")]
    within: Annotated[Duration | None, about("how long a key is remembered at least, such as 1 hour")] = None


class StateConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Where and how long the state of a query is kept."""

    store: Annotated[
        Literal["rocksdb", "memory"] | None, about("rocksdb (default), or memory: the JVM's heap")
    ] = None
    ttl: Annotated[Duration | None, about("keyed state in Python: when a key is forgotten")] = None
    retention: Annotated[Duration | None, about("of a table, not of state: see MS522")] = None
    memory: Annotated[Size | None, about("rocksdb: at most, on each executor")] = None


class WatermarkConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """How late rows may come."""

    column: Annotated[str, about("the event time")]
    delay: Annotated[Duration, about("such as 10 seconds")]


class ModelConfig(Struct, frozen=True, kw_only=True):
    """Every option that a model can have."""

    enabled: Annotated[bool, about("false leaves the model out")] = True
    materialized: Annotated[
        Literal["view", "sink", "table"], about("view: no storage; sink: a Kafka topic; table: a state table")
    ] = "view"
    tags: Annotated[str | list[str], about("words to select models by")] = []
    owner: Annotated[str | None, about("who to ask")] = None
    meta: Annotated[dict[str, Any], about("anything for other tools")] = {}
    topic: Annotated[TopicName | None, about("sink: the Kafka topic, by default the model's name")] = None
    key: Annotated[
        str | list[str] | None, about("sink: the column that becomes the record's key, or a list of them")
    ] = None
    format: Annotated[
        Encoding | None, about(f"sink: how values are encoded, by default {DEFAULT_FORMAT}")
    ] = None
    partitions: Annotated[Positive | None, about("sink: partitions of a topic that is created")] = None
    replication: Annotated[Positive | None, about("sink: replication factor of a topic that is created")] = (
        None
    )
    topic_config: Annotated[dict[str, Any] | None, about("sink: settings of a topic that is created")] = None
    headers: Annotated[dict[str, str] | None, about("sink: record headers, name to SQL expression")] = None
    timestamp: Annotated[str | None, about("sink: the column that becomes the record's timestamp")] = None
    producer: Annotated[dict[str, Any] | None, about("sink: options of the Kafka producer")] = None
    unique_key: Annotated[str | list[str] | None, about("table: the columns that tell rows apart")] = None
    order_by: Annotated[str | None, about("table: the column that says which row is newest")] = None
    delete_when: Annotated[str | None, about("table: rows for which this SQL holds are deleted")] = None
    retention: Annotated[Duration | None, about("table: how long a row is kept")] = None
    store: Annotated[StoreName | None, about(f"table: where it is stored, by default {DEFAULT}")] = None
    emit: Annotated[
        Literal["on_change", "on_close"] | None, about("windows: refine early or one final row")
    ] = None
    watermark: Annotated[WatermarkConfig | None, about("how late rows may come: {column, delay}")] = None
    dedupe: Annotated[DedupeConfig | None, about("drop repeated keys: {keys: [...], within: 1 hour}")] = None
    state: Annotated[StateConfig | None, about("state store: {store, ttl, retention, memory}")] = None
    group: Annotated[str | None, about("models of one group share a query")] = None
    optimize: Annotated[str | list[str] | bool | None, about("all, none or rule names")] = None
    on_bad_record: Annotated[
        Literal["fail", "skip", "dead_letter"] | None, about("what happens to a row that a function fails on")
    ] = None
    unbounded_state: Annotated[
        Literal["warn", "accept"] | None, about("accept: no warning of state that grows for ever")
    ] = None
    opaque: Annotated[bool, about("run the SQL as it is; columns come from YAML")] = False
