"""The declaration of a kind of source, from which YAML, its JSON schema and the docs are derived."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from millstream.core.types import Type
from millstream.project.values import DeclaredSource


class GivenColumn(Struct, frozen=True):
    """A column that each row has without being declared."""

    name: str
    type: Type
    nullable: bool = False
    description: str = ""


class Declaration(Struct, frozen=True):
    title: str
    """What one such source is called in messages: `topic`."""
    key: str
    """The key of a source in YAML with the list of these: `topics`."""
    shape: type[Struct]
    """The keys of one of them."""
    read: Callable[[Any, Any, Any], DeclaredSource]
    """Makes the value of one of them from a `ColumnReader`, the shape of its source, and its own shape."""
    defaults: type[Struct] | None = None
    """Keys that a source can set once for all of them."""
    check: Callable[[Any, Any], None] = lambda _reader, _source: None
    """Checks what a source sets once for all of them."""
    words: tuple[tuple[str, str], ...] = ()
    """Keys of a source that users may know from other tools, with what to write instead."""
    metadata: tuple[GivenColumn, ...] = ()
    """Columns that `*` leaves out, such as the file of a row."""
    columns: tuple[GivenColumn, ...] = ()
    """The other columns of all sources of the kind; if there are any, only computed ones can be added."""
    time: str = ""
    """The column with the time of a row, which the test `freshness` reads unless it names another."""
    unit: str = "records"
    """What the differences of positions count: `files`. Only `records` are in the counts of read rows."""
    ends_anywhere: bool = False
    """A batch can be made to end at any position, such as that of another query."""
    replayable: bool = True
    """A query that starts again reads everything from the start; otherwise, only what comes from now on."""
