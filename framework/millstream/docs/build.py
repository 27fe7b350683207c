"""Builds the site of a project from its material."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.core.gc_pause import collector_paused
from millstream.docs.columns import columns
from millstream.docs.health import health
from millstream.docs.index import index
from millstream.docs.maps import maps
from millstream.docs.outcomes import outcomes, reached
from millstream.docs.pages import code, pages
from millstream.docs.site_input import Material
from millstream.docs.topologies import topologies
from millstream.docs.values import Code, Site, Start

CHUNK = 100
_LARGEST = 250_000
"""Characters in one file of texts, unless it has a single entry."""
_NO_PLAN = (
    "The site has no plan, because optimizing a project of this size takes a long time. "
    "Include it with `millstream docs generate --plan`, or show a part with `millstream explain --select`."
)


@collector_paused()
def site_of(material: Material) -> Site:
    manifest = material.manifest
    last, covered = outcomes(material), reached(material)
    site_index = index(material, last)
    entry_columns = columns(manifest, site_index)
    texts = code(material, site_index)
    written = pages(material, site_index, last, covered)
    drawn = maps(site_index.entries)
    plans = topologies(material.planned, site_index) if material.planned else ()
    used = frozenset(number for page in written for number in page.functions)
    start = Start(
        project=manifest.project,
        target=manifest.target,
        version=manifest.millstream_version,
        entries=site_index.entries,
        maps=tuple(map_.name for map_ in drawn),
        topologies=tuple((plan.name, plan.title) for plan in plans),
        health=health(
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


def files_of_texts(texts: Sequence[Code]) -> tuple[int, ...]:
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
