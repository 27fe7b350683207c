"""The schemas that records were written with, asked of the registry when their ids turn up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from millstream.core.errors import MillstreamError
from millstream.formats.format import SchemaError
from millstream.formats.registry import Encoding, WriterSchema, format_of
from millstream.local.jars import Progress
from millstream.project.pinned_schemas import PinnedTexts, format_named, writer_schema
from millstream.project.pins import NotPinnedError, read_pins
from millstream.project.values import Project

if TYPE_CHECKING:
    from millstream.kafka.registry.client import Registry

_HEADER = 5


class Writers:
    """Adds the schemas behind the ids of records to encodings; the registry is asked for unknown ids."""

    def __init__(self, project: Project, stack: ExitStack, progress: Progress | None) -> None:
        self._project = project
        self._stack = stack
        self._progress = progress
        self._registry: Registry | None = None
        self._schemas: dict[tuple[str, str, int], WriterSchema | None] = {}

    def of(self, encoding: Encoding, data: bytes | None) -> Encoding:
        """Return an encoding that can decode a value or key, if its schema is known to the registry."""
        language = format_of(encoding).schemas
        if encoding.framing == "plain" or language is None or not (language.by_writer or encoding.writers):
            return encoding
        if data is None or len(data) < _HEADER or data[0]:
            return encoding
        number = int.from_bytes(data[1:_HEADER], "big")
        if any(writer.id == number for writer in encoding.writers):
            return encoding
        key = encoding.name, encoding.message, number
        if key not in self._schemas:
            self._schemas[key] = self._fetch(encoding, number)
        writer = self._schemas[key]
        return encoding if writer is None else replace(encoding, writers=(*encoding.writers, writer))

    def _fetch(self, encoding: Encoding, number: int) -> WriterSchema | None:
        from millstream.kafka.registry.pull import fetch_subjects

        registry = self._connected()
        try:
            version = registry.schema(number)
            subjects = {reference.subject: registry.address.location for reference in version.references}
            pins = fetch_subjects(registry, subjects)
        except MillstreamError as error:
            if any(diagnostic.code != "MS893" for diagnostic in error.diagnostics):
                raise
            return None
        language = format_of(encoding).schemas
        if language is None or format_named(version.type) != encoding.name:
            return None
        texts = PinnedTexts(language, (version,), pins, encoding.message)
        try:
            return writer_schema(
                texts, replace(version, id=number), lambda language, files: language.read(files)
            )
        except (SchemaError, NotPinnedError):
            return None

    def _connected(self) -> Registry:
        if self._registry is None:
            # The client takes a while to load, and few commands need it.
            from millstream.kafka.registry.connection import connect_registry

            pins, _ = read_pins(self._project.schemas.items(), self._project.settings)
            opened = connect_registry(self._project.target, Path(self._project.root), pins, self._progress)
            self._registry = self._stack.enter_context(opened)
        return self._registry


@contextmanager
def registry_writers(project: Project, progress: Progress | None = None) -> Iterator[Writers]:
    with ExitStack() as stack:
        yield Writers(project, stack, progress)
