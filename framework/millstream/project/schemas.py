"""The schemas of topics: files of the schema folders, or pins of a registry, whose fields become columns."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.core.errors import UnlocatedDiagnostic, did_you_mean
from millstream.core.text import Location
from millstream.core.types import Row
from millstream.formats.format import ReadSchema, SchemaError, SchemaFiles, SchemaLanguage
from millstream.formats.registry import NAMES, Encoding, format_of
from millstream.outputs.kinds import RENAMED_IN_TABLE, VALID_FROM, VALID_TO
from millstream.project.checks import LocationLines
from millstream.project.files import File
from millstream.project.format_functions import UnusableFunction, source_format
from millstream.project.pinned_schemas import PinnedSchema, pinned_schema
from millstream.project.pins import pins_folder, read_pins
from millstream.project.values import (
    DeclaredColumn,
    Function,
    FunctionUse,
    RegistryUse,
    SchemaUse,
    Settings,
    Topic,
    TopicKey,
)


class TopicSchemas:
    """Gives topics the columns of their schemas."""

    def __init__(
        self,
        files: Mapping[str, File],
        settings: Settings,
        lines: LocationLines,
        memo: MutableMapping[str, bytes],
        functions: Mapping[str, Function],
    ) -> None:
        self._functions = functions
        pins = f"{pins_folder(settings)}/"
        self._files = {path: file for path, file in files.items() if not path.startswith(pins)}
        self._folders = settings.schema_paths
        self._lines = lines
        self._memo = memo
        self._pins, self.diagnostics = read_pins(
            ((path, file.content) for path, file in files.items()), settings
        )

    def complete(self, topic: Topic) -> Topic:
        """Return a topic with all of its columns, and the type of its key."""
        if topic.key is not None and topic.key.schema is not None:
            key = self._complete_key(topic.key, topic.key.schema)
            topic = replace(topic, key=key or topic.key, incomplete=key is None)
        if topic.schema is None:
            return topic
        pinned = self._schema_of(topic.schema, topic.format)
        if pinned is None:
            return replace(topic, incomplete=True)
        columns = tuple(self._merged(topic, topic.schema.location, pinned.schema, topic.schema.name))
        declared = {column.name for column in topic.columns}
        for column in columns if topic.versions else ():
            if column.name.lower() in {VALID_FROM, VALID_TO} and column.name not in declared:
                message = f"a topic with `versions` gets a column '{column.name}', and its schema has another"
                self._report(topic.schema.location, "MS682", message, RENAMED_IN_TABLE)
        topic = replace(topic, columns=columns, format=pinned.encoding)
        if topic.key is not None and topic.key.schema is not None:
            self._check_parts(topic, topic.key, topic.key.schema.location)
        return topic

    def _complete_key(self, key: TopicKey, use: SchemaUse | RegistryUse | FunctionUse) -> TopicKey | None:
        pinned = self._schema_of(use, key.format)
        if pinned is None:
            return None
        type_ = pinned.schema.type
        if key.type_location and key.type != type_:
            message = f"key '{key.name}' is {type_} in {use.name}, not {key.type}"
            self._report(key.type_location, "MS123", message, "remove the type here, or change the schema")
        fields = type_.fields if key.parts and isinstance(type_, Row) else ()
        names = tuple(field.name for field in fields)
        if {name.lower() for name in names} != {name.lower() for name in key.parts}:
            columns = f"the columns {', '.join(names)}" if names else "one column"
            remedy = f"write `key: [{', '.join(names)}]`" if names else "write its name: `key: …`"
            self._report(use.location, "MS123", f"the key has {columns} in {use.name}", remedy)
            return None
        return replace(
            key, type=type_, parts=names, format=replace(pinned.encoding, single=pinned.schema.single)
        )

    def _check_parts(self, topic: Topic, key: TopicKey, location: Location) -> None:
        """Report columns of a key that have other types in rows."""
        types = {column.name.lower(): column.type for column in topic.columns}
        for field in key.type.fields if key.parts and isinstance(key.type, Row) else ():
            if (type_ := types.get(field.name.lower())) != field.type:
                message = f"'{field.name}' is {field.type} in the schema of keys, and {type_} in that of rows"
                self._report(location, "MS123", message, "pull both again: `millstream schemas pull`")

    def _schema_of(
        self, use: SchemaUse | RegistryUse | FunctionUse, encoding: Encoding
    ) -> PinnedSchema | None:
        """Return what a schema says, or report why it can't be used."""
        match use:
            case FunctionUse():
                return self._of_function(use, encoding)
            case SchemaUse():
                return self._of_file(use, encoding)
            case RegistryUse():
                schema = pinned_schema(use, encoding, self._pins, self._read_once)
                if isinstance(schema, UnlocatedDiagnostic):
                    self._report(use.location, schema.code, schema.message, schema.help)
                    return None
                return schema

    def _of_file(self, use: SchemaUse, encoding: Encoding) -> PinnedSchema | None:
        language = format_of(encoding).schemas
        if language is None:
            able = [n for n in NAMES if format_of(n).schemas is not None and not format_of(n).of_change]
            message = f"{'keys' if use.key else 'values'} in {encoding.name} have no schema"
            remedy = f"remove it, or set format: {' or '.join(able)}"
            if encoding.name in able:  # its options exclude one
                remedy = "remove it, or remove `single` if values are objects"
            self._report(use.location, "MS122", message, remedy)
            return None
        schema = self._read(use, language) if self._is_there(use, language) else None
        if schema is None:
            return None
        return PinnedSchema(schema, replace(encoding, schema=schema.essence, message=schema.message))

    def _of_function(self, use: FunctionUse, encoding: Encoding) -> PinnedSchema | None:
        schema = source_format(encoding, self._functions, key=use.key)
        if isinstance(schema, UnusableFunction):
            if not schema.reported:
                location = use.options if schema.other else use.location
                self._report(location, schema.code, schema.message, schema.help)
            return None
        return PinnedSchema(schema, replace(encoding, schema=schema.essence))

    def _is_there(self, use: SchemaUse, language: SchemaLanguage) -> bool:
        if use.path not in self._files:
            same_language = [path for path in self._files if path.endswith(language.suffix)]
            example = f"write {language.name} into a file such as schemas/orders{language.suffix}"
            hint = did_you_mean(use.path, same_language, example)
            self._report(use.location, "MS122", f"schema '{use.path}' does not exist", hint)
            return False
        if not use.path.endswith(language.suffix):
            remedy = f"name a file that ends in {language.suffix}, or change the format"
            self._report(use.location, "MS122", f"'{use.path}' is not {language.name}", remedy)
            return False
        return True

    def _read(self, use: SchemaUse, language: SchemaLanguage) -> ReadSchema | None:
        texts = language.files_in({path: file.content for path, file in self._files.items()})
        try:
            files = SchemaFiles(use.path, texts, self._folders, use.message, use.key)
            return self._read_once(language, files)
        except SchemaError as error:
            remedy = f"fix the schema, or declare the {'type' if use.key else 'columns'} instead of it"
            if error.location is None:
                message = f"schema '{use.path}' can't be used: {error}"
                self._report(use.location, "MS123", message, remedy)
            else:
                path, line, column = error.location
                self._report(Location(path, line, column, column + 1), "MS123", str(error), "fix the schema")
            return None

    def _read_once(self, language: SchemaLanguage, files: SchemaFiles) -> ReadSchema:
        """Read a schema, or return the cached result for the same texts; raise SchemaError."""
        digest = hashlib.sha256(to_msgpack(files)).hexdigest()
        key = f"schema:{language.name}:{digest}"
        if cached := self._memo.get(key):
            with suppress(msgspec.MsgspecError):
                return from_msgpack(cached, ReadSchema)
        schema = language.read(files)
        self._memo[key] = to_msgpack(schema)
        return schema

    def _merged(
        self, topic: Topic, location: Location, schema: ReadSchema, name: str
    ) -> Iterator[DeclaredColumn]:
        """Yield the columns of the schema with what the topic says of them, then derived columns."""
        text = {column.name.lower(): column for column in topic.columns if column.expression is None}
        for field in schema.columns:
            declared = text.pop(field.name.lower(), None)
            if declared is None:
                yield DeclaredColumn(field.name, location, field.type, field.nullable)
                continue
            if declared.type not in (None, field.type):
                message = f"'{declared.name}' is {field.type} in {name}, not {declared.type}"
                remedy = "remove the type here, or change the schema"
                self._report(declared.location, "MS123", message, remedy)
            yield replace(
                declared, name=field.name, type=field.type, nullable=field.nullable and declared.nullable
            )
        for column in text.values():
            names = [field.name for field in schema.columns]
            hint = did_you_mean(column.name, names, f"add it to {name}, or remove it")
            self._report(column.location, "MS117", f"{name} has no field '{column.name}'", hint)
        yield from (column for column in topic.columns if column.expression is not None)

    def _report(self, location: Location, code: str, message: str, remedy: str) -> None:
        self.diagnostics.append(self._lines.diagnostic(location, code, message, remedy))
