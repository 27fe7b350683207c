"""The definition of a format, with and without Spark."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

from msgspec import Struct

from millstream.core.expressions import Expression, Piece
from millstream.core.types import MOST_TYPES, TIMESTAMP, Field, Row, Type

Fields = Sequence[Field]
"""What a value holds: names and types, in order."""
Item = tuple[str, Expression]
"""A column of a row, by its name."""


class DecodingCall(Struct, frozen=True):
    """A call of a project's Python function that decodes: the name in SQL, and what it returns."""

    name: str
    function: str
    fields: tuple[Field, ...]
    single: bool
    """It returns one value, not a row."""
    optional: bool
    """It may return None, for a record that has no row."""


class DecodedSql(Struct, frozen=True):
    """SQL over the raw columns of a topic."""

    rows: tuple[Piece, ...] = ()
    """An array with one struct of all fields and `_bad`; empty if `fields` is enough. A bad field is NULL."""
    fields: tuple[tuple[Piece, ...], ...] = ()
    """An expression for each field, over `rows` if there are any; an empty one leaves the field unchanged."""
    good: tuple[Piece, ...] = ()
    """Without `rows`: the condition under which a value can be decoded, never NULL; empty if all can."""
    why: tuple[Piece, ...] = ()
    """Describes a value that can't be decoded, whichever fields are read: SQL over the raw columns."""
    required: Callable[[Sequence[Piece]], tuple[Piece, ...]] | None = None
    """Returns `rows` of a call that fails if a value can't be decoded; it is given the SQL of the record's
    topic, partition and offset, of what precedes the reason, if anything does, and of the columns that must
    be good, unless all must. With it, `_bad` lists bad columns with reasons, and `why` is empty."""
    by_function: DecodingCall | None = None
    """What `rows` calls if it is not a function of Spark or Millstream. Spark calls it for all rows, also
    within a branch of `if`; what `required` returns gives NULLs for a missing value."""


class SparkCodec(Struct, frozen=True):
    """The conversions in Spark, as pieces of SQL."""

    decode: Callable[[Fields], DecodedSql]
    encode: Callable[[Sequence[Item]], tuple[Piece, ...]]
    """From the columns of a row to a value: text or bytes."""


class LocalCodec(Struct, frozen=True):
    """The same conversions in Python, for `produce`, `consume` and unit tests."""

    decode: Callable[[bytes, Fields], Any]
    encode: Callable[[Any, Fields], bytes | None]
    """Returns None if the user's own function writes no value."""


class SchemaError(Exception):
    """A schema that has no columns: because of a field, or of a location in a file (path, line, column)."""

    def __init__(self, field: str, reason: str, location: tuple[str, int, int] | None = None) -> None:
        super().__init__(f"field {field}: {reason}" if field else reason)
        self.field = field
        self.location = location


class FieldCount:
    """Counts the fields of a schema, with those within fields, and refuses too many."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, field: str) -> None:
        self._count += 1
        if self._count > MOST_TYPES:
            raise SchemaError(field, f"the schema has more than {MOST_TYPES:,} fields within fields")


class SchemaFiles(Struct, frozen=True):
    """The schemas of a project in one language, and the one that a topic names."""

    path: str
    texts: dict[str, str]
    """By path, or by the name under which another schema refers to it."""
    folders: tuple[str, ...] = ()
    """Where imports are found."""
    message: str = ""
    """The message of a schema that has several."""
    key: bool = False
    """It describes keys, which need not be rows."""


class SchemaImport(Struct, frozen=True):
    name: str
    """As the importing file writes it."""
    path: str


class ReadSchema(Struct, frozen=True):
    """What a schema says."""

    columns: tuple[Field, ...]
    essence: str = ""
    """What decoding needs of it, without descriptions and the like."""
    message: str = ""
    optional: tuple[str, ...] = ()
    """Fields that a writer may leave out, although they are never NULL: they have defaults."""
    text: str = ""
    """The schema itself, if it was derived from columns."""
    single: bool = False
    """Its values are not rows: they have a single column."""
    unwritable: tuple[str, ...] = ()
    """Columns that can be read, but not written as the schema wants them."""

    @property
    def type(self) -> Type:
        """The type of a whole value."""
        return (
            self.columns[0].type if self.single else Row(tuple(Field(c.name, c.type) for c in self.columns))
        )


class SchemaLanguage(Struct, frozen=True):
    """How a format's schemas are written."""

    name: str
    suffix: str
    read: Callable[[SchemaFiles], ReadSchema]
    """Raises SchemaError for what is not a schema, or has no columns."""
    derive: Callable[[Fields, str], ReadSchema] | None = None
    """Returns a schema of columns, with a name; raises SchemaError for what it can't describe."""
    derive_single: Callable[[Type, str], ReadSchema] | None = None
    """The same for values that are not rows."""
    required: bool = True
    """A value can't be read without its schema."""
    by_writer: bool = False
    """A value can only be read with the schema that it was written with."""
    reading: Callable[[str, str, str], Mapping[str, str]] | None = None
    """Returns facts on which reading a column depends, from the essence of a schema and a message."""
    message_position: Callable[[str, str], str] | None = None
    """Returns where the essence of a schema has a message, if values name it by that; empty if nowhere."""
    imports: Callable[[SchemaFiles], Sequence[SchemaImport]] | None = None
    """Returns the files that a file refers to itself; None if all that it needs is in its text."""

    def derived(self, text: str, message: str = "", *, key: bool = False) -> SchemaFiles:
        """Return a schema that was derived from columns, as the only file."""
        path = f"derived{self.suffix}"
        return SchemaFiles(path, {path: text}, (), message, key)

    def files_in(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return those files of a project that are in this language."""
        return {path: text for path, text in texts.items() if path.endswith(self.suffix)}


class FormatOption(Struct, frozen=True):
    """A setting of a format, which is a text."""

    default: str
    about: str
    pattern: str
    """What a value must match."""
    example: str


def _never(_: Type) -> bool:
    return False


def _always(_: Type) -> bool:
    return True


class Format(Struct, frozen=True, kw_only=True):
    media_type: str
    spark: SparkCodec
    local: LocalCodec
    single: bool = False
    """A value is a single column, not a row."""
    holds: Callable[[Type], bool] = _always
    """If single, whether a value can be of a type."""
    unwritten: frozenset[Type] = frozenset()
    """Types that a column of a value can't have or contain."""
    columns: Fields = ()
    """The columns of a value if the project declares none."""
    round_trips: Callable[[Type], bool] = _never
    """Whether a value of a type stays the same when it is written and read."""
    by_position: bool = False
    """Fields have no names in a value: their order counts, and decoding can't skip any."""
    omits_null: bool = False
    """NULL fields are omitted from a value."""
    of_change: Fields = ()
    """If values are changes of rows: columns that say what happened, which `from` can read.

    A reference topic decodes one more, which says whether a change deletes its row.
    """
    changed_at: Expression = Expression((), TIMESTAMP)
    """If values are changes of rows: when a change was committed, over `of_change` and `_timestamp`."""
    escape: str = ""
    """Texts are unchanged in a value, except for characters after this one; if empty, they may be encoded."""
    schemas: SchemaLanguage | None = None
    """What a topic's schema is written in, if the format has schemas."""
    options: Mapping[str, FormatOption] = {}
    """What `format_options` may contain."""
    jars: tuple[str, ...] = ()
    """The features of the jar catalog that Spark needs for the format."""
    encoder: str = ""
    """The project's Python function that encodes, if it is one."""
    decoder: str = ""
    """The project's Python function that decodes, if it is one."""

    @property
    def functions(self) -> tuple[str, ...]:
        """The project's Python functions that it calls."""
        return tuple(name for name in (self.decoder, self.encoder) if name)

    def value_columns(self, names: Sequence[str], keys: Container[str]) -> tuple[str, ...]:
        """Return the columns of a row that are in its value: if single, the first that is not a key."""
        if not self.single:
            return tuple(names)
        return tuple([name for name in names if name not in keys][:1] or names[:1])
