"""The functions of a format, as an encoding carries them in `schema`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct


class CodeRef(Struct, frozen=True):
    """A function, by its name and the digest of all that it reads."""

    name: str
    digest: str


class CodecFunctions(Struct, frozen=True, omit_defaults=True):
    """A function for each direction."""

    decode: CodeRef | None = None
    encode: CodeRef | None = None
    takes: tuple[str, ...] = ()
    """The fields of the row that is encoded."""
    optional: bool = False
    """The decoder may return None, for a record that is not one of the source."""


@cache
def codecs_of(schema: str) -> CodecFunctions:
    """Return the functions that the schema of an encoding names."""
    return msgspec.json.decode(schema, type=CodecFunctions) if schema else CodecFunctions()


def schema_of(codecs: CodecFunctions) -> str:
    return msgspec.json.encode(codecs).decode()


FILES: dict[str, tuple[Path, str]] = {}
"""The files of functions of loaded projects, and their paths there, by the digests of the functions."""
