"""The `.proto` files of a project as the columns of one of their messages."""

from __future__ import annotations

import binascii
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path

from millstream.formats.format import ReadSchema, SchemaError, SchemaFiles, SchemaImport
from millstream.formats.protobuf.compiler import ProtoErrors, compile_protos
from millstream.formats.protobuf.mapping import columns_of
from millstream.formats.protobuf.schema import files_of, message_indexes, message_type


def read_files(files: SchemaFiles) -> ReadSchema:
    descriptors = compile_files(files)
    message = files.message or _only_message(files.path, descriptors)
    return ReadSchema(columns_of(descriptors, message), b64encode(descriptors).decode(), message)


def place_of(essence: str, message: str) -> str:
    """Return the indexes by which values name their message, such as `0.2`; empty if there is none."""
    try:
        descriptor = message_type(b64decode(essence), message)
    except SchemaError:
        return ""
    return ".".join(map(str, message_indexes(descriptor)))


def imports_of(files: SchemaFiles) -> tuple[SchemaImport, ...]:
    """Return what a file imports, but for the types that protoc knows itself."""
    main = next(file for file in files_of(compile_files(files)) if file.name == _name(files))
    paths = {_without_folder(path, files): path for path in files.texts}
    return tuple(SchemaImport(name, paths[name]) for name in main.dependency if name in paths)


def _name(files: SchemaFiles) -> str:
    """Return how other files import a file."""
    return _without_folder(files.path, files)


def _without_folder(path: str, files: SchemaFiles) -> str:
    folder = next((folder for folder in files.folders if path.startswith(f"{folder}/")), "")
    return path.removeprefix(f"{folder}/")


def compile_files(files: SchemaFiles) -> bytes:
    """Compile a file and its imports, which are found from the schema folders, to a descriptor set."""
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        root = Path(folder).resolve()
        binary: list[bytes] = []
        for path, text in files.texts.items():
            if not (root / path).resolve().is_relative_to(root):
                raise SchemaError("", f"'{path}' is not the name of a file")
            if descriptor := registered_descriptor(text, _without_folder(path, files)):
                binary.append(descriptor)
                continue
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        folders = [root / folder for folder in files.folders if (root / folder).is_dir()]
        try:
            return compile_protos([_name(files)], folders or [root], descriptor_set(binary))
        except ProtoErrors as error:
            # The first one may be that a file is missing, and the next one, where it is imported.
            first = next((proto_error for proto_error in error.errors if proto_error.line), error.errors[0])
            location = None
            if first.line:
                location = (
                    str(Path(first.file).resolve().relative_to(root)),
                    first.line,
                    max(first.column, 1),
                )
            message = first.message if first.line else f"{first.file}: {first.message}"
            raise SchemaError("", message, location) from None


def _only_message(path: str, descriptors: bytes) -> str:
    """Return the only message of the file, which is the last in order since it comes after its imports."""
    file = files_of(descriptors)[-1]
    prefix = f"{file.package}." if file.package else ""
    names = [f"{prefix}{message.name}" for message in file.message_type]
    if len(names) == 1:
        return names[0]
    if not names:
        raise SchemaError("", f"{path} has no message")
    raise SchemaError("", f"{path} has several messages: set `message` to one of {', '.join(names)}")


def registered_descriptor(text: str, name: str) -> bytes:
    """Return a descriptor under the name that other files import it by; empty if a schema is a text."""
    try:
        data = b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return b""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto
    from google.protobuf.message import DecodeError

    try:
        descriptor = FileDescriptorProto.FromString(data)
    except DecodeError:
        return b""
    descriptor.name = name
    renamed: bytes = descriptor.SerializeToString()
    return renamed


def descriptor_set(files: Sequence[bytes]) -> bytes:
    if not files:
        return b""
    from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

    descriptors: bytes = FileDescriptorSet(
        file=map(FileDescriptorProto.FromString, files)
    ).SerializeToString()
    return descriptors
