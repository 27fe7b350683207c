"""Who sends records in transactions: the queries of a target, in a file next to their checkpoints.

The names of transactions have an id of the file, so that two targets never end each other's.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec import Struct, field

from millstream.engine.queries.exactly_once import ExactlyOnce
from millstream.kafka.clients import admin_of
from millstream.kafka.cluster import Cluster
from millstream.kafka.sent_batches import create_sent_batches, end_transactions
from millstream.project.names import Environment, environment_name
from millstream.queries.values import Query
from millstream.stores.files import Files, path_in, read_json, write_json

_FILE = "transactions.json"
_AT_ONCE = 8
_BACKFILL = ".backfill"


class _Senders(Struct, frozen=True):
    id: str
    queries: tuple[str, ...] = ()
    """Names of the queries that may have an open transaction."""


class TransactionNames(Struct, frozen=True):
    """The names of a target's transactions, and where their markers are."""

    cluster: Cluster
    prefix: str
    marker_topic: str
    counts: Counter[str] = field(default_factory=Counter)
    """The records that were sent, by topic."""

    def of(self, query: str, identity: str, topics: Iterable[str], *, alone: bool = False) -> ExactlyOnce:
        """Return what sends a query's batches; `identity` names the checkpoint, or what else numbers them.

        What runs `alone` may run while the query itself does.
        """
        id_ = f"{self.prefix}.{query}{_BACKFILL if alone else ''}"
        distinct_topics = tuple(dict.fromkeys(topics))
        return ExactlyOnce(self.cluster, id_, self.marker_topic, identity, distinct_topics, self.counts)


class TransactionsOf(Struct, frozen=True):
    """Whose transactions they are: those of a project's target, and of an environment."""

    files: Files
    checkpoints: str
    cluster: Cluster
    project: str
    environment: Environment | None

    def opened(self, queries: Iterable[Query], living: Collection[str] = ()) -> TransactionNames | None:
        """Return the transactions, or None if no query ever needed them.

        First, those of a process that died are ended: readers of committed records would wait for them. Those
        of queries that other runs have are left alone.
        """
        senders = self._senders()
        transactions = self.with_senders(None, queries)
        if transactions is not None and senders is not None:
            admin = admin_of(self.cluster)
            ids = [
                f"{transactions.prefix}.{query}{end}"
                for query in senders.queries
                if query not in living
                for end in ("", _BACKFILL)
            ]
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(partial(end_transactions, admin), ids))
        return transactions

    def with_senders(
        self, opened: TransactionNames | None, queries: Iterable[Query]
    ) -> TransactionNames | None:
        """Record who may have open transactions from now on."""
        before = self._senders()
        names = {query.name for query in queries if query.exactly_once}
        if before is None and not names:
            return opened
        senders = before or _Senders(uuid.uuid4().hex[:12])
        prefix = environment_name(self.environment, f"millstream.{self.project}.{senders.id}")
        transactions = opened or TransactionNames(
            self.cluster,
            prefix,
            environment_name(self.environment, f"_millstream.{self.project}.{senders.id}.batches"),
        )
        if opened is None:
            create_sent_batches(admin_of(self.cluster), transactions.marker_topic)
        all_queries = tuple(sorted({*senders.queries, *names}))
        if before is None or all_queries != before.queries:
            write_json(self.files, self._path, _Senders(senders.id, all_queries))
        return transactions

    def _senders(self) -> _Senders | None:
        return read_json(self.files, self._path, _Senders)

    @property
    def _path(self) -> str:
        return path_in(self.checkpoints, _FILE)
