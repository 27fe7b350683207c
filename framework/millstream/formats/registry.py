"""The registry of formats, and how the values or keys of a topic are encoded."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

if TYPE_CHECKING:
    from millstream.formats.format import Format

NAMES = (
    "json",
    "debezium",
    "csv",
    "xml",
    "avro",
    "protobuf",
    "string",
    "long",
    "binary",
)
"""The names of the formats. The module of each name has its `FORMAT`, and is imported on first use."""

BY_FUNCTION = "python:"
"""Precedes the name of a project's Python function; the module `python` has the format."""

FormatName: TypeAlias = Annotated[
    str,
    Meta(
        pattern=rf"^({'|'.join(NAMES)}|{BY_FUNCTION}[A-Za-z_]\w*)$",
        title=f"one of {', '.join(NAMES)}, {BY_FUNCTION}<function>",
        examples=["json"],
        extra={"known": NAMES},
        extra_json_schema={
            "anyOf": [{"enum": list(NAMES)}, {"type": "string", "pattern": f"^{BY_FUNCTION}"}],
        },
    ),
]
"""A format as a project writes it."""

SCHEMA_SUFFIXES = (".json", ".avsc", ".proto")
"""Listed here, so that a project is found to be unchanged without loading its formats."""

DEFAULT_FORMAT: FormatName = "json"

Decoding: TypeAlias = Literal["strict", "lenient"]
"""`strict` never changes or invents a value; `lenient` accepts what Spark's own functions accept."""


Framing: TypeAlias = Literal["plain", "confluent"]
"""`confluent`: a zero byte and the id of the schema, in four bytes, precede each value."""


class WriterSchema(Struct, frozen=True):
    """A schema that values were written with."""

    id: int
    schema: str
    """What decoding needs of it: if not the schema, where that has the message."""


class Encoding(Struct, frozen=True, omit_defaults=True):
    """How the values or keys of a topic are encoded. All layers pass it on unchanged and call `format_of`."""

    name: FormatName = DEFAULT_FORMAT
    decoding: Decoding = "strict"
    schema: str = ""
    """What decoding needs of the topic's schema; empty if that is only its columns."""
    message: str = ""
    """The message of the schema, if that has several."""
    framing: Framing = "plain"
    single: bool = False
    """A value is one column, such as a number or an array, not a row of columns: keys may be."""
    options: tuple[tuple[str, str], ...] = ()
    """What differs from the defaults of the format's options, by name."""
    schema_id: int = 0
    """The id that precedes values which are written, if it is known before."""
    subject: str = ""
    """Where a registry has the schema of values that are written, whose id precedes them."""
    writers: tuple[WriterSchema, ...] = ()
    """The schemas behind the ids that precede values; empty if decoding needs none of them."""

    def __str__(self) -> str:
        details: list[str] = [
            detail for detail in (self.decoding, self.framing) if detail not in {"strict", "plain"}
        ]
        details += [f"{name} {value}" for name, value in self.options]
        return f"{self.name} ({', '.join(details)})" if details else self.name

    @property
    def identity(self) -> str:
        """What decides which rows are decoded, in one text; of a function, that includes its body."""
        return self._with_digest("decode")

    @property
    def written(self) -> str:
        """What decides which bytes are encoded, likewise."""
        return self._with_digest("encode")

    def _with_digest(self, direction: Literal["decode", "encode"]) -> str:
        if not function_of(self.name):
            return str(self)
        from millstream.formats.python.codecs import codecs_of

        codecs = codecs_of(self.schema)
        codec = codecs.decode if direction == "decode" else codecs.encode
        return f"{self.name} {codec.digest if codec else ''}"


def function_of(name: FormatName) -> str:
    """Return the Python function that is a format; empty for all other formats."""
    return name.removeprefix(BY_FUNCTION) if name.startswith(BY_FUNCTION) else ""


def functions_of(*encodings: Encoding | None) -> tuple[str, ...]:
    """Return the Python functions that decode and encode."""
    with_functions = (
        encoding for encoding in encodings if encoding is not None and function_of(encoding.name)
    )
    return tuple(name for encoding in with_functions for name in format_of(encoding).functions)


DEFAULT = Encoding()
KEY = Encoding("string")
"""How the keys of records are encoded, unless a project says something else: a value's text."""


@cache
def format_of(encoding: Encoding | FormatName = DEFAULT) -> Format:
    """Return the format of an encoding, or the one of a name with its defaults."""
    if isinstance(encoding, str):
        encoding = Encoding(encoding)
    module = encoding.name.partition(":")[0]
    format_: Format = import_module(f"{__package__}.{module}").format_of(encoding)
    return format_
