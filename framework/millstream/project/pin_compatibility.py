"""Whether schemas are compatible with those that are pinned."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.formats.compatibility import differences, incompatibilities, level_of
from millstream.formats.compatibility.values import Direction, Finding
from millstream.formats.format import SchemaError, SchemaFiles
from millstream.formats.registry import NAMES, Encoding, format_of
from millstream.project.pinned_schemas import Texts, format_named
from millstream.project.pins import Pins, Subject, Version


def files_of(version: Version, pins: Pins) -> SchemaFiles:
    """Return a version with all that it refers to; raise NotPinnedError or SchemaError."""
    name = format_named(version.type)
    language = format_of(Encoding(name)).schemas if name in NAMES else None
    if language is None:
        raise SchemaError("", f"{version.type} is not a type of schemas that can be compared")
    return Texts(language, (version,), pins).files(version)


def forbidden(format_: str, new: SchemaFiles, subject: Subject, pins: Pins) -> tuple[Finding, ...]:
    """Return what the pinned compatibility level of a subject forbids about a new schema."""
    live = [version for version in subject.versions if not version.deleted]
    level = level_of(subject.compatibility)
    if live and level != "NONE" and format_named(live[-1].type) != format_:
        what = f"it is {format_}, and the subject has {live[-1].type}"
        return (Finding("", what, "backward", live[-1].version, "type_changed"),)
    old = {
        version.version: files_of(version, pins) for version in live if format_named(version.type) == format_
    }
    return incompatibilities(format_, new, old, level)


def changed(old: Version, old_pins: Pins, new: Version, new_pins: Pins) -> tuple[Finding, ...]:
    """Return what differs between two versions of a subject that readers of either notice."""
    if old.type != new.type:
        what = f"it is {new.type} instead of {old.type}"
        return tuple(Finding("", what, way, old.version, "type_changed") for way in _BOTH)
    before, after = files_of(old, old_pins), files_of(new, new_pins)
    findings: Iterable[Finding] = (
        Finding(difference.path, difference.what, way, old.version, difference.rule)
        for way in _BOTH
        for difference in differences(format_named(old.type), after, before, way)
        if difference.breaks
    )
    return tuple(findings)


_BOTH: tuple[Direction, ...] = ("backward", "forward")
