"""Finds what a newer pinned schema of a source means for the readers of its topic."""

from __future__ import annotations

from millstream.compatibility.values import Finding
from millstream.errors import Diagnostic
from millstream.formats.format import SchemaError
from millstream.manifest import ManifestNode
from millstream.project.files import File, find_files, read_file
from millstream.project.pin_compatibility import changed
from millstream.project.pins import NotPinnedError, Pins, pins_folder, read_pins
from millstream.project.pins import Version as PinnedVersion
from millstream.project.settings import read_settings
from millstream.review.version import Version


def pins_of(version: Version) -> Pins:
    """Return the pinned schemas of a version; a manifest alone has none."""
    if version.root is None:
        return {}
    settings = read_settings(version.root)[0]
    read: list[File | Diagnostic] = [
        read_file(version.root, path)
        for path in find_files(version.root, (pins_folder(settings),), (".json",))
    ]
    return read_pins(((each.path, each.content) for each in read if isinstance(each, File)), settings)[0]


def schema_findings(
    was: ManifestNode, now: ManifestNode, old_pins: Pins, new_pins: Pins
) -> tuple[Finding, ...]:
    """Return what differs between the schemas that a source takes its columns from."""
    before, after = _pinned(was, old_pins), _pinned(now, new_pins)
    if before is None or after is None or before.text == after.text:
        return ()
    try:
        return changed(before, old_pins, after, new_pins)
    except (NotPinnedError, SchemaError):
        return ()  # a version that does not compile: its own errors are reported elsewhere


def _pinned(node: ManifestNode, pins: Pins) -> PinnedVersion | None:
    subject = pins.get(str(node.config.get("subject")))
    versions = subject.versions if subject else ()
    return next((each for each in versions if each.id == node.config.get("schema_id")), None)
