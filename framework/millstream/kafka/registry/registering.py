"""Registers the schemas that sinks write by, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from confluent_kafka.schema_registry import RegisteredSchema, Schema, SchemaReference
from msgspec import Struct
from msgspec.structs import replace

from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.text import Location
from millstream.formats.format import SchemaFiles, SchemaLanguage
from millstream.formats.registry import format_of
from millstream.kafka.registry.client import Registry
from millstream.plan.from_sql.catalog import ModelSpec
from millstream.project.names import Environment, environment_name
from millstream.project.pinned_schemas import PinnedTexts
from millstream.project.pins import PULL, Pins, SchemaVersion
from millstream.project.values import Project


class WrittenSchema(Struct, frozen=True):
    """The schema of a subject, as a sink writes it."""

    subject: str
    format: str
    files: SchemaFiles
    location: Location | None
    pinned: SchemaVersion | None = None
    """The version that it is, if the sink takes it from the registry."""
    environment: Environment | None = None
    """The environment whose subjects have what it imports."""


def written_schemas(models: Iterable[ModelSpec], project: Project, pins: Pins) -> dict[str, WrittenSchema]:
    """Return the schemas of sinks whose values or keys are preceded by an id; raise if two differ."""
    schemas: dict[str, WrittenSchema] = {}
    diagnostics: list[Diagnostic] = []
    for model in models:
        for written in _of_model(model, project, pins):
            if schemas.setdefault(written.subject, written).files != written.files:
                message = (
                    f"'{model.name}' and another sink have different schemas of subject '{written.subject}'"
                )
                diagnostics.append(
                    Diagnostic("MS897", message, written.location, "set another `subject` for one")
                )
    if diagnostics:
        raise MillstreamError(*diagnostics)
    return schemas


def _of_model(model: ModelSpec, project: Project, pins: Pins) -> Iterator[WrittenSchema]:
    sink = model.materialization.sink
    if sink is None:
        return
    path = project.models[model.name].path if model.name in project.models else ""
    location = Location(path, 1, 1, 2) if path else None

    def written(
        subject: str, format_: str, path: str, derived: str, message: str, *, key: bool = False
    ) -> WrittenSchema:
        language = _language(format_)
        if path:
            folders = project.settings.schema_paths
            files = SchemaFiles(path, language.files_in(project.schemas), folders, message, key)
        else:
            files = language.derived(derived, message, key=key)
        return WrittenSchema(subject, format_, files, location, environment=project.target.environment)

    def pinned(subject: str, format_: str, id_: int, message: str, *, key: bool = False) -> WrittenSchema:
        versions = pins[subject].versions
        version = next(version for version in versions if version.id == id_)
        files = PinnedTexts(_language(format_), versions, pins, message, key).files(version)
        return WrittenSchema(subject, format_, files, location, version)

    for part, encoding in sink.encodings:
        of_keys = part == "key"
        how = sink.written_key if of_keys else sink.value
        if encoding.subject and how.pinned_subject:
            yield pinned(encoding.subject, encoding.name, encoding.schema_id, encoding.message, key=of_keys)
        elif encoding.subject:
            yield written(
                encoding.subject, encoding.name, how.file, how.derived, encoding.message, key=of_keys
            )


def _language(format_: str) -> SchemaLanguage:
    language = format_of(format_).schemas
    assert language is not None  # only formats of schemas have framed values
    return language


def ids_of(written: Mapping[str, WrittenSchema], registry: Registry, *, register: bool) -> dict[str, int]:
    """Return the ids of schemas by their subjects; with `register`, register new ones.

    What a schema imports is registered before it, under the name that it has in the import.
    """
    ids: dict[str, int] = {}
    diagnostics: list[Diagnostic] = []
    for subject, schema in written.items():
        try:
            if schema.pinned is not None:
                ids[subject] = _confirmed(subject, schema.pinned, schema.location, registry)
                continue
            registered = _registered(schema, subject, schema.files, registry, register=register)
            ids[subject] = registered.schema_id or 0
        except MillstreamError as error:
            diagnostics += error.diagnostics
    if diagnostics:
        raise MillstreamError(*diagnostics)
    return ids


def _confirmed(subject: str, pinned: SchemaVersion, location: Location | None, registry: Registry) -> int:
    """Return the id of a pinned version, after asking whether it is the registry's, too."""
    schema_id = registry.version_id(subject, pinned.version, location)
    if schema_id != pinned.id:
        message = (
            f"version {pinned.version} of subject '{subject}' is pinned with the id {pinned.id}, "
            f"and has the id {schema_id} at {registry.address.shown}"
        )
        remedy = f"pin what the target's registry has: run `{PULL}`"
        raise MillstreamError(Diagnostic("MS893", message, location, remedy))
    return schema_id


def _registered(
    written: WrittenSchema, subject: str, files: SchemaFiles, registry: Registry, *, register: bool
) -> RegisteredSchema:
    language = _language(written.format)
    references = []
    for needed in language.imports(files) if language.imports else ():
        imported_files = replace(files, path=needed.path)
        imported = environment_name(written.environment, needed.name)
        registered = _registered(written, imported, imported_files, registry, register=register)
        references.append(SchemaReference(needed.name, imported, registered.version))
    schema = Schema(files.texts[files.path], written.format.upper(), references)
    return registry.registered(subject, schema, written.location, register=register)
