"""A site, as small values: `data/*.js` holds them as they are, and the page's script reads them.

Entries are known by their number, which is their place in `Site.entries`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

Kind = Literal["source", "seed", "model", "exposure", "metric", "test", "unit_test", "function", "query"]
Markup = list[Any]
"""Texts and elements, `["a", {"href": …}, …children]`: the page makes nothing else of what users write."""


class Entry(Struct, frozen=True, omit_defaults=True):
    """What is known at once of everything that has a page."""

    id: str
    kind: Kind
    name: str
    path: str = ""
    folder: str = ""
    stored: str = ""
    """view, sink or table of a model; topic or reference topic of a source; the kind of an exposure."""
    tags: tuple[str, ...] = ()
    owner: str = ""
    about: str = ""
    """The first sentence of its description."""
    parents: tuple[int, ...] = ()
    queries: tuple[int, ...] = ()
    """The queries that make it."""
    state: bool = False
    columns: int = 0
    tests: int = 0
    last: str = ""
    """What the last build, or the last run of tests, said of it: `success`, `fail` and the like."""


class ColumnEdge(Struct, frozen=True, array_like=True):
    """A column of another entry that a column, or every row, depends on."""

    entry: int
    column: int
    kind: str


class Column(Struct, frozen=True, omit_defaults=True):
    name: str
    type: str = ""
    required: bool = False
    about: Markup = []
    tests: tuple[int, ...] = ()
    from_: tuple[ColumnEdge, ...] = ()


class Columns(Struct, frozen=True, omit_defaults=True):
    """The columns of one entry."""

    columns: tuple[Column, ...] = ()
    rows: tuple[ColumnEdge, ...] = ()
    """What decides which rows there are."""


class Code(Struct, frozen=True, omit_defaults=True):
    """The texts of one entry."""

    written: str = ""
    compiled: str = ""
    optimized: str = ""
    """Of a query: the SQL that runs."""


class Fact(Struct, frozen=True, array_like=True):
    name: str
    text: str


class Result(Struct, frozen=True, omit_defaults=True):
    """What the last build, or the last run of tests, said of an entry."""

    status: str
    command: str
    started: str
    facts: tuple[Fact, ...] = ()
    message: str = ""
    details: str = ""
    """The rows that differ, of a unit test."""


class MissedWay(Struct, frozen=True, array_like=True):
    """A way through a filter or a branch that no row of a unit test takes."""

    line: int
    """Of the SQL as written; 0: not known."""
    said: str


class Coverage(Struct, frozen=True, omit_defaults=True):
    """What unit tests reach of a model."""

    tests: int
    ways: int
    reached: int
    run: bool
    """Some unit test runs it."""
    stale: bool = False
    """The model was changed since."""
    missed: tuple[MissedWay, ...] = ()


class Operator(Struct, frozen=True, omit_defaults=True):
    """One operator of a query that keeps state, as its signature has it."""

    name: str
    kind: str
    facts: tuple[Fact, ...] = ()


class Page(Struct, frozen=True, omit_defaults=True):
    """What one page says, beside what its entry, columns and texts say."""

    about: Markup = []
    facts: tuple[Fact, ...] = ()
    config: tuple[Fact, ...] = ()
    meta: tuple[Fact, ...] = ()
    tests: tuple[int, ...] = ()
    functions: tuple[int, ...] = ()
    state: tuple[Operator, ...] = ()
    result: Result | None = None
    coverage: Coverage | None = None
    notes: tuple[str, ...] = ()
    """What a reader should know: SQL that is not understood, why it does not share a query."""


class MapColumn(Struct, frozen=True, array_like=True):
    x: int
    width: int


class MapNode(Struct, frozen=True, array_like=True):
    entry: int
    rank: int
    y: int
    width: int
    height: int


class MapEdge(Struct, frozen=True, array_like=True):
    """Between nodes by their place in `Map.nodes`, with its height in each column that it passes."""

    source: int
    target: int
    ys: tuple[int, ...] = ()


class MapBox(Struct, frozen=True, array_like=True):
    name: str
    x: int
    y: int
    width: int
    height: int


class Map(Struct, frozen=True):
    """A graph with the places of all that is in it."""

    name: str
    """What its boxes are: folder, query, or none."""
    width: int
    height: int
    columns: tuple[MapColumn, ...]
    nodes: tuple[MapNode, ...]
    edges: tuple[MapEdge, ...]
    boxes: tuple[MapBox, ...] = ()
    down: bool = False
    """Edges go down instead of to the right: columns are rows, and every x stands for a y."""


class DrawnOperator(Struct, frozen=True, omit_defaults=True):
    """An operator of a plan; its place is in the map of its drawing."""

    id: str
    kind: str
    line: str
    lines: tuple[str, ...] = ()
    """What stands below its name: its line, cut to its width, then key, partitions, watermark and state."""
    facts: tuple[Fact, ...] = ()
    entry: int = -1
    """The source, seed or model that it reads or writes."""
    state: bool = False
    title: str = ""
    """What stands on it: its id, cut to its width."""


class Drawing(Struct, frozen=True):
    operators: tuple[int, ...]
    """Places in `Topology.operators`: most operators are the same in many drawings."""
    map: Map


class Stage(Struct, frozen=True, omit_defaults=True):
    """The plan after one rule; the first is the plan as written."""

    rule: str
    drawing: int
    """Place in `Topology.drawings`."""
    changes: tuple[str, ...] = ()
    saves: str = ""
    new: tuple[str, ...] = ()
    """Operators that were not there before, or did something else."""
    gone: tuple[str, ...] = ()
    """Operators of the plan before that are not there any more."""


class Topology(Struct, frozen=True, omit_defaults=True):
    """A plan from as written to as optimized: of the whole project, or of the outputs of one query."""

    name: str
    title: str
    operators: tuple[DrawnOperator, ...]
    drawings: tuple[Drawing, ...]
    stages: tuple[Stage, ...]
    costs: tuple[tuple[str, str, str], ...] = ()
    """What the plan costs: as written, as optimized."""
    entry: int = -1


class Finding(Struct, frozen=True, omit_defaults=True):
    """One thing to look after, and where."""

    name: str
    title: str
    why: str
    entries: tuple[int, ...] = ()
    of: int = 0
    """How many could have it."""


class Start(Struct, frozen=True):
    """What the page needs before anything else is asked for."""

    project: str
    target: str
    version: str
    entries: tuple[Entry, ...]
    maps: tuple[str, ...]
    """Names of the maps, the best first."""
    topologies: tuple[tuple[str, str], ...]
    """Name and title."""
    health: tuple[Finding, ...]
    chunk: int
    """How many entries share a file of pages or columns."""
    texts: tuple[int, ...]
    """The entry with which each file of texts begins: those of queries may be long."""
    run: str = ""
    """When the last build began."""
    tested: str = ""
    """When tests were last run."""
    plan: str = ""
    """Why there are no topologies, where there are none."""


class Site(Struct, frozen=True):
    start: Start
    maps: tuple[Map, ...]
    topologies: tuple[Topology, ...]
    columns: tuple[Columns, ...]
    pages: tuple[Page, ...]
    code: tuple[Code, ...]
