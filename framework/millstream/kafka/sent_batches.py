"""Which batches were sent in transactions: a compacted topic, which is written in the same transactions."""

from __future__ import annotations

import time

import msgspec
from confluent_kafka import IsolationLevel
from msgspec import Struct

from millstream.core.encoding import to_json
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin
from millstream.kafka.consuming import all_records
from millstream.kafka.offsets import topic_bounds
from millstream.kafka.topics import TopicConfig, create_missing
from millstream.kafka.transactions import open_producer

_CONFIG = {
    "cleanup.policy": "compact",
    # Kafka never compacts the newest segment, and a search for a batch reads all of it: keep it small.
    "segment.bytes": str(8 << 20),
    "min.cleanable.dirty.ratio": "0.1",
}
_PATIENCE = 60.0
"""Seconds until other queries have ended the transactions in which they are writing to the topic."""
_LOOK = 0.05


class SentBatch(Struct, frozen=True):
    """The last batch of a checkpoint that was sent."""

    batch: int
    topics: tuple[str, ...]
    """The topics that the query wrote then, whether or not the batch had records for them."""

    def encoded(self) -> str:
        return to_json(self).decode()


def create_sent_batches(admin: Admin, topic: str) -> None:
    create_missing(admin, [TopicConfig(topic, 1, config=_CONFIG)])


def end_transactions(admin: Admin, id_: str) -> None:
    """Let Kafka end the transaction of an earlier producer, which can't send anything from now on."""
    open_producer(admin, id_)


def last_sent(admin: Admin, topic: str, key: str) -> SentBatch | None:
    """Return the last batch that was sent under a key; its own transactions must have ended."""
    # Readers of committed records stop at the first open transaction: wait for those of other queries.
    end = topic_bounds(admin, [topic], IsolationLevel.READ_UNCOMMITTED)
    deadline = time.monotonic() + _PATIENCE
    while any(bound.end < end[partition].end for partition, bound in topic_bounds(admin, [topic]).items()):
        if time.monotonic() > deadline:
            text = f"a transaction that writes to '{topic}' has not ended for {_PATIENCE:.0f} seconds"
            remedy = "Kafka ends it after its timeout; then try again: nothing is lost or sent twice"
            raise MillstreamError(Diagnostic("MS809", text, None, remedy))
        time.sleep(_LOOK)
    last = None
    for message in all_records(admin, [topic]):
        if message.key() == key.encode() and (value := message.value()) is not None:
            last = msgspec.json.decode(value, type=SentBatch)
    return last
