"""The result of each model, and what a build counted: `run_results.json`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple

from millstream import __version__
from millstream.core.decoding import from_json
from millstream.core.encoding import to_json
from millstream.core.node_id import NodeId
from millstream.project.files import open_regular

FILE = "run_results.json"
Status = Literal["success", "error", "skipped"]
_log = logging.getLogger(__name__)
_log.addHandler(logging.NullHandler())


class RecordOutcomes(Struct, frozen=True):
    """What became of each record that a model read: `read` is the sum of all others."""

    read: int
    written: int
    """Records in its topic, or rows for its table, of which a batch stores the newest of each key.

    It is not known for a table with data tests of rows, or whose query has other outputs."""
    filtered: int
    """Left out by filters, tombstones and data tests with `severity: drop`, or, in a backfill, because they
    can't be decoded, which was reported when they were first read."""
    skipped: int
    dead_letters: int
    failed: int
    """Of a batch that did not complete, and not written; the next build reads them again."""
    duplicates: int = 0
    """Dropped by a dedupe, as Spark counts them."""
    late: int = 0
    """Dropped by a dedupe because they were older than the watermark, as Spark counts them."""

    def __add__(self, other: RecordOutcomes) -> RecordOutcomes:
        return RecordOutcomes(*map(sum, zip(astuple(self), astuple(other), strict=True)))


class TableChanges(Struct, frozen=True):
    """What a table over tables did to follow its inputs."""

    touched: int = 0
    """Keys that changes of inputs touched; none if all rows were computed."""
    computed: int = 0
    """Rows that its SQL gave: those with touched keys, or all."""
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def stored(self) -> int:
        return self.inserted + self.updated + self.deleted

    @property
    def by_kind(self) -> dict[str, int]:
        return {"inserted": self.inserted, "updated": self.updated, "deleted": self.deleted}

    def __add__(self, other: TableChanges) -> TableChanges:
        return TableChanges(*map(sum, zip(astuple(self), astuple(other), strict=True)))


class ModelResult(Struct, frozen=True):
    """The result of one model, or of a reference topic that is stored as a table."""

    id: NodeId
    status: Status
    query: str
    """The query that it runs in, maybe with others; rows and time are those of the whole query."""
    rows_read: int = 0
    seconds: float = 0.0
    message: str = ""
    reads: dict[NodeId, int] = {}
    """Records that the query read, by id of the source or model that owns the topic; empty if unknown."""
    rows_written: int | None = None
    """Records written to its topic, or rows for its table; None if that is not known."""
    rows_changed: int | None = None
    """Rows of a table over tables that were inserted, updated or deleted; None for other models."""
    changes: TableChanges | None = None
    """The same in detail."""
    skipped: dict[NodeId, int] = {}
    """Skipped records: by source, those that could not be decoded; by the model's id, those on which a
    function failed."""
    dead_letters: dict[NodeId, int] = {}
    """Records that became dead letters, by the same ids."""
    tests: dict[NodeId, int] = {}
    """Rows that failed its data tests before they were stored, by id of the test."""
    unfinished: dict[NodeId, int] = {}
    """Records of a batch that did not complete, by the same ids as `reads`; the next build repeats it."""
    backfilled: dict[NodeId, int] = {}
    """Records that it read again because it joined the query, by the same ids; they are not in `reads`."""
    expired: int = 0
    """Rows or keys of its state that expired; models that share a state count the same ones."""
    late: int = 0
    """Rows that its states dropped because they were older than the watermark, counted in the same way."""
    fates: RecordOutcomes | None = None
    """None if records can't be counted one by one: their rows are grouped, joined or stored with others."""


class FilterCounts(Struct, frozen=True):
    """How many of a topic's records a model wrote to its own topic, in all builds since its SQL changed."""

    source: NodeId
    """The id of the source or model whose topic was read."""
    read: int
    written: int
    digest: str
    """A digest of all operators between the two topics."""


class Arrivals(Struct, frozen=True):
    """Records that arrived between builds, in total."""

    rows: int
    seconds: float


class TotalCounts(Struct, frozen=True):
    """The counts of all builds so far; see `millstream.results.selectivity`."""

    filters: dict[NodeId, FilterCounts] = field(default_factory=dict, name="kept")
    """By id of a model."""
    came: dict[NodeId, Arrivals] = {}
    """By id of a source."""


class RunResults(Struct, frozen=True):
    command: str
    project: str
    target: str
    started: str
    seconds: float
    results: tuple[ModelResult, ...]
    millstream_version: str = __version__
    full_refresh: bool = False
    """Topics were read again from their start."""
    counted: TotalCounts = TotalCounts()

    @property
    def failed(self) -> bool:
        return any(result.status == "error" for result in self.results)


def write_results(folder: Path, results: RunResults) -> None:
    write_json(folder / FILE, results)


def read_results(folder: Path, project: str, target: str) -> RunResults | None:
    """Return the last results of a target; None if they can't be read, since they are optional."""
    return read_json(folder / FILE, RunResults, project, target)


# -- files of results


def write_json(file: Path, value: Struct) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(msgspec.json.format(to_json(value), indent=2))


class _OfTarget(Protocol):
    @property
    def project(self) -> str: ...
    @property
    def target(self) -> str: ...


_Results = TypeVar("_Results", bound=_OfTarget)


def read_json(file: Path, type_: type[_Results], project: str, target: str) -> _Results | None:
    """Return the results of a target in a file; None if they can't be read or belong to another target."""
    try:
        with open_regular(file) as content:
            results = from_json(content.readall(), type_)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        _log.debug("%s is not used: %s", file, error)
        return None
    if (results.project, results.target) != (project, target):
        _log.debug("%s is not used: it belongs to %s, target %s", file, results.project, results.target)
        return None
    return results
