"""Events whose older ones are in a lake, as a topic's history."""

import json
from datetime import datetime, timedelta, timezone

import pyarrow as pa
import pyarrow.parquet as pq
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import write_deltalake

from support.runs import queue_record

START = datetime(2026, 1, 1, tzinfo=timezone.utc)
FOLDER = "old"


def row(number):
    """Return an event, three in a minute; each fifth one is the same as the one before."""
    number -= number % 5 == 4
    event_time = START + timedelta(seconds=20 * number)
    return {
        "id": number,
        "user": f"u{number % 3}",
        "kind": "xy"[number % 2],
        "value": float(number),
        "at": event_time,
    }


def history_table(*numbers, partitions=1):
    columns = {name: [row(number)[name] for number in numbers] for name in row(0)}
    times = pa.array(columns["at"], pa.timestamp("us", "UTC"))
    return pa.table({
        **columns,
        "id": pa.array(columns["id"], pa.int32()),
        "at": times,
        "_partition": pa.array([number % partitions for number in numbers], pa.int32()),
        "_offset": pa.array([number // partitions for number in numbers], pa.int64()),
        "_timestamp": times,
    })  # fmt: skip


def append_history(shop, *numbers, partitions=1, root=None):
    """Write events to a Delta table in two versions, the newer ones first."""
    half = len(numbers) // 2
    for part in (numbers[half:], numbers[:half]):
        if part:
            write_deltalake(
                str((root or shop.root) / FOLDER), history_table(*part, partitions=partitions), mode="append"
            )


def write_history_file(shop, name, *numbers, without=()):
    folder = shop.root / FOLDER
    folder.mkdir(exist_ok=True)
    pq.write_table(history_table(*numbers).drop_columns(list(without)), folder / f"{name}.parquet")


def send_events(shop, *numbers, partitions=1, first=0, topic="events"):
    """Send events, whose time is also that of their records, to as many partitions from a first one on."""
    producer = Producer({"bootstrap.servers": shop.bootstrap, "enable.idempotence": True})
    for number in numbers:
        event = row(number)
        value = json.dumps({**event, "at": event["at"].isoformat()})
        millis = int(event["at"].timestamp() * 1000)
        queue_record(
            producer,
            topic,
            key=event["user"],
            value=value,
            timestamp=millis,
            partition=first + number % partitions,
        )
    assert producer.flush(30) == 0


def forget(shop, before, topic="events", partition=0):
    """Remove the records before an offset, as Kafka's retention does."""
    admin = AdminClient({"bootstrap.servers": shop.bootstrap})
    for future in admin.delete_records([TopicPartition(topic, partition, before)]).values():
        future.result(10)
