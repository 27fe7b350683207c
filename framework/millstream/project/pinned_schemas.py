"""What a topic takes from the pinned schemas of its subject: columns, format, and its writers' schemas."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from millstream.formats import NAMES, Encoding, WriterSchema, format_of
from millstream.formats.format import Fields, SchemaError, SchemaLanguage
from millstream.project.pins import PULL, NotPinnedError, Pins, Version, references_of
from millstream.project.values import RegistryUse


class PinnedSchema(Struct, frozen=True):
    fields: Fields
    encoding: Encoding


class Unusable(Struct, frozen=True):
    """Why a topic can't use its pins."""

    code: str
    message: str
    remedy: str


def pinned_schema(use: RegistryUse, encoding: Encoding, pins: Pins) -> PinnedSchema | Unusable:
    versions = pins[use.subject].versions if use.subject in pins else ()
    if not versions:
        return Unusable("MS124", f"no schema of subject '{use.subject}' is pinned", f"run `{PULL}`")
    version = chosen(use, versions)
    if version is None:
        known = ", ".join(str(each.version) for each in versions)
        which = f"version {use.version}" if use.version else "a version that is not deleted"
        message = f"{which} of subject '{use.subject}' is not pinned"
        return Unusable("MS124", message, f"run `{PULL}`, or choose another version: {known}")
    name = format_named(version.type)
    if name not in NAMES:
        remedy = "declare the columns and a format instead of it"
        return Unusable("MS125", f"subject '{use.subject}' is {version.type}, which can't be decoded", remedy)
    if use.format not in {"", name}:
        message = f"subject '{use.subject}' is {version.type}, but the format is {use.format}"
        return Unusable("MS125", message, f"write format: {name}, or omit it")
    language = format_of(name).schemas
    assert language is not None  # a format of schemas
    try:
        return read_pinned(replace(encoding, name=name), language, version, versions, pins)
    except SchemaError as error:
        message = f"version {version.version} of subject '{use.subject}' can't be used: {error}"
        return Unusable("MS123", message, "change the schema, or declare the columns here instead of it")
    except NotPinnedError as error:
        message = f"subject '{use.subject}' needs {error}, which is not pinned"
        return Unusable("MS124", message, f"run `{PULL}`")


def chosen(use: RegistryUse, versions: tuple[Version, ...]) -> Version | None:
    """Return the version that has a topic's columns, if it is pinned."""
    if use.version is None:
        return next((each for each in reversed(versions) if not each.deleted), None)
    return next((each for each in versions if each.version == use.version), None)


def format_named(kind: str) -> str:
    """Return the format of a type of schemas, such as AVRO."""
    return kind.lower()


def read_pinned(
    encoding: Encoding,
    language: SchemaLanguage,
    version: Version,
    versions: tuple[Version, ...],
    pins: Pins,
) -> PinnedSchema:
    references = references_of(pins, version)
    fields = language.columns(version.text, references)
    # A subject may change its type if its compatibility is NONE; values of the old type can't be decoded.
    written = {
        each.id: language.essence(each.text, references_of(pins, each))
        for each in versions
        if each.type == version.type
    }
    return PinnedSchema(
        fields,
        replace(
            encoding,
            schema=language.essence(version.text, references),
            schema_id=version.id,
            writers=tuple(WriterSchema(id_, schema) for id_, schema in sorted(written.items()) if schema),
        ),
    )
