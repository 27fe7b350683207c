"""Generates the site of a project into a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from millstream.compile.manifest import Compiled, Influence, Manifest, ManifestNode
from millstream.core.atomic import replace_file
from millstream.core.encoding import to_json
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.gc_pause import collector_paused
from millstream.core.node_id import NodeId
from millstream.docs.index import SiteIndex, build_index
from millstream.docs.maps import lineage_maps
from millstream.docs.markdown import parse_markup
from millstream.docs.outcomes import BAD, coverage_by_model, entry_results
from millstream.docs.pages import build_pages, collect_sql
from millstream.docs.site_input import Progress, SiteInput, gather_input
from millstream.docs.topologies import draw_topologies
from millstream.docs.values import (
    ColumnEdge,
    Coverage,
    EntryColumns,
    EntrySql,
    HealthFinding,
    Site,
    SiteColumn,
    SiteEntry,
    SiteStart,
)
from millstream.explain.state_memory import StateStores

Positions = Mapping[NodeId, Mapping[str, int]]
"""The position of each column, by node id and name in lower case."""
CHUNK = 100
_LARGEST = 250_000
"""Characters in one file of texts, unless it has a single entry."""
_NO_PLAN = (
    "The site has no plan, because optimizing a project of this size takes a long time. "
    "Include it with `millstream docs generate --plan`, or show a part with `millstream explain --select`."
)


def generate_site(
    root: Path,
    compiled: Compiled,
    target_path: str,
    folder: Path,
    *,
    plan: bool | None = None,
    stores: StateStores | None = None,
    progress: Progress = lambda _: None,
) -> tuple[Site, dict[str, int]]:
    """Write the site of a project without errors; return it, and the sizes of its files by name."""
    if page := foreign_file(folder):
        message = f"{folder.name}/{page} was not written by Millstream, and would be overwritten"
        remedy = "move it, or write the site elsewhere: `millstream docs generate --to site`"
        raise MillstreamError(Diagnostic("MS709", message, None, remedy))
    material = gather_input(root, compiled, target_path, plan=plan, progress=progress, stores=stores)
    progress("Drawing")
    site = site_of(material)
    return site, write_site(folder, site)


@collector_paused()
def site_of(material: SiteInput) -> Site:
    manifest = material.manifest
    last, covered = entry_results(material), coverage_by_model(material)
    site_index = build_index(material, last)
    entry_columns = collect_columns(manifest, site_index)
    texts = collect_sql(material, site_index)
    written = build_pages(material, site_index, last, covered)
    drawn = lineage_maps(site_index.entries)
    plans = draw_topologies(material.planned, site_index) if material.planned else ()
    used = frozenset(number for page in written for number in page.functions)
    start = SiteStart(
        project=manifest.project,
        target=manifest.target,
        version=manifest.millstream_version,
        entries=site_index.entries,
        maps=tuple(map_.name for map_ in drawn),
        topologies=tuple((plan.name, plan.title) for plan in plans),
        health=find_health(
            site_index.entries,
            entry_columns,
            used,
            {site_index.numbers[id_]: coverage for id_, coverage in covered.items()},
        ),
        chunk=CHUNK,
        texts=files_of_texts(texts),
        run=material.results.started if material.results else "",
        tested=material.tests.started if material.tests else "",
        plan="" if material.planned else _NO_PLAN,
    )
    return Site(start, drawn, plans, entry_columns, written, texts)


def files_of_texts(texts: Sequence[EntrySql]) -> tuple[int, ...]:
    """Return the first entry of each file of texts; files are small, because pages load them whole."""
    starts: list[int] = []
    size = 0
    for number, text in enumerate(texts):
        length = len(text.written) + len(text.compiled) + len(text.optimized)
        if not starts or number - starts[-1] == CHUNK or size + length > _LARGEST:
            starts.append(number)
            size = 0
        size += length
    return tuple(starts)


def collect_columns(manifest: Manifest, index: SiteIndex) -> tuple[EntryColumns, ...]:
    positions = {
        id_: {column.name.lower(): position for position, column in enumerate(node.columns)}
        for id_, node in manifest.nodes.items()
    }
    nodes = manifest.nodes
    return tuple(
        _of_node(nodes[entry.id], index, positions) if entry.id in nodes else EntryColumns()
        for entry in index.entries
    )


def _of_node(node: ManifestNode, index: SiteIndex, positions: Positions) -> EntryColumns:
    tests = _tests(node, index)
    return EntryColumns(
        tuple(
            SiteColumn(
                column.name,
                column.type,
                not column.nullable,
                parse_markup(column.description),
                tests.get(column.name.lower(), ()),
                tuple(_edges(column.influences, index, positions)),
            )
            for column in node.columns
        ),
        tuple(_edges(node.influences, index, positions)),
    )


def _tests(node: ManifestNode, index: SiteIndex) -> dict[str, tuple[int, ...]]:
    if not any(column.tests for column in node.columns):
        return {}
    by_column: dict[str, list[int]] = {}
    for number in index.tests.get(index.numbers[node.id], ()):
        if column := index.checked.get(number):
            by_column.setdefault(column.lower(), []).append(number)
    return {name: tuple(numbers) for name, numbers in by_column.items()}


def _edges(influences: Iterable[Influence], index: SiteIndex, positions: Positions) -> Iterable[ColumnEdge]:
    for influence in influences:
        entry = index.numbers.get(influence.relation)
        position = positions.get(influence.relation, {}).get(influence.column.lower())
        if entry is not None and position is not None:
            yield ColumnEdge(entry, position, influence.kind)


_READ = frozenset(("source", "seed", "model"))


def find_health(
    entries: Sequence[SiteEntry],
    columns: Sequence[EntryColumns],
    used: frozenset[int],
    covered: Mapping[int, Coverage],
) -> tuple[HealthFinding, ...]:
    """Return every kind of finding, also those without an entry; `used` are functions that SQL calls.

    Findings about builds and tests are omitted if there are no results.
    """
    read = {parent for e in entries if e.kind not in {"test", "unit_test", "query"} for parent in e.parents}

    def finding(
        name: str,
        title: str,
        why: str,
        among: Callable[[SiteEntry], bool],
        bad: Callable[[int, SiteEntry], bool],
    ) -> HealthFinding:
        candidates = [(number, entry) for number, entry in enumerate(entries) if among(entry)]
        return HealthFinding(name, title, why, tuple(n for n, e in candidates if bad(n, e)), len(candidates))

    ran = (
        finding(
            "failed", "Models that failed, or were skipped",
            "The last build did not complete them; their topics and tables are behind.",
            lambda e: e.kind == "model" and bool(e.last), lambda _, e: e.last in {"error", "skipped"},
        ),
        finding(
            "failing", "Tests that fail, or warn",
            "Their conditions did not hold in the last run.",
            lambda e: e.kind in {"test", "unit_test"} and bool(e.last), lambda _, e: e.last in {*BAD, "warn"},
        ),
        finding(
            "uncovered", "Models that unit tests do not reach in full",
            "Branches and filters that no row reaches are untested.",
            lambda e: e.kind == "model" and bool(covered),
            lambda n, _: n in covered and (not covered[n].run or covered[n].reached < covered[n].ways),
        ),
    )  # fmt: skip
    return (
        *(kind for kind in ran if kind.of),
        finding(
            "undocumented", "Without a description",
            "Only their authors know what they contain.",
            lambda e: e.kind in {*_READ, "function"}, lambda _, e: not e.about,
        ),
        finding(
            "columns", "With columns that have no description",
            "Readers have to guess what a column means.",
            lambda e: e.kind in _READ and e.columns > 0,
            lambda n, _: any(not column.about for column in columns[n].columns),
        ),
        finding(
            "untested", "Models without a test",
            "Wrong rows are only found by their readers.",
            lambda e: e.kind == "model", lambda _, e: not e.tests,
        ),
        finding(
            "unowned", "Without an owner",
            "It is unclear who is responsible when they change or break.",
            lambda e: e.kind in {"source", "model", "exposure"}, lambda _, e: not e.owner,
        ),
        finding(
            "unused", "Unused sources, seeds and functions",
            "They are declared, but nothing uses them.",
            lambda e: e.kind in {"source", "seed", "function"},
            lambda n, e: n not in (used if e.kind == "function" else read),
        ),
        finding(
            "dead-ends", "Models without readers",
            "Such a view is never computed; a topic or table may have readers that no exposure declares.",
            lambda e: e.kind == "model", lambda n, _: n not in read,
        ),
    )  # fmt: skip


# A page opened from the file system can't fetch other files, but it can load scripts. So each chunk of data
# is a call of a function with one JSON value.


SCRIPTS = (
    "dom", "data", "highlight", "search", "lines", "drawing", "minimap", "keys", "canvas", "pack", "columns",
    "controls", "folders", "lineage", "topology", "results", "pages", "home", "health", "export", "printing",
    "finding", "main",
)  # fmt: skip
"""Files of `assets/js` in the order in which they are joined; the last one starts the page."""
_PAGE, _CALL = b"<!doctype html>\n<!-- Written by `millstream docs generate`", b"millstreamData("
"""The beginnings of the page and of each chunk, which identify files written by Millstream."""
_ASSETS = files("millstream.docs") / "assets"


def write_site(folder: Path, site: Site) -> dict[str, int]:
    """Write a site and remove chunks of an older one; return the sizes of files by name."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    sizes: dict[str, int] = {}
    for name, content in site_files(site):
        replace_file(folder / name, content, mode=0o644)
        sizes[name] = len(content)
    for old in data.glob("*.js"):
        if f"data/{old.name}" not in sizes and _begins(old, _CALL):
            old.unlink()
    return sizes


def foreign_file(folder: Path) -> str:
    """Return the name of a file that would be overwritten although Millstream did not write it, or ''."""
    page = folder / "index.html"
    return page.name if page.exists() and not _begins(page, _PAGE) else ""


def _begins(file: Path, data: bytes) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(data)) == data


def site_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """Yield each file with its path in the site's folder; the page itself comes last."""
    yield "data/start.js", data_script("start", site.start)
    for map_ in site.maps:
        yield f"data/map-{map_.name}.js", data_script(f"map-{map_.name}", map_)
    for number, topology in enumerate(site.topologies):
        yield f"data/topology-{number}.js", data_script(f"topology-{number}", topology)
    even = range(0, len(site.pages), site.start.chunk)
    for name, values, starts in (
        ("columns", site.columns, even), ("pages", site.pages, even), ("code", site.code, site.start.texts)
    ):  # fmt: skip
        for number, (first, end) in enumerate(zip(starts, (*starts[1:], len(values)), strict=True)):
            yield f"data/{name}-{number}.js", data_script(f"{name}-{number}", values[first:end])
    yield "site.css", (_ASSETS / "site.css").read_bytes()
    yield "site.js", page_script()
    yield "index.html", (_ASSETS / "index.html").read_bytes()


def data_script(name: str, value: Any) -> bytes:
    """Return a script that passes one value.

    `<` is escaped, so that no text can end a script tag or start a comment if a chunk is put into a page; so
    are Unicode's line separators, which older engines treat as line ends.
    """
    data = msgspec.json.encode(value, enc_hook=str)
    data = (
        data.replace(b"<", b"\\u003c")
        .replace("\u2028".encode(), b"\\u2028")
        .replace("\u2029".encode(), b"\\u2029")
    )
    return _CALL + to_json(name) + b"," + data + b");\n"


def page_script() -> bytes:
    """Return the page's script, with all parts in one function, so that no names are global."""
    parts = [(_ASSETS / "js" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return ("(function () {\n'use strict';\n" + "\n".join(parts) + "})();\n").encode()
