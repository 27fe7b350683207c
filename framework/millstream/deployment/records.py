"""What is known of queries that ran before, so that no edit goes on from a checkpoint that no longer fits."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import datetime, timezone

from msgspec import Struct

from millstream.physical.lock import Lock
from millstream.physical.values import Query, Signature
from millstream.plan.nodes import Column

FORMAT = 1

Offsets = dict[int, int]
"""By partition of a topic: the record that is read next."""


class Record(Struct, frozen=True):
    """Written next to a checkpoint before the query starts for the first time."""

    project: str
    query: str
    id: str
    """Of the checkpoint: numbers of batches mean something within one only."""
    signature: Signature
    models: tuple[str, ...] = ()
    tables: dict[str, tuple[Column, ...]] = {}
    """The columns of the tables that it writes, as they were last made."""
    gone: tuple[str, ...] = ()
    """Models whose tables it wrote, and writes no more."""
    outputs: dict[str, str] | None = None
    """By model that it stores: the topic, empty for a table. Each of them has all that the query has read."""
    made: str = ""
    format: int = FORMAT
    folder: str = "spark"
    """Where Spark keeps the checkpoint, within the query's own folder."""
    left_out: dict[str, dict[str, Offsets]] = {}
    """Models that failed, so that the others could go on: by topic, where what they have not got begins."""
    began: dict[str, Offsets] = {}
    """By topic that it writes: where its records begin; those before are of what ran there earlier."""
    ids: dict[str, str] = {}
    """By topic that it reads: Kafka's id of it. In one that was created again, offsets mean other records."""

    @property
    def stored(self) -> tuple[str, ...]:
        """Ids of the models whose rows the query stores."""
        return tuple(self.outputs or self.models)


def new_record(project: str, query: Query, ids: dict[str, str]) -> Record:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return Record(
        project=project,
        query=query.name,
        id=uuid.uuid4().hex[:12],
        signature=query.signature,
        models=query.models,
        tables={table.model: table.columns for table in query.tables},
        outputs=query.stored,
        made=now,
        ids=ids,
    )


def newcomers(query: Query, record: Record) -> tuple[str, ...]:
    """Return the models that a query stores, but did not store there when it last ran."""
    known = record.outputs
    if known is None:
        known = {model: topic for model, topic in query.stored.items() if model in record.models}
    return tuple(model for model, topic in query.stored.items() if known.get(model) != topic)


def taken_over(query: Query, records: Mapping[str, Record]) -> dict[str, str]:
    """Return the tables that a query is new to, by model, with the query that has filled each before."""
    own = records.get(query.name)
    new = [table.model for table in query.tables if own is None or table.model not in own.tables]
    return {
        model: name
        for name, record in records.items()
        for model in new
        if name != query.name and (model in record.tables or model in record.gone)
    }


class Deployed(Struct, frozen=True):
    """What runs on a target."""

    records: dict[str, Record]
    """By query."""
    lock: Lock | None = None
    """The groups that have state."""
    manifest: bytes | None = None
    """Of the project when all of its models were last started."""
    never_started: frozenset[str] = frozenset()
    """Queries whose checkpoint holds no batch yet: any version of them may use it."""
