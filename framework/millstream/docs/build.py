"""Builds the site of a project from its material."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.collector import collector_paused
from millstream.docs.columns import columns
from millstream.docs.health import health
from millstream.docs.index import index
from millstream.docs.maps import maps
from millstream.docs.material import Material
from millstream.docs.outcomes import outcomes, reached
from millstream.docs.pages import code, pages
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
    found = index(material, last)
    listed = columns(manifest, found)
    texts = code(material, found)
    written = pages(material, found, last, covered)
    drawn = maps(found.entries)
    plans = topologies(material.planned, found) if material.planned else ()
    used = frozenset(number for page in written for number in page.functions)
    start = Start(
        project=manifest.project,
        target=manifest.target,
        version=manifest.millstream_version,
        entries=found.entries,
        maps=tuple(each.name for each in drawn),
        topologies=tuple((each.name, each.title) for each in plans),
        health=health(
            found.entries, listed, used, {found.numbers[id_]: each for id_, each in covered.items()}
        ),
        chunk=CHUNK,
        texts=files_of_texts(texts),
        run=material.results.started if material.results else "",
        tested=material.tests.started if material.tests else "",
        plan="" if material.planned else _NO_PLAN,
    )
    return Site(start, drawn, plans, listed, written, texts)


def files_of_texts(texts: Sequence[Code]) -> tuple[int, ...]:
    """Return the first entry of each file of texts; files are small, because pages load them whole."""
    starts: list[int] = []
    size = 0
    for number, each in enumerate(texts):
        own = len(each.written) + len(each.compiled) + len(each.optimized)
        if not starts or number - starts[-1] == CHUNK or size + own > _LARGEST:
            starts.append(number)
            size = 0
        size += own
    return tuple(starts)
