"""Makes the records of a query without state in the tasks that send them, by what is compiled when it starts.

Spark plans a query again in each batch, and copies each row several times on its way through a fan-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from pyspark import cloudpickle
from pyspark.sql import DataFrame

from millstream.engine.queries.deliveries import BatchWriter, send_records
from millstream.engine.queries.shared_reads import SharedRead
from millstream.engine.spark.jvm import own_class
from millstream.queries.values import Query, ToKafka
from millstream.stores.session_settings import takes_fast_paths


class RecordMaker(Struct, frozen=True, eq=False):
    """Sends the records of a query's batches; `rows` is what its stream reads."""

    rows: DataFrame
    _maker: Any
    _stores: BatchWriter
    _shared: SharedRead | None = None

    @staticmethod
    def of(
        records: DataFrame, query: Query, writer: BatchWriter, shared: SharedRead | None = None
    ) -> RecordMaker | None:
        """Return what makes the records of a query; None where batches are stored in other ways.

        With a state, Spark plans what is above it: it decides what the state keeps.
        """
        if not isinstance(query.deliver, ToKafka) or query.signature.stateful:
            return None
        if writer.hold is not None or writer.without_sent is not None:
            return None
        if not takes_fast_paths(records.sparkSession):
            return None
        maker = own_class(records.sparkSession, "spark.RecordMaker").of(records._jdf)  # noqa: SLF001
        if maker is None:
            return None
        return RecordMaker(DataFrame(maker.rows(), records.sparkSession), maker, writer, shared)

    def send(self, batch: DataFrame, number: int) -> None:
        """Send the records of a batch of the rows."""

        def observe(observed: Sequence[Mapping[str, Any]]) -> None:
            self._stores.counted.observe(number, observed)

        send_records(MadeRecords(batch, self._maker, observe, self._shared), self._stores, number)


class MadeRecords(Struct, frozen=True, eq=False):
    """Records that are made of the rows of a batch."""

    rows: DataFrame
    _maker: Any
    _observe: Callable[[Sequence[Mapping[str, Any]]], None]
    _shared: SharedRead | None = None

    def send(self, options: Mapping[str, str], *, in_transaction: bool = False) -> None:
        rows = self.rows._jdf  # noqa: SLF001
        observed = None if self._shared is None else self._sent_by_host(self._shared, options, in_transaction)
        if observed is None:
            observed = self._maker.send(rows, dict(options), in_transaction)
        jvm: Any = self.rows.sparkSession._jvm  # noqa: SLF001 -- there is no public way to convert a row
        metric_rows = map(jvm.PythonSQLUtils.toPyRow, observed.values())
        self._observe([cloudpickle.loads(row).asDict() for row in metric_rows])

    def _sent_by_host(self, shared: SharedRead, options: Mapping[str, str], in_transaction: bool) -> Any:
        """Return what was observed of the records; None if they must be sent here."""
        guest = None
        if not in_transaction:
            guest = self._maker.guest(self.rows._jdf, shared.topic, dict(options))  # noqa: SLF001
        if guest is None:
            shared.part()
            return None
        return guest.complete() if shared.has_sent(guest) else None
