"""Compiles a project: loads, renders and analyzes it, and caches the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from millstream.compile.manifest import Compiled, ManifestNode
from millstream.compile.snapshot import inputs_digest, read_compiled, store_compiled
from millstream.core.gc_pause import collector_paused
from millstream.core.target_folder import claim_folder
from millstream.formats.registry import function_of
from millstream.project.profiles import read_target
from millstream.project.settings import read_settings
from millstream.project.values import Settings
from millstream.project.variables import merge_variables

if TYPE_CHECKING:
    from millstream.compile.full import Check, Progress


@collector_paused()
def compile_project(
    root: Path,
    *,
    target: str | None = None,
    variables: str | Mapping[str, Any] | None = None,
    profiles_dir: Path | None = None,
    use_cache: bool = True,
    store: bool = True,
    progress: Progress | None = None,
    check: Check | None = None,
    strict_env: bool = True,
) -> Compiled:
    """Compile the project at `root`; raise `MillstreamError` only if nothing can be analyzed.

    `check` is only called if its result is not known from the last compile of the same files.
    Without `store`, the cache is read but stays as it is.
    Without `strict_env`, settings of profiles.yml whose environment variables are not set are left out.
    """
    settings, diagnostics = read_settings(root)
    merged, variable_errors = merge_variables(settings.vars, variables)
    chosen, more = read_target(root, settings, target, profiles_dir, merged, strict_env=strict_env)
    of_settings = [*diagnostics, *variable_errors, *more]
    folder = root / settings.target_path
    key = ""
    store = store and use_cache
    if store:
        claim_folder(root, settings.target_path)
        key = inputs_digest(root, settings, chosen, merged)
        if not of_settings and (cached := read_compiled(root, folder, key, checked=check is not None)):
            return _unchanged(root, settings, cached)
    # These import Jinja and sqlglot, which an unchanged project does not need.
    from millstream.compile.cache import Cache, read_cache, write_cache
    from millstream.compile.full import compile_all

    cache = read_cache(folder) if use_cache else Cache()
    result = compile_all(root, settings, chosen, merged, of_settings, cache, progress, check)
    if store:
        write_cache(folder, result.cache)
        if not of_settings:  # its key does not say what is wrong in them
            store_compiled(
                folder, key, result.environment, result.imported, result.compiled, checked=check is not None
            )
    return result.compiled


def _unchanged(root: Path, settings: Settings, cached: Compiled) -> Compiled:
    nodes = cached.manifest.nodes.values()
    if any(map(function_of, _formats(nodes))):
        from millstream.project.load import locate_functions

        locate_functions(root, settings)
    return msgspec.structs.replace(cached, from_cache=sum(node.kind == "model" for node in nodes))


def _formats(nodes: Iterable[ManifestNode]) -> Iterator[str]:
    """Yield the formats of values and keys that nodes name."""
    for node in nodes:
        yield from (node.config.get(name) or "" for name in ("format", "key_format"))
