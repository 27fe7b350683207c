"""Makes the records of a query without state in the tasks that send them, by what is compiled when it starts.

Spark plans a query again in each batch, and copies each row several times on its way through a fan-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from pyspark import cloudpickle
from pyspark.sql import DataFrame

from millstream.physical.values import Query, ToKafka
from millstream.runner.queries.deliveries import Stores, send_records
from millstream.runner.spark.jvm import own_class


class RecordMaker(Struct, frozen=True, eq=False):
    """Sends the records of a query's batches; `rows` is what its stream reads."""

    rows: DataFrame
    _made: Any
    _stores: Stores

    @staticmethod
    def of(records: DataFrame, query: Query, stores: Stores) -> RecordMaker | None:
        """Return what makes the records of a query; None where batches are stored in other ways.

        With a state, Spark plans what is above it: it decides what the state keeps.
        """
        if not isinstance(query.deliver, ToKafka) or query.signature.stateful:
            return None
        if stores.hold is not None or stores.without_sent is not None:
            return None
        made = own_class(records.sparkSession, "RecordMaker").of(records._jdf)  # noqa: SLF001
        if made is None:
            return None
        return RecordMaker(DataFrame(made.rows(), records.sparkSession), made, stores)

    def send(self, batch: DataFrame, number: int) -> None:
        """Send the records of a batch of the rows."""

        def observe(found: Sequence[Mapping[str, Any]]) -> None:
            self._stores.counted.observe(number, found)

        send_records(MadeRecords(batch, self._made, observe), self._stores, number)


class MadeRecords(Struct, frozen=True, eq=False):
    """Records that are made of the rows of a batch."""

    rows: DataFrame
    _made: Any
    _observe: Callable[[Sequence[Mapping[str, Any]]], None]

    def send(self, options: Mapping[str, str], *, in_transaction: bool = False) -> None:
        observed = self._made.send(self.rows._jdf, dict(options), in_transaction)  # noqa: SLF001
        jvm: Any = self.rows.sparkSession._jvm  # noqa: SLF001 -- there is no public way to convert a row
        rows = map(jvm.PythonSQLUtils.toPyRow, observed.values())
        self._observe([cloudpickle.loads(row).asDict() for row in rows])
