"""Sends the records of a query's batches in transactions, each with a marker of the batch.

A batch that is repeated after a failure is not sent again to the topics that its marker names: whatever its
rows are the second time, and however they are partitioned, it has been sent as a whole.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from millstream.engine.queries.record_sink import EVERY_TOPIC, BatchRecords, unsent_options
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.sent_batches import SentBatch, end_transactions, last_sent

_TRIES = 3
"""How often a batch is sent on a cluster, where the task that sends it can be lost with its executor."""


class ExactlyOnce(Struct, frozen=True):
    """Sends the batches of one query, from its start to its end."""

    cluster: Cluster
    id: str
    """The transactional id: Kafka ends the transactions of earlier producers with it."""
    marker_topic: str
    key: str
    """The key of its markers: the query and its checkpoint."""
    topics: tuple[str, ...]
    """All topics that the query writes."""
    counts: Counter[str]
    """Counts the records that were sent, by topic."""
    repeats: int | None = None
    """The batch that was begun before this start. Later ones are new, even in an old copy of a checkpoint."""
    sent_to: tuple[str, ...] = ()
    """The topics to which it was sent."""
    session: str = field(default_factory=lambda: uuid.uuid4().hex)

    def end_earlier(self) -> None:
        """Let Kafka end the transaction of a process that died."""
        end_transactions(admin_of(self.cluster), self.id)

    def repeating(self, number: int, *others: str) -> ExactlyOnce:
        """Return what sends batches from one on that may have been sent before."""
        sent = self.read_sent(*others)
        return replace(self, repeats=number, sent_to=sent.topics if sent and sent.batch >= number else ())

    def read_sent(self, *others: str) -> SentBatch | None:
        """Return the last batch that was sent, also under `others` of its key; nothing is sent meanwhile."""
        admin = admin_of(self.cluster)
        end_transactions(admin, self.id)
        batches = (last_sent(admin, self.marker_topic, key) for key in (self.key, *others))
        return next((batch for batch in batches if batch is not None), None)

    def write(self, records: BatchRecords, kafka: Mapping[str, str], number: int) -> None:
        """Send the records of a batch, unless they were sent."""
        sender = self
        for left in reversed(range(_TRIES)):
            try:
                sender._write(records, kafka, number)
            except (PySparkException, Py4JError):
                if not left or _is_local(records):
                    raise
                sender = self.repeating(number)
            else:
                return

    def _write(self, records: BatchRecords, kafka: Mapping[str, str], number: int) -> None:
        before = self.sent_to if number == self.repeats else ()
        if set(self.topics) <= set(before):
            # The rows are evaluated nevertheless: Spark must store its state.
            records.send({**kafka, **unsent_options(EVERY_TOPIC)})
            return
        marker = SentBatch(number, tuple(dict.fromkeys((*before, *self.topics))))
        call = uuid.uuid4().hex
        transaction_options = {
            "transaction": self.id,
            "session": self.session,
            "call": call,
            "marker.topic": self.marker_topic,
            "marker.key": self.key,
            "marker.value": marker.encoded(),
        }
        records.send({**kafka, **unsent_options(before), **transaction_options}, in_transaction=True)
        jvm = records.rows.sparkSession._jvm  # noqa: SLF001 -- there is no public API for it
        assert jvm is not None
        for topic, count in jvm.millstream.spark.TransactionalSink.sent(call).items():
            self.counts[topic] += count


def _is_local(records: BatchRecords) -> bool:
    context: Any = records.rows.sparkSession.sparkContext
    return bool(context._jsc.sc().isLocal())  # noqa: SLF001 -- there is no public API for it
