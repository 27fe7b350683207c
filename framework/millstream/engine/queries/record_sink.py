"""Writes records to Kafka by the producers of Spark's own sink or in a transaction, also with timestamps."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from msgspec import Struct
from pyspark.sql import DataFrame

_SINK, _TRANSACTIONAL_SINK = "millstream.spark.RecordSink", "millstream.spark.TransactionalSink"


class BatchRecords(Protocol):
    """The records of a batch."""

    @property
    def rows(self) -> DataFrame:
        """What they are, or are made of."""
        ...

    def send(self, options: Mapping[str, str], *, in_transaction: bool = False) -> None:
        """Send them; `options` are those of Spark's sink, and of `header_options` and `unsent_options`."""
        ...


def header_options(name: str, value: str) -> dict[str, str]:
    """Return the options for a header of all records."""
    return {"header": name, "header.value": value}


EVERY_TOPIC = ("*",)


def unsent_options(topics: Collection[str]) -> dict[str, str]:
    """Return the options to send nothing to some topics, or to `EVERY_TOPIC`."""
    return {"without.topics": ",".join(topics)}


class RecordRows(Struct, frozen=True, eq=False):
    """Rows that are records."""

    rows: DataFrame

    def send(self, options: Mapping[str, str], *, in_transaction: bool = False) -> None:
        sink = _TRANSACTIONAL_SINK if in_transaction else _SINK
        self.rows.write.format(sink).options(**options).mode("append").save()
