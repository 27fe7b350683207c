"""Sends records with their own timestamp from Spark's workers, since Spark's Kafka sink can't set it.

Pickle sends this module to the workers; they need `confluent-kafka`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_PATIENCE = 120.0
"""Seconds that Kafka has to accept the last records of a partition."""


def send_with_timestamps(records: DataFrame, producer: Mapping[str, str]) -> None:
    """Send records with their `timestamp`; if that is NULL, with the time of sending."""
    millis = f.unix_millis("timestamp").alias("timestamp")
    given = records.select("topic", "key", "value", "headers", millis)
    given.mapInArrow(_sender(dict(producer)), "sent bigint").collect()


def _sender(producer: dict[str, str]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def send(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from confluent_kafka import Producer

        refused: list[str] = []

        def delivered(error: Any, _message: Any) -> None:
            if error is not None:
                refused.append(str(error))

        client = Producer({**producer, "on_delivery": delivered})
        count = 0
        for batch in batches:
            for record in batch.to_pylist():
                _produce(client, record)
                count += 1
                if refused:
                    break
        unsent = client.flush(_PATIENCE)
        if refused or unsent:
            raise RuntimeError(f"Kafka did not accept all records: {refused[0] if refused else 'no answer'}")
        yield pa.RecordBatch.from_pydict({"sent": [count]})

    return send


def _produce(client: Any, record: dict[str, Any]) -> None:
    headers = [(each["key"], each["value"]) for each in record["headers"] or ()]
    time = {} if record["timestamp"] is None else {"timestamp": record["timestamp"]}
    while True:
        try:
            client.produce(record["topic"], record["value"], record["key"], headers=headers, **time)
        except BufferError:
            client.poll(0.1)  # the queue is full: wait until some are sent
        else:
            client.poll(0)
            return


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
