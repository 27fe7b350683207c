"""The values of a site, which are written to `data/*.js` and read by the page's script.

Entries are identified by number, their position in `SiteStart.entries`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from millstream.core.node_id import NodeId
from millstream.docs.layout.values import ClusterBox, LayoutColumn, Route

Kind = Literal["source", "seed", "model", "exposure", "metric", "test", "unit_test", "function", "query"]
Markup = list[Any]
"""Texts and elements, `["a", {"href": …}, …children]`, from which the page creates descriptions."""


class SiteEntry(Struct, frozen=True, omit_defaults=True):
    """The summary of anything that has a page; all entries are loaded at the start."""

    id: NodeId
    kind: Kind
    name: str
    path: str = ""
    folder: str = ""
    stored: str = ""
    """For a model: view, sink or table; for a source: topic or reference topic; for an exposure: its kind."""
    tags: tuple[str, ...] = ()
    owner: str = ""
    about: str = ""
    """The first sentence of its description."""
    parents: tuple[int, ...] = ()
    queries: tuple[int, ...] = ()
    """The queries that compute it."""
    state: bool = False
    columns: int = 0
    tests: int = 0
    last: str = ""
    """The status in the last build or test run: `success`, `fail` and so on."""


class ColumnEdge(Struct, frozen=True, array_like=True):
    """A column of another entry that a column, or every row, depends on."""

    entry: int
    column: int
    kind: str


class SiteColumn(Struct, frozen=True, omit_defaults=True):
    name: str
    type: str = ""
    required: bool = False
    about: Markup = []
    tests: tuple[int, ...] = ()
    from_: tuple[ColumnEdge, ...] = ()


class EntryColumns(Struct, frozen=True, omit_defaults=True):
    """The columns of one entry."""

    columns: tuple[SiteColumn, ...] = ()
    rows: tuple[ColumnEdge, ...] = ()
    """The columns that decide which rows exist."""


class EntrySql(Struct, frozen=True, omit_defaults=True):
    """The texts of one entry."""

    written: str = ""
    compiled: str = ""
    optimized: str = ""
    """For a query, the SQL that runs."""


class Fact(Struct, frozen=True, array_like=True):
    name: str
    text: str


class EntryResult(Struct, frozen=True, omit_defaults=True):
    """The result of an entry in the last build or test run."""

    status: str
    command: str
    started: str
    facts: tuple[Fact, ...] = ()
    message: str = ""
    details: str = ""
    """For a unit test, the rows that differ."""


class MissedWay(Struct, frozen=True, array_like=True):
    """A branch of a filter, CASE or IF that no row of a unit test takes."""

    line: int
    """The line of the SQL as written; 0: unknown."""
    message: str


class Coverage(Struct, frozen=True, omit_defaults=True):
    """What unit tests reach of a model."""

    tests: int
    ways: int
    reached: int
    run: bool
    """Some unit test runs it."""
    stale: bool = False
    """The model has changed since."""
    missed: tuple[MissedWay, ...] = ()


class SiteOperator(Struct, frozen=True, omit_defaults=True):
    """A stateful operator in the signature of a query."""

    name: str
    kind: str
    facts: tuple[Fact, ...] = ()


class SitePage(Struct, frozen=True, omit_defaults=True):
    """The content of a page, besides its entry, columns and texts."""

    about: Markup = []
    facts: tuple[Fact, ...] = ()
    config: tuple[Fact, ...] = ()
    meta: tuple[Fact, ...] = ()
    tests: tuple[int, ...] = ()
    functions: tuple[int, ...] = ()
    state: tuple[SiteOperator, ...] = ()
    result: EntryResult | None = None
    coverage: Coverage | None = None
    notes: tuple[str, ...] = ()
    """Notes for readers: opaque SQL, why it does not share a query."""


class MapNode(Struct, frozen=True, array_like=True):
    entry: int
    rank: int
    y: int
    width: int
    height: int


class LineageMap(Struct, frozen=True):
    """A graph with its layout."""

    name: str
    """What its boxes are: folder, query, or none."""
    width: int
    height: int
    columns: tuple[LayoutColumn, ...]
    nodes: tuple[MapNode, ...]
    edges: tuple[Route, ...]
    """Between nodes by position in `nodes`."""
    boxes: tuple[ClusterBox, ...] = ()
    down: bool = False
    """Edges go down instead of right: columns are rows, and x and y are exchanged."""


class DrawnOperator(Struct, frozen=True, omit_defaults=True):
    """An operator of a plan; its position is in the map of its drawing."""

    id: str
    kind: str
    line: str
    lines: tuple[str, ...] = ()
    """The text below its name: its line, shortened, then key, partitions, watermark and state."""
    facts: tuple[Fact, ...] = ()
    entry: int = -1
    """The source, seed or model that it reads or writes."""
    state: bool = False
    title: str = ""
    """Its name, shortened to fit."""


class StageDrawing(Struct, frozen=True):
    operators: tuple[int, ...]
    """Positions in `Topology.operators`, since drawings share most operators."""
    map: LineageMap


class Stage(Struct, frozen=True, omit_defaults=True):
    """The plan after one rule; the first is the plan as written."""

    rule: str
    drawing: int
    """Position in `Topology.drawings`."""
    changes: tuple[str, ...] = ()
    saves: str = ""
    new: tuple[str, ...] = ()
    """Operators that are new or changed."""
    gone: tuple[str, ...] = ()
    """Operators that were removed."""


class SiteTopology(Struct, frozen=True, omit_defaults=True):
    """The stages of a plan, for the whole project or for the outputs of one query."""

    name: str
    title: str
    operators: tuple[DrawnOperator, ...]
    drawings: tuple[StageDrawing, ...]
    stages: tuple[Stage, ...]
    costs: tuple[tuple[str, str, str], ...] = ()
    """The cost of the plan as written and as optimized."""
    entry: int = -1


class HealthFinding(Struct, frozen=True, omit_defaults=True):
    """Something that needs attention, with the entries concerned."""

    name: str
    title: str
    why: str
    entries: tuple[int, ...] = ()
    of: int = 0
    """How many entries were checked."""


class SiteStart(Struct, frozen=True):
    """What the page loads first."""

    project: str
    target: str
    version: str
    entries: tuple[SiteEntry, ...]
    maps: tuple[str, ...]
    """Names of the maps, the best first."""
    topologies: tuple[tuple[str, str], ...]
    """Name and title."""
    health: tuple[HealthFinding, ...]
    chunk: int
    """How many entries share a file of pages or columns."""
    texts: tuple[int, ...]
    """The first entry of each file of texts; the files have different numbers of entries."""
    run: str = ""
    """When the last build started."""
    tested: str = ""
    """When the last test run started."""
    plan: str = ""
    """Why there are no topologies; empty if there are."""


class Site(Struct, frozen=True):
    start: SiteStart
    maps: tuple[LineageMap, ...]
    topologies: tuple[SiteTopology, ...]
    columns: tuple[EntryColumns, ...]
    pages: tuple[SitePage, ...]
    code: tuple[EntrySql, ...]
