"""What a model stores: nothing, the records of a Kafka topic, or the rows of a state table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from msgspec import Struct

from millstream.formats import DEFAULT_FORMAT, Encoding


class View(Struct, frozen=True, tag_field="materialized", tag="view"):
    """Stores nothing; each query that needs the rows computes them."""

    word: ClassVar[str] = "view"

    @property
    def settings(self) -> dict[str, Any]:
        return {}

    @property
    def keys(self) -> tuple[str, ...]:
        return ()


class Sink(Struct, frozen=True, tag_field="materialized", tag="sink", omit_defaults=True):
    """Stores the records of a Kafka topic."""

    topic: str
    key: tuple[str, ...] = ()
    """The columns of the record's key."""
    format: Encoding = DEFAULT_FORMAT
    partitions: int | None = None
    replication: int | None = None
    topic_config: dict[str, Any] = {}
    headers: dict[str, str] = {}
    """SQL expressions by name."""
    timestamp: str | None = None
    producer: dict[str, Any] = {}

    word: ClassVar[str] = "sink"

    @property
    def settings(self) -> dict[str, Any]:
        """Return the options that define how records are sent, and how a topic is created."""
        return _set_options(self, "partitions", "replication", "topic_config", "producer", "timestamp")

    @property
    def keys(self) -> tuple[str, ...]:
        return self.key


class Table(Struct, frozen=True, tag_field="materialized", tag="table", omit_defaults=True):
    """Stores the newest row of each key in a state table."""

    unique_key: tuple[str, ...] = ()
    order_by: str | None = None
    delete_when: str | None = None
    """An SQL condition; rows that match it are deleted."""
    retention: str | None = None
    store: str | None = None

    word: ClassVar[str] = "table"

    @property
    def settings(self) -> dict[str, Any]:
        """Return the options that define which rows are stored, and where."""
        return _set_options(self, "order_by", "retention", "store")

    @property
    def keys(self) -> tuple[str, ...]:
        return self.unique_key


def _set_options(stored: Struct, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(stored, name))}


Materialization = View | Sink | Table
ALL: tuple[type[Materialization], ...] = (View, Sink, Table)


def materialization_of(name: str, config: Mapping[str, Any]) -> Materialization:
    """Return what a model of this name and configuration stores."""
    match config.get("materialized") or View.word:
        case Sink.word:
            return Sink(
                topic=config.get("topic") or name,
                key=columns_named(config.get("key")),
                format=config.get("format") or DEFAULT_FORMAT,
                partitions=config.get("partitions"),
                replication=config.get("replication"),
                topic_config=dict(config.get("topic_config") or {}),
                headers=dict(config.get("headers") or {}),
                timestamp=config.get("timestamp"),
                producer=dict(config.get("producer") or {}),
            )
        case Table.word:
            return Table(
                unique_key=columns_named(config.get("unique_key")),
                order_by=config.get("order_by"),
                delete_when=config.get("delete_when"),
                retention=config.get("retention"),
                store=config.get("store"),
            )
        case _:
            return View()


def columns_named(given: str | list[str] | None) -> tuple[str, ...]:
    """Return the columns that an option names: one, or a list."""
    if not given:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)
