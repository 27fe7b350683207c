"""The registry of kinds of output. Everything that depends on the word of a materialization starts here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from millstream.outputs.kinds import Sink, Table, View
from millstream.outputs.python.declaration import Python
from millstream.outputs.writing import WriterBatch

Materialization = View | Sink | Table | Python
KINDS: dict[str, type[Materialization]] = {kind.word: kind for kind in get_args(Materialization)}
if TYPE_CHECKING:
    Word: TypeAlias = str
    StoredAs: TypeAlias = str
else:
    Word = Literal[tuple(KINDS)]
    StoredAs = Literal[tuple(kind.stored_as for kind in KINDS.values() if kind.stored_as)]


def writer_of(word: str) -> Callable[[Any, Mapping[str, Any], WriterBatch], str | None]:
    """Return what writes the rows of a batch for a kind that has neither a sink nor a table.

    It gets them as a DataFrame, with the options of the model, and returns why they are to become dead
    letters, or None.
    """
    write: Callable[[Any, Mapping[str, Any], WriterBatch], str | None] = import_module(
        f"{__package__}.{word}.spark"
    ).write
    return write


def materialization_of(name: str, config: Mapping[str, Any]) -> Materialization:
    """Return what a model of this name and configuration stores."""
    kind = KINDS.get(config.get("materialized") or "", View)
    options = {option: config.get(option) for option in kind.option_names()}
    configured = {name: value for name, value in options.items() if value not in (None, "", [], {}, ())}
    for option in kind.column_options:
        if option in configured:
            configured[option] = columns_named(configured[option])
    if kind.name_option:
        configured.setdefault(kind.name_option, name)
    return kind.of(configured, config)


def columns_named(columns: str | list[str] | None) -> tuple[str, ...]:
    """Return the columns that an option names: one, or a list."""
    if not columns:
        return ()
    return (columns,) if isinstance(columns, str) else tuple(columns)
