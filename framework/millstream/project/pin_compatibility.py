"""Whether schemas are compatible with those that are pinned."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.formats.compatibility import compare_schemas, find_incompatibilities, level_of
from millstream.formats.compatibility.values import Direction, Incompatibility
from millstream.formats.format import SchemaError, SchemaFiles
from millstream.formats.registry import NAMES, Encoding, format_of
from millstream.project.pinned_schemas import PinnedTexts, format_named
from millstream.project.pins import Pins, SchemaVersion, Subject


def files_of(version: SchemaVersion, pins: Pins) -> SchemaFiles:
    """Return a version with all that it refers to; raise NotPinnedError or SchemaError."""
    name = format_named(version.type)
    language = format_of(Encoding(name)).schemas if name in NAMES else None
    if language is None:
        raise SchemaError("", f"{version.type} is not a type of schemas that can be compared")
    return PinnedTexts(language, (version,), pins).files(version)


def find_forbidden(
    format_: str, new: SchemaFiles, subject: Subject, pins: Pins
) -> tuple[Incompatibility, ...]:
    """Return what the pinned compatibility level of a subject forbids about a new schema."""
    live = [version for version in subject.versions if not version.deleted]
    level = level_of(subject.compatibility)
    if live and level != "NONE" and format_named(live[-1].type) != format_:
        what = f"it is {format_}, and the subject has {live[-1].type}"
        return (Incompatibility("", what, "backward", live[-1].version, "type_changed"),)
    old = {
        version.version: files_of(version, pins) for version in live if format_named(version.type) == format_
    }
    return find_incompatibilities(format_, new, old, level)


def compare_versions(
    old: SchemaVersion, old_pins: Pins, new: SchemaVersion, new_pins: Pins
) -> tuple[Incompatibility, ...]:
    """Return what differs between two versions of a subject that readers of either notice."""
    if old.type != new.type:
        what = f"it is {new.type} instead of {old.type}"
        return tuple(Incompatibility("", what, way, old.version, "type_changed") for way in _BOTH)
    before, after = files_of(old, old_pins), files_of(new, new_pins)
    findings: Iterable[Incompatibility] = (
        Incompatibility(difference.path, difference.what, way, old.version, difference.rule)
        for way in _BOTH
        for difference in compare_schemas(format_named(old.type), after, before, way)
        if difference.breaks
    )
    return tuple(findings)


_BOTH: tuple[Direction, ...] = ("backward", "forward")
