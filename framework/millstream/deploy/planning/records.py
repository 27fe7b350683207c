"""Records of queries that ran, by which an edited query is checked against its checkpoint."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any, Literal

from msgspec import Struct, field

from millstream.core.node_id import NodeId
from millstream.plan.nodes import Column
from millstream.queries.lock import Lock
from millstream.queries.values import Query, QuerySignature, StoredOutput, TableOutput
from millstream.queries.verdict import compare_signatures
from millstream.sources.topic.history import HistoryEnd

FORMAT = 1

Offsets = dict[int, int]
"""The offset of the next record to read, by partition."""


Tombstones = Literal["all", "first", "needed"]
"""all: for each row that does not match, since an earlier version may have sent it. first: so until a build
has completed. needed: for rows that were sent."""


class OlderRows(Struct, frozen=True):
    """The rows of a table that another version computed, since an edit was accepted that rebuilt nothing."""

    before: str
    """When the edit was accepted: rows that were stored before are those of an older version."""
    replaced: tuple[tuple[str, str, str], ...] = ()
    """The ranges that were computed again since: a column, and its values from and until before which."""

    @property
    def text(self) -> str:
        """Say which rows these are."""
        ranges = " and ".join(f"{column} from {start} to {end}" for column, start, end in self.replaced)
        older = f"rows stored before {self.before} are those of an older version"
        return f"{older}, except {ranges}" if ranges else older


class LeftTable(Struct, frozen=True):
    """An append-only table that a query no longer writes, with the rows of all that it had read by then."""

    output: StoredOutput
    read: dict[str, Any]
    """The stored positions up to which the query had read."""
    rows: int


class BegunBackfill(Struct, frozen=True):
    """A backfill of an append-only table, which stores its rows once even if it is repeated."""

    digest: str
    """Of what it reads."""
    id: str
    """By which the table recognises its rows."""
    rows: int
    """How many rows the table had before."""


class QueryRecord(Struct, frozen=True):
    """The record of a query, written next to its checkpoint before its first start."""

    project: str
    query: str
    id: str
    """Id of the checkpoint: batch numbers are only meaningful within one."""
    signature: QuerySignature
    models: tuple[NodeId, ...] = ()
    tables: dict[NodeId, tuple[Column, ...]] = {}
    """The columns of the tables that it writes, at its last start."""
    layouts: dict[NodeId, dict[str, list[str]]] = {}
    """By which columns the files of these tables are arranged, if they are."""
    gone: tuple[NodeId, ...] = ()
    """Models whose tables it wrote before, and no longer writes."""
    outputs: dict[NodeId, str] | None = None
    """The topic of each stored model, empty for a table. All have everything that the query has read."""
    created: str = field(default="", name="made")
    format: int = FORMAT
    folder: str = "spark"
    """The folder of Spark's checkpoint, within the query's folder."""
    left_out: dict[NodeId, dict[str, Any]] = {}
    """Models that failed while the query went on: the stored positions from which they miss records."""
    began: dict[str, Offsets] = {}
    """The offsets where its records begin in each written topic; earlier records are of previous versions."""
    ids: dict[str, str] = {}
    """Kafka's id of each topic that it reads. In a recreated topic, the same offsets are other records."""
    sent: dict[str, dict[str, Offsets]] = {}
    """By topic of a sink: another version has sent the records of original records before these positions."""
    sent_before: dict[str, Any] = {}
    """Another version has sent the rows of sources other than topics before these stored positions."""
    histories: dict[str, HistoryEnd] = {}
    """Where the topics go on whose older records are elsewhere; this never changes."""
    definition: bytes = b""
    """The packed `ModelDefinitions` that it was last started with. Older records have none."""
    defined: str = ""
    """When it was first started with this definition."""
    split_from: str = ""
    """The query and the id of the checkpoint that this one was copied from."""
    sent_as: str = ""
    """The query and the id in the headers of its records, if it was copied from another checkpoint.

    A batch that the other query began is repeated by both: its records keep their headers.
    """
    tombstones: Tombstones = "all"
    """Which tombstones it sends. Older records have none."""
    reread: dict[NodeId, str] = {}
    """When models that joined had read from the start what the query had read before."""
    older: dict[NodeId, OlderRows] = {}
    """Tables with rows of another version."""
    left: dict[NodeId, LeftTable] = {}
    """Append-only tables of models that left it: if one returns unchanged, its rows go on from there."""
    joining: dict[NodeId, BegunBackfill] = {}
    """Append-only tables whose backfill has begun, and which are not yet part of the query."""
    former: bytes = b""
    """The packed `RemovedModels`: models that left it, and whose state its checkpoint still has."""

    def header(self, batch: int | None) -> str:
        """Return the header of a batch's records; real-time mode has no numbers."""
        return f"{self.sender}/{'' if batch is None else batch}"

    @property
    def sender(self) -> str:
        """The query and the id in the headers of its records."""
        return self.sent_as or f"{self.query}/{self.id}"

    def describes(self, table: TableOutput) -> bool:
        """Whether a table is as it was at the last start."""
        model = table.model
        return self.tables.get(model) == table.columns and self.layouts.get(model, {}) == table.layout

    @property
    def stored(self) -> tuple[NodeId, ...]:
        """Ids of the models whose rows the query stores."""
        return tuple(self.outputs or self.models)


def older_rows(before: QueryRecord, new: QueryRecord) -> dict[NodeId, OlderRows]:
    """Return which rows of tables are those of another version, once a query continues as `new`."""
    verdict = compare_signatures(before.signature, new.signature)
    accepted = dict.fromkeys((*verdict.stored, *verdict.mixed), OlderRows(new.created))
    return {model: rows for model, rows in (before.older | accepted).items() if model in new.tables}


def new_record(project: str, query: Query, ids: dict[str, str], definition: bytes = b"") -> QueryRecord:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return QueryRecord(
        project=project,
        query=query.name,
        id=uuid.uuid4().hex[:12],
        signature=query.signature,
        models=query.models,
        tables={table.model: table.columns for table in query.tables},
        layouts={table.model: table.layout for table in query.tables if table.layout},
        outputs=query.stored,
        created=now,
        ids=ids,
        definition=definition,
        defined=now,
    )


def joining_models(query: Query, record: QueryRecord) -> tuple[NodeId, ...]:
    """Return the models that a query did not store, or stored elsewhere, when it last ran."""
    topics = record.outputs
    if topics is None:
        topics = {model: topic for model, topic in query.stored.items() if model in record.models}
    return tuple(model for model, topic in query.stored.items() if topics.get(model) != topic)


def moved_models(query: Query, record: QueryRecord) -> Iterator[str]:
    """Yield why models with state must be rebuilt: only groups with new rows would reach another place."""
    for model, topic in query.stored.items():
        before = (record.outputs or {}).get(model)
        if before is not None and before != topic:
            positions = (
                f"the topic {stored_in}" if stored_in else "a table" for stored_in in (topic, before)
            )
            yield f"{model.name} is stored in {' instead of '.join(positions)}"


def taken_over_tables(query: Query, records: Mapping[str, QueryRecord]) -> dict[NodeId, str]:
    """Return the tables that a query takes over, by model, with the query that wrote each before."""
    current = records.get(query.name)
    new = [table.model for table in query.tables if current is None or table.model not in current.tables]
    return {
        model: name
        for name, record in records.items()
        for model in new
        if name != query.name and (model in record.tables or model in record.gone)
    }


class Deployed(Struct, frozen=True):
    """What is deployed on a target."""

    records: dict[str, QueryRecord]
    """The records, by name of the query."""
    lock: Lock | None = None
    """The groups that have state."""
    manifest: bytes | None = None
    """The manifest when all models of the project were last started."""
    never_started: frozenset[str] = frozenset()
    """Queries without a batch in their checkpoint: any version of them can use it."""
