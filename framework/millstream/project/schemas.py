"""The schemas of topics: files of the schema folders, or pins of a registry, whose fields become columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from millstream.errors import did_you_mean
from millstream.formats import NAMES, format_of
from millstream.formats.format import Fields, SchemaError, SchemaLanguage
from millstream.project.checks import Lines
from millstream.project.files import File
from millstream.project.pinned_schemas import Unusable, pinned_schema
from millstream.project.pins import pins_folder, read_pins
from millstream.project.values import Column, RegistryUse, SchemaUse, Settings, Topic


class TopicSchemas:
    """Gives topics the columns of their schemas; a file is read once."""

    def __init__(self, files: Mapping[str, File], settings: Settings, lines: Lines) -> None:
        pins = f"{pins_folder(settings)}/"
        self._files = {path: file for path, file in files.items() if not path.startswith(pins)}
        self._lines = lines
        self._columns: dict[tuple[str, str], Fields | SchemaError] = {}
        self._pins, self.diagnostics = read_pins(files.values(), settings)

    def complete(self, topic: Topic) -> Topic:
        """Return a topic with all of its columns."""
        match topic.schema:
            case SchemaUse() as use:
                found = self._of_file(topic, use)
            case RegistryUse() as use:
                found = self._of_registry(topic, use)
            case None:
                return topic
        return found or replace(topic, incomplete=True)

    def _of_registry(self, topic: Topic, use: RegistryUse) -> Topic | None:
        found = pinned_schema(use, topic.format, self._pins)
        if isinstance(found, Unusable):
            self._report(use, found.code, found.message, found.remedy)
            return None
        columns = tuple(self._merged(topic, use, found.fields, f"subject '{use.subject}'"))
        return replace(topic, columns=columns, format=found.encoding)

    def _of_file(self, topic: Topic, use: SchemaUse) -> Topic | None:
        language = format_of(topic.format).schemas
        if language is None:
            able = [name for name in NAMES if format_of(name).schemas is not None]
            message = f"values in {topic.format.name} have no schema"
            self._report(use, "MS122", message, f"remove it, or set format: {' or '.join(able)}")
            return None
        file = self._file(use, language)
        fields = self._fields(use, language, file) if file is not None else None
        if file is None or fields is None:
            return None
        columns = tuple(self._merged(topic, use, fields, f"'{file.path}'"))
        essence = language.essence(file.content, {})
        return replace(topic, columns=columns, format=replace(topic.format, schema=essence))

    def _file(self, use: SchemaUse, language: SchemaLanguage) -> File | None:
        found = self._files.get(use.path)
        if found is None:
            own = [path for path in self._files if path.endswith(language.suffix)]
            example = f"write {language.name} into a file such as schemas/orders{language.suffix}"
            hint = did_you_mean(use.path, own, example)
            self._report(use, "MS122", f"schema '{use.path}' does not exist", hint)
        elif not use.path.endswith(language.suffix):
            message = f"'{use.path}' is not {language.name}"
            self._report(
                use, "MS122", message, f"name a file that ends in {language.suffix}, or change the format"
            )
            return None
        return found

    def _fields(self, use: SchemaUse, language: SchemaLanguage, file: File) -> Fields | None:
        key = (language.name, file.path)
        if key not in self._columns:
            try:
                self._columns[key] = language.columns(file.content, {})
            except SchemaError as error:
                self._columns[key] = error
        found = self._columns[key]
        if isinstance(found, SchemaError):
            remedy = "change the schema, or declare the columns here instead of it"
            self._report(use, "MS123", f"schema '{use.path}' can't be used: {found}", remedy)
            return None
        return found

    def _merged(
        self, topic: Topic, use: SchemaUse | RegistryUse, fields: Fields, schema: str
    ) -> Iterator[Column]:
        """Yield the columns of the schema with what the topic says of them, then derived columns."""
        said = {column.name.lower(): column for column in topic.columns if column.expression is None}
        for field in fields:
            own = said.pop(field.name.lower(), None)
            if own is None:
                yield Column(field.name, use.location, field.type, field.nullable)
                continue
            if own.type not in (None, field.type):
                message = f"'{own.name}' is {field.type} in {schema}, not {own.type}"
                self._report_at(own, "MS123", message, "remove the type here, or change the schema")
            yield replace(own, name=field.name, type=field.type, nullable=field.nullable and own.nullable)
        for column in said.values():
            names = [field.name for field in fields]
            hint = did_you_mean(column.name, names, "add it to the schema, or remove it")
            self._report_at(column, "MS117", f"{schema} has no field '{column.name}'", hint)
        yield from (column for column in topic.columns if column.expression is not None)

    def _report(self, use: SchemaUse | RegistryUse, code: str, message: str, remedy: str) -> None:
        self.diagnostics.append(self._lines.diagnostic(use.location, code, message, remedy))

    def _report_at(self, column: Column, code: str, message: str, remedy: str) -> None:
        self.diagnostics.append(self._lines.diagnostic(column.location, code, message, remedy))
