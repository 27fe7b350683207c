"""The files of a site: one page, one style, one script, and data that script tags carry.

A page that is opened as a file may not fetch others, but it may have script tags. So each chunk of data is a
call of one function with one JSON value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from millstream.atomic import replace_file
from millstream.docs.values import Site

SCRIPTS = (
    "dom", "data", "highlight", "search", "lines", "drawing", "minimap", "keys", "canvas", "pack", "columns",
    "controls", "folders", "lineage", "topology", "results", "pages", "home", "health", "export", "printing",
    "finding", "main",
)  # fmt: skip
"""Files of `assets/js` in the order in which they are joined; the last one begins."""
_PAGE, _CALL = b"<!doctype html>\n<!-- Written by `millstream docs generate`", b"millstreamData("
"""How the page and each chunk begin, by which ours are known."""
_ASSETS = files("millstream.docs") / "assets"


def write_site(folder: Path, site: Site) -> dict[str, int]:
    """Write a site and remove chunks of an older one; return the size of each file by its name."""
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


def foreign(folder: Path) -> str:
    """Return the name of a file in the way that is no site's of ours; empty where there is none."""
    page = folder / "index.html"
    return page.name if page.exists() and not _begins(page, _PAGE) else ""


def _begins(file: Path, data: bytes) -> bool:
    with file.open("rb") as stream:
        return stream.read(len(data)) == data


def site_files(site: Site) -> Iterator[tuple[str, bytes]]:
    """Yield each file with its name below the site's folder; the page itself last, when all else is there."""
    yield "data/start.js", chunk("start", site.start)
    for each in site.maps:
        yield f"data/map-{each.name}.js", chunk(f"map-{each.name}", each)
    for number, topology in enumerate(site.topologies):
        yield f"data/topology-{number}.js", chunk(f"topology-{number}", topology)
    even = range(0, len(site.pages), site.start.chunk)
    for name, values, starts in (
        ("columns", site.columns, even), ("pages", site.pages, even), ("code", site.code, site.start.texts)
    ):  # fmt: skip
        yield from _chunks(name, values, starts)
    yield "site.css", (_ASSETS / "site.css").read_bytes()
    yield "site.js", script()
    yield "index.html", (_ASSETS / "index.html").read_bytes()


def _chunks(name: str, values: Sequence[Any], starts: Sequence[int]) -> Iterator[tuple[str, bytes]]:
    ends = (*starts[1:], len(values))
    for number, (first, end) in enumerate(zip(starts, ends, strict=True)):
        yield f"data/{name}-{number}.js", chunk(f"{name}-{number}", values[first:end])


def chunk(name: str, value: Any) -> bytes:
    """Return a script that hands over one value.

    `<` is written as an escape, so that no text can end a script tag or begin a comment where someone puts
    the chunk into a page; the two line ends of Unicode are as well, which older scripts take for their own.
    """
    data = msgspec.json.encode(value, enc_hook=str)
    data = (
        data.replace(b"<", b"\\u003c")
        .replace("\u2028".encode(), b"\\u2028")
        .replace("\u2029".encode(), b"\\u2029")
    )
    return _CALL + msgspec.json.encode(name) + b"," + data + b");\n"


def script() -> bytes:
    """Return the page's script: all parts within one function, so that they share names with nobody else."""
    parts = [(_ASSETS / "js" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return ("(function () {\n'use strict';\n" + "\n".join(parts) + "})();\n").encode()
