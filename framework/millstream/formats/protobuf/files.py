"""The `.proto` files of a project as the columns of one of their messages."""

from __future__ import annotations

import tempfile
from base64 import b64encode
from pathlib import Path

from millstream.formats.format import ReadSchema, SchemaError, SchemaFiles
from millstream.formats.protobuf.compiler import ProtoErrors, compile_protos
from millstream.formats.protobuf.mapping import columns_of
from millstream.formats.protobuf.schema import files_of


def read_files(files: SchemaFiles) -> ReadSchema:
    descriptors = compiled(files)
    message = files.message or _only_message(files.path, descriptors)
    return ReadSchema(columns_of(descriptors, message), b64encode(descriptors).decode(), message)


def compiled(files: SchemaFiles) -> bytes:
    """Compile a file and its imports, which are found from the schema folders, to a descriptor set."""
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        root = Path(folder).resolve()
        for path, text in files.texts.items():
            if not (root / path).resolve().is_relative_to(root):
                raise SchemaError("", f"'{path}' is not the name of a file")
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
        own = next((each for each in files.folders if files.path.startswith(f"{each}/")), "")
        folders = [root / each for each in files.folders if (root / each).is_dir()]
        try:
            return compile_protos([files.path.removeprefix(f"{own}/")], folders or [root])
        except ProtoErrors as error:
            first = error.errors[0]
            place = None
            if first.line:
                place = (str(Path(first.file).resolve().relative_to(root)), first.line, max(first.column, 1))
            raise SchemaError("", first.message, place) from None


def _only_message(path: str, descriptors: bytes) -> str:
    """Return the only message of the file, which is the last in order since it comes after its imports."""
    file = files_of(descriptors)[-1]
    prefix = f"{file.package}." if file.package else ""
    names = [f"{prefix}{each.name}" for each in file.message_type]
    if len(names) == 1:
        return names[0]
    if not names:
        raise SchemaError("", f"{path} has no message")
    raise SchemaError("", f"{path} has several messages: set `message` to one of {', '.join(names)}")
