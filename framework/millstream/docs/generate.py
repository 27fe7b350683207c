"""Generates the site of a project into a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from millstream.compile.manifest import Compiled, Influence, Manifest, ManifestNode
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.gc_pause import collector_paused
from millstream.docs.health import find_health
from millstream.docs.index import SiteIndex, build_index
from millstream.docs.maps import lineage_maps
from millstream.docs.markdown import parse_markup
from millstream.docs.outcomes import coverage_by_model, entry_results
from millstream.docs.pages import build_pages, collect_sql
from millstream.docs.site_input import Progress, SiteInput, gather_input
from millstream.docs.topologies import draw_topologies
from millstream.docs.values import ColumnEdge, EntryColumns, EntrySql, Site, SiteColumn, SiteStart
from millstream.docs.write import foreign_file, write_site
from millstream.explain.state_memory import StateStores

Positions = Mapping[str, Mapping[str, int]]
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
