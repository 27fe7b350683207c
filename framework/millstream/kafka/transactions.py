"""Transactions: Kafka accepts all of their records or none, and only from the newest producer of an id."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from confluent_kafka import KafkaException, Producer
from msgspec import Struct

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.kafka.clients import Admin, ClientErrors, transactional_producer_of
from millstream.kafka.failures import cluster_error

_WAIT = 10.0
"""Seconds for one attempt to begin or end a transaction; after a retriable error, it is repeated."""
_PATIENCE = 60.0
_FENCED = frozenset(("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"))


class TransactionalProducer(Struct, frozen=True, eq=False):
    """The producer of an id; it has ended the transactions of all earlier ones."""

    admin: Admin
    id: str
    producer: Producer
    errors: ClientErrors

    @contextmanager
    def transaction(self) -> Iterator[Producer]:
        """Begin a transaction, and commit it at the end of the block; abort it if the block raises."""
        self._do(self.producer.begin_transaction, "beginning a transaction")
        try:
            yield self.producer
            self._do(lambda: self.producer.commit_transaction(_WAIT), "committing a transaction")
        except BaseException as error:
            self._abort()
            if isinstance(error, KafkaException):
                raise self._failure(error, "sending records") from None
            raise

    def settle(self) -> None:
        """Wait until readers see what was committed: Kafka confirms a commit before they do."""
        open_producer(self.admin, self.id)

    def _abort(self) -> None:
        """Abort the transaction; if Kafka no longer accepts that, it has ended it or will."""
        try:
            self.producer.abort_transaction(_WAIT)
        except KafkaException as error:
            self.errors.append(error.args[0])

    def _do(self, call: Callable[[], None], doing: str) -> None:
        """Call a function, and again after errors that pass."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                call()
            except KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > deadline:
                    raise self._failure(error, doing) from None
            else:
                return

    def _failure(self, error: KafkaException, doing: str) -> MillstreamError:
        # After a fatal error, calls only say that there was one; the client reports which.
        try:
            self.producer.poll(0)
        except KafkaException as reported:
            self.errors.append(reported.args[0])
        if not _FENCED & {kafka_error.name() for kafka_error in (error.args[0], *self.errors)}:
            return cluster_error(self.admin.cluster, error.args[0], doing, self.errors)
        message = "another process has taken over, or Kafka has ended the transaction"
        remedy = "wait until the other one is done, then repeat the command: nothing is sent twice"
        return MillstreamError(Diagnostic("MS839", message, None, remedy))


def open_producer(admin: Admin, id_: str) -> TransactionalProducer:
    """Return the producer of an id, once all transactions of earlier ones have ended."""
    producer, errors = transactional_producer_of(admin.cluster, id_)
    prepared = TransactionalProducer(admin, id_, producer, errors)
    prepared._do(lambda: producer.init_transactions(_WAIT), "preparing transactions")  # noqa: SLF001
    return prepared
