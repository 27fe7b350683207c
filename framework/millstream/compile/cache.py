"""The cache of the last compile. An entry has digests of its inputs, and is only used if all are the same."""

from pathlib import Path
from typing import Any

from msgspec import Struct

from millstream.compile.cache_files import COMPILED, FORMAT, read_file, write_file
from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic
from millstream.plan.traits import Traits
from millstream.project.values import NodeReference, TemplateUses
from millstream.sql.values import InputRelation


class CachedModel(Struct, frozen=True):
    """What a compile found of one model, with the digests of its inputs."""

    rendered_from: str
    made_from: str
    uses: TemplateUses
    references: tuple[NodeReference, ...]
    config: dict[str, Any]
    sql: str
    relation: InputRelation
    node: ManifestNode
    spec: bytes = b""
    """An encoded `ModelSpec`, only decoded to build a plan."""
    traits: Traits | None = None
    warnings: tuple[Diagnostic, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """Its errors; entries with errors are in memory, and never in the file."""
    found_in: str = ""
    """A digest of the project's names and paths, which errors may contain."""
    lost_columns: bool = False
    """Its columns are unknown because of an error, here or in what it reads."""


class Cache(Struct, frozen=True):
    format: str = FORMAT
    models: dict[str, tuple[CachedModel, ...]] = {}
    """The results for the last texts and inputs of each model; a file has one of each."""
    files: dict[str, bytes] = {}
    """The contents of YAML, Python and CSV files, by kind, path and digest."""


class ContentCache(dict[str, bytes]):
    """Cached file contents; `used` has those that this compile needed, which are kept."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__(files)
        self.used: dict[str, bytes] = {}

    def get(self, key: str, default: Any = None) -> Any:
        content = super().get(key, default)
        if content is not None:
            self.used[key] = content
        return content

    def __setitem__(self, key: str, value: bytes) -> None:
        super().__setitem__(key, value)
        self.used[key] = value


def read_cache(target: Path) -> Cache:
    cache = read_file(target / COMPILED, Cache)
    return cache if cache and cache.format == FORMAT else Cache()


def write_cache(target: Path, cache: Cache) -> None:
    """Store the last result of each model without errors."""
    models: dict[str, tuple[CachedModel, ...]] = {}
    for name, entries in cache.models.items():
        if correct := [entry for entry in entries if not entry.diagnostics]:
            models[name] = (correct[0],)
    write_file(target / COMPILED, Cache(models=models, files=cache.files))
