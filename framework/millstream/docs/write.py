"""Writes the files of a site: a page, a style sheet, a script, and data in script files.

A page opened from the file system can't fetch other files, but it can load scripts. So each chunk of data is
a call of a function with one JSON value.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from millstream.core.atomic import replace_file
from millstream.docs.values import Site

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
    return _CALL + msgspec.json.encode(name) + b"," + data + b");\n"


def page_script() -> bytes:
    """Return the page's script, with all parts in one function, so that no names are global."""
    parts = [(_ASSETS / "js" / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return ("(function () {\n'use strict';\n" + "\n".join(parts) + "})();\n").encode()
