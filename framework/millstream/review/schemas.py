"""Finds what a changed schema, of a file or pinned, means for the readers of a topic."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from millstream.compile.manifest import ManifestNode
from millstream.core.errors import Diagnostic
from millstream.formats.compatibility import compare_schemas
from millstream.formats.compatibility.values import Direction, Incompatibility
from millstream.formats.format import SchemaError, SchemaFiles
from millstream.formats.registry import SCHEMA_SUFFIXES, format_of
from millstream.project.files import File, find_files, read_file
from millstream.project.pin_compatibility import compare_versions
from millstream.project.pins import NotPinnedError, Pins, SchemaVersion, read_pins
from millstream.project.settings import read_settings
from millstream.review.version import ReviewedVersion

_BOTH: tuple[Direction, ...] = ("backward", "forward")


class Schemas(Struct, frozen=True):
    """The files of a version's schemas."""

    texts: Mapping[str, str] = {}
    folders: tuple[str, ...] = ()
    pins: Pins = {}


def schemas_of(version: ReviewedVersion) -> Schemas:
    """Return the schemas of a version; a manifest alone has none."""
    if version.root is None:
        return Schemas()
    settings = read_settings(version.root)[0]
    read: list[File | Diagnostic] = [
        read_file(version.root, path)
        for path in find_files(version.root, settings.schema_paths, SCHEMA_SUFFIXES)
    ]
    texts = {file.path: file.content for file in read if isinstance(file, File)}
    return Schemas(texts, settings.schema_paths, read_pins(texts.items(), settings)[0])


def schema_findings(
    old: ManifestNode, new: ManifestNode, before: Schemas, after: Schemas
) -> tuple[Incompatibility, ...]:
    """Return what differs between the schemas that the values of a topic are read or written by."""
    try:
        return _of_pins(old, new, before, after) or _of_files(old, new, before, after)
    except (NotPinnedError, SchemaError):
        return ()  # a version that does not compile: its own errors are reported elsewhere


def _of_pins(
    was: ManifestNode, now: ManifestNode, before: Schemas, after: Schemas
) -> tuple[Incompatibility, ...]:
    old, new = _pinned(was, before.pins), _pinned(now, after.pins)
    if old is None or new is None or old.text == new.text:
        return ()
    return compare_versions(old, before.pins, new, after.pins)


def _pinned(node: ManifestNode, pins: Pins) -> SchemaVersion | None:
    sink = node.sink
    number: int | None
    if sink is not None:
        name, number = sink.value.pinned_subject, sink.encoding.schema_id
    elif node.kind == "source":
        name, number = str(node.config.get("subject")), node.config.get("schema_id")
    else:
        return None
    subject = pins.get(name)
    versions = subject.versions if subject else ()
    return next((version for version in versions if version.id == number), None)


def _of_files(
    was: ManifestNode, now: ManifestNode, before: Schemas, after: Schemas
) -> tuple[Incompatibility, ...]:
    name = str(now.config.get("format"))
    old, new = _files(was, before), _files(now, after)
    if old is None or new is None or old == new or str(was.config.get("format")) != name:
        return ()
    return tuple(
        Incompatibility(difference.path, difference.what, way, 0, difference.rule)
        for way in _BOTH
        for difference in compare_schemas(name, new, old, way)
        if difference.breaks
    )


def _files(node: ManifestNode, schemas: Schemas) -> SchemaFiles | None:
    """Return the file that a topic names, or the schema that was derived from its columns."""
    language = format_of(str(node.config.get("format"))).schemas if node.config.get("format") else None
    path, derived = str(node.config.get("schema") or ""), ""
    if node.sink is not None:
        derived = node.sink.value.derived
    if language is None:
        return None
    if path in schemas.texts:
        texts = language.files_in(schemas.texts)
        return SchemaFiles(path, texts, schemas.folders, str(node.config.get("message") or ""))
    return language.derived(derived) if derived else None
