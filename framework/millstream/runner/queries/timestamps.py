"""Records with a time of their own, which Spark's Kafka sink can't give them: workers send them themselves.

This module is sent to the workers as it is; they need `confluent-kafka`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as f

_PATIENCE = 120.0
"""Seconds that the last records of a partition have to be taken."""


def send_stamped(records: DataFrame, producer: Mapping[str, str]) -> None:
    """Send records whose `timestamp` is theirs; where it is NULL, the time of sending."""
    millis = f.unix_millis("timestamp").alias("timestamp")
    given = records.select("topic", "key", "value", "headers", millis)
    given.mapInArrow(_sender(dict(producer)), "sent bigint").collect()


def _sender(producer: dict[str, str]) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def send(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from confluent_kafka import Producer

        refused: list[str] = []

        def taken(error: Any, _message: Any) -> None:
            if error is not None:
                refused.append(str(error))

        client = Producer({**producer, "on_delivery": taken})
        count = 0
        for batch in batches:
            for record in batch.to_pylist():
                _produce(client, record)
                count += 1
                if refused:
                    break
        left = client.flush(_PATIENCE)
        if refused or left:
            raise RuntimeError(f"Kafka did not take all records: {refused[0] if refused else 'no answer'}")
        yield pa.RecordBatch.from_pydict({"sent": [count]})

    return send


def _produce(client: Any, record: dict[str, Any]) -> None:
    headers = [(each["key"], each["value"]) for each in record["headers"] or ()]
    time = {} if record["timestamp"] is None else {"timestamp": record["timestamp"]}
    while True:
        try:
            client.produce(record["topic"], record["value"], record["key"], headers=headers, **time)
        except BufferError:
            client.poll(0.1)  # the queue is full: wait until some are taken
        else:
            client.poll(0)
            return


def _pickled_by_value() -> None:
    import sys

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


_pickled_by_value()
