"""Pins the schemas of a project's topics: asks the registry, compares with the files, and writes them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from millstream.core.atomic import replace_file
from millstream.core.errors import Diagnostic, MillstreamError, reporting_os_errors
from millstream.core.text import Location
from millstream.kafka.registry.client import Registry
from millstream.project.files import File
from millstream.project.pins import Subject, encode_subject, file_names
from millstream.project.values import Topic

_NONE: Mapping[str, Location] = {}
_OF_SUBJECTS = {"MS893", "MS894"}
"""The errors of a single subject; after others, asking for more is pointless."""


class PinChange(Struct, frozen=True):
    """A file of pins that differs from the registry."""

    subject: str
    path: str
    state: Literal["new", "changed", "unused"]
    """`unused`: the file belongs to no subject that a topic uses."""
    versions: tuple[int, ...] = ()
    """The versions that are pinned for the first time."""


def subjects_of(topics: Iterable[Topic]) -> dict[str, Location]:
    """Return the subjects that topics use, with the first place that names each."""
    locations: dict[str, Location] = {}
    for topic in topics:
        for use in topic.registry_uses:
            locations.setdefault(use.subject, use.location)
    return locations


def fetch_subjects(
    registry: Registry, used: Mapping[str, Location | None], written: Mapping[str, Location] = _NONE
) -> dict[str, Subject]:
    """Return the subjects and all that their schemas refer to, by name; raise all errors of subjects.

    Subjects that sinks write are left out if they are not registered yet.
    """
    subjects: dict[str, Subject] = {}
    diagnostics: list[Diagnostic] = []
    pending = {**written, **used}
    while pending:
        name, location = pending.popitem()
        try:
            subjects[name] = registry.subject(name, location)
        except MillstreamError as error:
            if (
                name not in used
                and name in written
                and {diagnostic.code for diagnostic in error.diagnostics} == {"MS893"}
            ):
                continue
            diagnostics += error.diagnostics
            if any(diagnostic.code not in _OF_SUBJECTS for diagnostic in error.diagnostics):
                break
            continue
        for version in subjects[name].versions:
            for reference in version.references:
                if reference.subject not in subjects:
                    pending.setdefault(reference.subject, location)
    if diagnostics:
        raise MillstreamError(*diagnostics)
    return dict(sorted(subjects.items()))


def pin_changes(
    folder: str, files: Mapping[str, File], pins: Mapping[str, Subject], registered: Mapping[str, Subject]
) -> list[PinChange]:
    """Return how the files of the pins' folder differ from what the registry holds."""
    pin_changes: list[PinChange] = []
    paths = {f"{folder}/{name}": subject for subject, name in file_names(registered).items()}
    for path, subject in paths.items():
        if path in files and files[path].content == encode_subject(registered[subject]):
            continue
        before = pins.get(subject)
        numbers = {version.version for version in before.versions} if before else set()
        new = tuple(
            version.version for version in registered[subject].versions if version.version not in numbers
        )
        pin_changes.append(PinChange(subject, path, "changed" if path in files else "new", new))
    pin_changes += [PinChange(files[path].stem, path, "unused") for path in files if path not in paths]
    return sorted(pin_changes, key=lambda change: change.path)


def write_pins(root: Path, registered: Mapping[str, Subject], changed: Iterable[PinChange]) -> None:
    """Write the files that differ, each as a whole, and remove unused ones."""
    for change in changed:
        path = root / change.path
        with reporting_os_errors("MS702", f"{change.path} can't be written", "make its folder writable"):
            if change.state == "unused":
                path.unlink(missing_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, encode_subject(registered[change.subject]).encode(), mode=0o644)
