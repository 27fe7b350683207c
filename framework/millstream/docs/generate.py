"""Generates the site of a project into a folder."""

from __future__ import annotations

from pathlib import Path

from millstream.compile.manifest import Compiled
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.docs.build import site_of
from millstream.docs.site_input import Progress, gather
from millstream.docs.values import Site
from millstream.docs.write import foreign, write_site
from millstream.explain.state_memory import StateStores


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
    if page := foreign(folder):
        message = f"{folder.name}/{page} was not written by Millstream, and would be overwritten"
        remedy = "move it, or write the site elsewhere: `millstream docs generate --to site`"
        raise MillstreamError(Diagnostic("MS709", message, None, remedy))
    material = gather(root, compiled, target_path, plan=plan, progress=progress, stores=stores)
    progress("Drawing")
    site = site_of(material)
    return site, write_site(folder, site)
