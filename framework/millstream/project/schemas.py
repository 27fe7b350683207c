"""The schemas of topics: files of the schema folders, whose fields become columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from millstream.errors import Diagnostic, did_you_mean
from millstream.formats import NAMES, format_of
from millstream.formats.format import Fields, SchemaError, SchemaLanguage
from millstream.project.checks import Lines
from millstream.project.files import File
from millstream.project.values import Column, SchemaUse, Topic


class TopicSchemas:
    """Gives topics the columns of their schemas; a file is read once."""

    def __init__(self, files: Mapping[str, File], lines: Lines) -> None:
        self._files = files
        self._lines = lines
        self._columns: dict[tuple[str, str], Fields | SchemaError] = {}
        self.diagnostics: list[Diagnostic] = []

    def complete(self, topic: Topic) -> Topic:
        """Return a topic with all of its columns."""
        use = topic.schema
        if use is None:
            return topic
        language = format_of(topic.format).schemas
        if language is None:
            able = [name for name in NAMES if format_of(name).schemas is not None]
            message = f"values in {topic.format.name} have no schema"
            self._report(use, "MS122", message, f"remove it, or set format: {' or '.join(able)}")
            return topic
        file = self._file(use, language)
        fields = self._fields(use, language, file) if file is not None else None
        if file is None or fields is None:
            return topic
        columns = tuple(self._merged(topic, fields, file))
        return replace(
            topic, columns=columns, format=replace(topic.format, schema=language.essence(file.content))
        )

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
                self._columns[key] = language.columns(file.content)
            except SchemaError as error:
                self._columns[key] = error
        found = self._columns[key]
        if isinstance(found, SchemaError):
            remedy = "change the schema, or declare the columns here instead of it"
            self._report(use, "MS123", f"schema '{use.path}' can't be used: {found}", remedy)
            return None
        return found

    def _merged(self, topic: Topic, fields: Fields, file: File) -> Iterator[Column]:
        """Yield the columns of the schema with what the topic says of them, then derived columns."""
        said = {column.name.lower(): column for column in topic.columns if column.expression is None}
        place = topic.schema.location if topic.schema else topic.location
        for field in fields:
            own = said.pop(field.name.lower(), None)
            if own is None:
                yield Column(field.name, place, field.type, field.nullable)
                continue
            if own.type not in (None, field.type):
                message = f"'{own.name}' is {field.type} in {file.path}, not {own.type}"
                self._report_at(own, "MS123", message, "remove the type here, or change the schema")
            yield replace(own, name=field.name, type=field.type, nullable=field.nullable and own.nullable)
        for column in said.values():
            names = [field.name for field in fields]
            hint = did_you_mean(column.name, names, f"add it to {file.path}, or remove it")
            self._report_at(column, "MS117", f"schema '{file.path}' has no field '{column.name}'", hint)
        yield from (column for column in topic.columns if column.expression is not None)

    def _report(self, use: SchemaUse, code: str, message: str, remedy: str) -> None:
        self.diagnostics.append(self._lines.diagnostic(use.location, code, message, remedy))

    def _report_at(self, column: Column, code: str, message: str, remedy: str) -> None:
        self.diagnostics.append(self._lines.diagnostic(column.location, code, message, remedy))
