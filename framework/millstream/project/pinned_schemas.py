"""What a topic takes from the pinned schemas of its subject: columns, format, and its writers' schemas."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import UnlocatedDiagnostic
from millstream.formats.format import ReadSchema, SchemaError, SchemaFiles, SchemaLanguage
from millstream.formats.registry import NAMES, Encoding, WriterSchema, format_of
from millstream.project.pins import PULL, NotPinnedError, Pins, SchemaVersion, references_of
from millstream.project.values import RegistryUse

Read = Callable[[SchemaLanguage, SchemaFiles], ReadSchema]


class PinnedSchema(Struct, frozen=True):
    schema: ReadSchema
    encoding: Encoding


def pinned_schema(
    use: RegistryUse, encoding: Encoding, pins: Pins, read: Read
) -> PinnedSchema | UnlocatedDiagnostic:
    """Return the schema that a topic's pins choose, or why it can't use them."""
    versions = pins[use.subject].versions if use.subject in pins else ()
    if not versions:
        return UnlocatedDiagnostic(
            "MS125", f"no schema of subject '{use.subject}' is pinned", f"run `{PULL}`"
        )
    version = choose_version(use, versions)
    if version is None:
        pinned_versions = ", ".join(str(pinned.version) for pinned in versions)
        which = f"version {use.version}" if use.version else "a version that is not deleted"
        message = f"{which} of subject '{use.subject}' is not pinned"
        return UnlocatedDiagnostic(
            "MS125", message, f"run `{PULL}`, or choose another version: {pinned_versions}"
        )
    name = format_named(version.type)
    if name not in NAMES:
        remedy = "declare the columns and a format instead of it"
        return UnlocatedDiagnostic(
            "MS126", f"subject '{use.subject}' is {version.type}, which can't be decoded", remedy
        )
    written, language = format_of(use.format or name), format_of(name).schemas
    assert language is not None  # a format of schemas
    if written.schemas is None or written.schemas.suffix != language.suffix:
        message = f"subject '{use.subject}' is {version.type}, but the format is {use.format}"
        remedy = f"write format: {name}, or omit it"
        if written.schemas is not None and written.of_change:
            remedy = "let the connector write Avro, or remove `schema` and declare the columns"
        return UnlocatedDiagnostic("MS126", message, remedy)
    name, language = use.format or name, written.schemas
    try:
        texts = PinnedTexts(language, versions, pins, use.message, use.key)
        return read_pinned(replace(encoding, name=name), texts, version, read)
    except SchemaError as error:
        message = f"version {version.version} of subject '{use.subject}' can't be used: {error}"
        return UnlocatedDiagnostic(
            "MS123", message, "change the schema, or declare the columns here instead of it"
        )
    except NotPinnedError as error:
        message = f"subject '{use.subject}' needs {error}, which is not pinned"
        return UnlocatedDiagnostic("MS125", message, f"run `{PULL}`")


def choose_version(use: RegistryUse, versions: tuple[SchemaVersion, ...]) -> SchemaVersion | None:
    """Return the version that has a topic's columns, if it is pinned."""
    if use.version is None:
        return next((version for version in reversed(versions) if not version.deleted), None)
    return next((version for version in versions if version.version == use.version), None)


def format_named(kind: str) -> str:
    """Return the format of a type of schemas, such as AVRO."""
    return kind.lower()


class PinnedTexts(Struct, frozen=True):
    """The pinned versions of a subject, in one language."""

    language: SchemaLanguage
    versions: tuple[SchemaVersion, ...]
    pins: Pins
    message: str = ""
    key: bool = False

    def files(self, version: SchemaVersion) -> SchemaFiles:
        """Return a version with all that it refers to."""
        others = references_of(self.pins, version)
        name = f"schema{self.language.suffix}"
        while name in others:
            name = f"_{name}"
        return SchemaFiles(name, {**others, name: version.text}, (), self.message, self.key)


def read_pinned(encoding: Encoding, texts: PinnedTexts, version: SchemaVersion, read: Read) -> PinnedSchema:
    schema = read(texts.language, texts.files(version))
    decoded = replace(texts, message=schema.message)
    named = texts.language.message_position is not None and encoding.framing != "plain"
    # A subject may change its type if its compatibility is NONE; values of the old type can't be decoded.
    written = [pinned for pinned in texts.versions if pinned.type == version.type]
    writers = [
        writer_schema(decoded, pinned, read) for pinned in written if texts.language.by_writer or named
    ]
    return PinnedSchema(
        schema,
        replace(
            encoding,
            schema=schema.essence,
            message=schema.message,
            schema_id=version.id,
            writers=tuple(sorted(writers, key=lambda writer: writer.id)),
        ),
    )


def writer_schema(texts: PinnedTexts, version: SchemaVersion, read: Read) -> WriterSchema:
    """Return what decoding needs of a version; raise SchemaError if that can't be used."""
    if (message_position := texts.language.message_position) is None:
        return WriterSchema(version.id, read(texts.language, texts.files(version)).essence)
    try:
        schema = read(texts.language, texts.files(version))
    except SchemaError:
        # It has no such message, or none with columns: none of its values is read.
        return WriterSchema(version.id, "")
    return WriterSchema(version.id, message_position(schema.essence, texts.message))
