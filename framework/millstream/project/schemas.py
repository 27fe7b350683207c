"""The schemas of topics: files of the schema folders, whose fields become columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from millstream.errors import Diagnostic, did_you_mean
from millstream.formats import NAMES, Encoding, format_of
from millstream.formats.format import ReadSchema, SchemaError, SchemaFiles, SchemaLanguage
from millstream.project.checks import Lines
from millstream.project.files import File
from millstream.project.values import Column, Key, SchemaUse, Topic
from millstream.text import Location


class TopicSchemas:
    """Gives topics the columns of their schemas."""

    def __init__(
        self,
        files: Mapping[str, File],
        folders: tuple[str, ...],
        lines: Lines,
        memo: MutableMapping[str, bytes],
    ) -> None:
        self._files = files
        self._folders = folders
        self._lines = lines
        self._memo = memo
        self.diagnostics: list[Diagnostic] = []

    def complete(self, topic: Topic) -> Topic:
        """Return a topic with all of its columns, and the type of its key."""
        if topic.key is not None:
            topic = replace(topic, key=self._complete_key(topic.key))
        use = topic.schema
        found = self._found(use, topic.format, "values")
        if use is None or found is None:
            return topic
        encoding = replace(topic.format, schema=found.essence, message=found.message)
        return replace(topic, columns=tuple(self._merged(topic, use, found)), format=encoding)

    def _complete_key(self, key: Key) -> Key:
        use = key.schema
        found = self._found(use, key.format, "keys")
        if use is None or found is None:
            return key
        if key.type_location and key.type != found.type:
            message = f"key '{key.name}' is {found.type} in {use.path}, not {key.type}"
            self._report(key.type_location, "MS123", message, "remove the type here, or change the schema")
        single = replace(key.format, single=found.single)
        encoding = replace(single, schema=found.essence, message=found.message)
        return replace(key, type=found.type, format=encoding)

    def _found(self, use: SchemaUse | None, encoding: Encoding, what: str) -> ReadSchema | None:
        """Return what a schema says, or report why it can't be used."""
        if use is None:
            return None
        language = format_of(encoding).schemas
        if language is None:
            able = [name for name in NAMES if format_of(name).schemas is not None]
            message = f"{what} in {encoding.name} have no schema"
            self._report(use.location, "MS122", message, f"remove it, or set format: {' or '.join(able)}")
            return None
        return self._read(use, language, key=what == "keys") if self._is_there(use, language) else None

    def _is_there(self, use: SchemaUse, language: SchemaLanguage) -> bool:
        if use.path not in self._files:
            own = [path for path in self._files if path.endswith(language.suffix)]
            example = f"write {language.name} into a file such as schemas/orders{language.suffix}"
            hint = did_you_mean(use.path, own, example)
            self._report(use.location, "MS122", f"schema '{use.path}' does not exist", hint)
            return False
        if not use.path.endswith(language.suffix):
            remedy = f"name a file that ends in {language.suffix}, or change the format"
            self._report(use.location, "MS122", f"'{use.path}' is not {language.name}", remedy)
            return False
        return True

    def _read(self, use: SchemaUse, language: SchemaLanguage, *, key: bool) -> ReadSchema | None:
        files = {path: file for path, file in self._files.items() if path.endswith(language.suffix)}
        digests = "".join(f"{path}:{file.digest}\n" for path, file in sorted(files.items()))
        kind = "key schema" if key else "schema"
        place = f"{kind}:{use.path}:{use.message}:{hashlib.sha256(digests.encode()).hexdigest()}"
        if known := self._memo.get(place):
            with suppress(msgspec.MsgspecError):
                return msgspec.msgpack.decode(known, type=ReadSchema)
        texts = {path: file.content for path, file in files.items()}
        try:
            found = language.read(SchemaFiles(use.path, texts, self._folders, use.message, key))
        except SchemaError as error:
            remedy = f"fix the schema, or declare the {'type' if key else 'columns'} instead of it"
            if error.place is None:
                message = f"schema '{use.path}' can't be used: {error}"
                self._report(use.location, "MS123", message, remedy)
            else:
                path, line, column = error.place
                self._report(Location(path, line, column, column + 1), "MS123", str(error), "fix the schema")
            return None
        self._memo[place] = msgspec.msgpack.encode(found)
        return found

    def _merged(self, topic: Topic, use: SchemaUse, schema: ReadSchema) -> Iterator[Column]:
        """Yield the columns of the schema with what the topic says of them, then derived columns."""
        said = {column.name.lower(): column for column in topic.columns if column.expression is None}
        for field in schema.columns:
            own = said.pop(field.name.lower(), None)
            if own is None:
                yield Column(field.name, use.location, field.type, field.nullable)
                continue
            if own.type not in (None, field.type):
                message = f"'{own.name}' is {field.type} in {use.path}, not {own.type}"
                remedy = "remove the type here, or change the schema"
                self._report(own.location, "MS123", message, remedy)
            yield replace(own, name=field.name, type=field.type, nullable=field.nullable and own.nullable)
        for column in said.values():
            names = [field.name for field in schema.columns]
            hint = did_you_mean(column.name, names, f"add it to {use.path}, or remove it")
            self._report(column.location, "MS117", f"schema '{use.path}' has no field '{column.name}'", hint)
        yield from (column for column in topic.columns if column.expression is not None)

    def _report(self, location: Location, code: str, message: str, remedy: str) -> None:
        self.diagnostics.append(self._lines.diagnostic(location, code, message, remedy))
