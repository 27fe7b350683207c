"""Makes the records of a query without state in the tasks that send them, by what is compiled when it starts.

Spark plans a query anew in each batch, and copies each row several times on its way through a fan-out.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from pyspark import cloudpickle
from pyspark.sql import DataFrame

from millstream.physical.values import Query, ToKafka
from millstream.runner.queries.deliveries import Stores, options_of
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
        sent_as_rows = stores.hold or stores.without_sent or stores.exactly_once
        if not isinstance(query.deliver, ToKafka) or query.signature.stateful or sent_as_rows:
            return None
        made = own_class(records.sparkSession, "RecordMaker").of(records._jdf)  # noqa: SLF001
        return (
            None if made is None else RecordMaker(DataFrame(made.rows(), records.sparkSession), made, stores)
        )

    def send(self, batch: DataFrame, number: int) -> None:
        """Send the records of a batch of the rows."""
        observed = self._made.send(batch._jdf, options_of(self._stores, number))  # noqa: SLF001
        jvm: Any = batch.sparkSession._jvm  # noqa: SLF001 -- there is no public way to convert a row
        rows = map(jvm.PythonSQLUtils.toPyRow, observed.values())
        self._stores.counted.observe(number, [cloudpickle.loads(row).asDict() for row in rows])
