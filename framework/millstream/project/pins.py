"""Pinned schemas: what a schema registry held when `millstream schemas pull` asked, as files in git."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from millstream.core.encoding import to_builtins
from millstream.core.errors import Diagnostic
from millstream.core.text import Location
from millstream.project.values import Settings

FOLDER = "registry"
"""The folder of pins, in the first folder of schemas."""
PULL = "millstream schemas pull"
_LONGEST = 180
_SAFE = re.compile(r"[A-Za-z0-9_-]")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|\Z)", re.IGNORECASE)
"""Names of devices on Windows."""


class SchemaReference(Struct, frozen=True):
    """A schema that another one needs, and the name that it has there."""

    name: str
    subject: str
    version: int


class SchemaVersion(Struct, frozen=True, omit_defaults=True):
    """A version of a subject. The schema is JSON if possible, for small diffs, or else lines of text."""

    version: int
    id: int
    type: str
    schema: Any = None
    lines: tuple[str, ...] | None = None
    references: tuple[SchemaReference, ...] = ()
    deleted: bool = False
    """It was deleted from its subject; records may still have its id."""

    @property
    def text(self) -> str:
        """The schema as the registry has it, except for blanks in JSON."""
        if self.lines is not None:
            return "\n".join(self.lines)
        return json.dumps(self.schema, ensure_ascii=False, separators=(",", ":"))


class Subject(Struct, frozen=True):
    subject: str
    compatibility: str
    versions: tuple[SchemaVersion, ...]
    """By number."""


Pins = Mapping[str, Subject]


class NotPinnedError(Exception):
    """A schema needs a version of a subject that is not pinned."""


def version_of(
    number: int,
    id_: int,
    kind: str,
    text: str,
    references: Iterable[SchemaReference] = (),
    *,
    deleted: bool = False,
) -> SchemaVersion:
    """Return a version with its schema in the most readable form that loses nothing."""
    try:
        schema = json.loads(text)
        lossless = schema is not None and _exact(json.dumps(schema)) == _exact(text)
    except ValueError:
        lossless = False
    if not lossless:
        schema = None
    lines = None if lossless else tuple(text.split("\n"))
    return SchemaVersion(number, id_, kind, schema, lines, tuple(references), deleted)


def _exact(text: str) -> Any:
    """Return JSON with the order of its keys, and numbers as they are written."""
    return json.loads(text, object_pairs_hook=tuple, parse_float=str, parse_int=str, parse_constant=str)


def encode_subject(subject: Subject) -> str:
    return json.dumps(to_builtins(subject), indent=2, ensure_ascii=False) + "\n"


def pins_folder(settings: Settings) -> str:
    return f"{settings.schema_paths[0]}/{FOLDER}"


def read_pins(
    files: Iterable[tuple[str, str]], settings: Settings
) -> tuple[dict[str, Subject], list[Diagnostic]]:
    """Return the pinned subjects among the files of the schema folders (path and text), by name."""
    start = f"{pins_folder(settings)}/"
    subjects: dict[str, Subject] = {}
    diagnostics: list[Diagnostic] = []
    for path, text in files:
        if not path.startswith(start):
            continue
        try:
            subject = msgspec.convert(json.loads(text), Subject)
        except (ValueError, RecursionError) as error:
            message = f"{path} is not a pinned schema: {error}"
            location = Location(path, 1, 1, 2)
            diagnostics.append(Diagnostic("MS127", message, location, f"remove it, then run `{PULL}`"))
            continue
        subjects[subject.subject] = subject
    return subjects, diagnostics


def file_names(subjects: Iterable[str]) -> dict[str, str]:
    """Return a safe name of a file for each subject, which others with similar names don't change.

    Systems that ignore case would mix up `Orders-value` and `orders-value`: if both exist, both get a suffix.
    """
    safe = {subject: _safe(subject) for subject in subjects}
    folded: dict[str, list[str]] = {}
    for subject, name in safe.items():
        folded.setdefault(name.lower(), []).append(subject)
    return {
        subject: f"{name if len(folded[name.lower()]) == 1 else f'{name}~{_digest(subject)}'}.json"
        for subject, name in safe.items()
    }


def _safe(subject: str) -> str:
    name = "".join(_escaped(character, first=not index) for index, character in enumerate(subject))
    if _RESERVED.match(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}~{_digest(subject)}"


def _escaped(character: str, *, first: bool) -> str:
    # Files that begin with a dot are hidden, and ignored by the loader.
    if _SAFE.match(character) or (character == "." and not first):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="surrogatepass"))


def _digest(subject: str) -> str:
    return hashlib.sha256(subject.encode(errors="surrogatepass")).hexdigest()[:8]


def references_of(pins: Pins, version: SchemaVersion) -> dict[str, str]:
    """Return the schemas that a version needs, directly or not, each after those that it needs itself."""
    schemas: dict[str, str] = {}
    for name, needed in _needed(pins, version, frozenset()):
        schemas.setdefault(name, needed.text)
    return schemas


def _needed(
    pins: Pins, version: SchemaVersion, above: frozenset[tuple[str, int]]
) -> Iterator[tuple[str, SchemaVersion]]:
    for reference in version.references:
        key = (reference.subject, reference.version)
        if key in above:
            continue
        versions = pins[reference.subject].versions if reference.subject in pins else ()
        needed = next((candidate for candidate in versions if candidate.version == reference.version), None)
        if needed is None:
            raise NotPinnedError(f"version {reference.version} of subject '{reference.subject}'")
        yield from _needed(pins, needed, above | {key})
        yield reference.name, needed
