"""Compiles `.proto` files with protoc, which grpcio-tools contains."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

_ERROR = re.compile(r"(?P<file>.+?):(?:(?P<line>\d+):(?P<column>\d+):)? (?P<message>.*)")
_NEEDED = re.compile(
    r"(?:PATH|HOME|LANG|LC_\w+|TMPDIR|TEMP|SYSTEMROOT|LD_LIBRARY_PATH|VIRTUAL_ENV|PYTHON\w*)$"
)
"""The environment variables that protoc sees: no secrets of others."""
_TAB = 8
"""protoc counts the columns up to the next multiple of it."""


class ProtoError(Struct, frozen=True):
    """What protoc says about a location in a file; line and column are 0 if it names none."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        location = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{location}: {self.message}"


class ProtoErrors(ValueError):  # noqa: N818 - several of them
    def __init__(self, errors: Sequence[ProtoError]) -> None:
        super().__init__("\n".join(map(str, errors)))
        self.errors = tuple(errors)


_KNOWN_TYPES = Path(__file__).with_name("known")
"""Files that serializers don't register, as all readers have them."""


def compile_protos(files: Sequence[str], folders: Sequence[Path], descriptors: bytes = b"") -> bytes:
    """Compile files, named as they would be in an import, to a descriptor set with all their imports.

    They and their imports are looked up in the folders, in order, then in another descriptor set; the types
    of Google and Confluent that all readers know are always there.
    """
    paths = [str(path) if (path := _find(file, folders)) else file for file in files]
    with tempfile.TemporaryDirectory(prefix="millstream-") as folder:
        target = Path(folder, "descriptors")
        command = [sys.executable, "-m", "grpc_tools.protoc", "--include_imports"]
        command += [
            f"--descriptor_set_out={target}",
            *(
                f"-I{folder}"
                for folder in (*(folder.absolute() for folder in folders), _KNOWN_TYPES, *_of_google())
            ),
        ]
        if descriptors:
            descriptor_file = Path(folder, "given")
            descriptor_file.write_bytes(descriptors)
            command.append(f"--descriptor_set_in={descriptor_file}")
        elif missing := next((file for file, path in zip(files, paths, strict=True) if file == path), None):
            raise ProtoErrors([ProtoError(missing, 0, 0, "the file does not exist")])
        command += paths
        environment = {name: value for name, value in os.environ.items() if _NEEDED.match(name)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode:
            raise ProtoErrors(_errors(done.stderr) or [ProtoError(files[0], 0, 0, done.stderr.strip())])
        return target.read_bytes()


def _of_google() -> tuple[Path, ...]:
    """Return the folder with the files of `google/type` and others, next to the modules made from them."""
    package = find_spec("google.type")
    paths = package.submodule_search_locations if package else None
    return tuple(Path(folder).parents[1] for folder in paths or ())


def _find(file: str, folders: Sequence[Path]) -> Path | None:
    """Return the path of a file; protoc takes names that start with `-` or `@` for something else."""
    for folder in folders:
        if (path := folder.absolute() / file).is_file():
            return path
    return None


def _errors(output: str) -> list[ProtoError]:
    errors: list[ProtoError] = []
    for line in output.splitlines():
        match = _ERROR.fullmatch(line)
        if match is None or match["message"].startswith("warning:"):
            continue
        number = int(match["line"] or 0)
        column = _column(Path(match["file"]), number, int(match["column"] or 0))
        errors.append(ProtoError(match["file"], number, column, match["message"]))
    return errors


def _column(file: Path, line: int, shown: int) -> int:
    """Return the column in characters, starting at 1, of one in which a tab counts up to eight."""
    if not line:
        return 0
    text = file.read_text(encoding="utf-8", errors="replace").splitlines()[line - 1 : line]
    width = 0
    for index, character in enumerate(text[0] if text else ""):
        if width + 1 >= shown:
            return index + 1
        width += _TAB - width % _TAB if character == "\t" else len(character.encode())
    return shown - width + len(text[0]) if text else shown
