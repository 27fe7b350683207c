"""The declaration of a store, from which profiles, the JSON schema and Spark's settings are derived."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct


class StoreDeclaration(Struct, frozen=True):
    title: str
    """The store's name in messages."""
    options: type[Struct]
    """Keys of `tables:` in profiles.yml. All stores share that mapping, so each key belongs to one store."""
    required: Mapping[str, str] = {}
    """Options without which a target can't use the store, each with an example."""
    location: tuple[str, ...] = ()
    """The options that say where tables are."""
    words: Mapping[str, str] = {}
    """Keys that users may know from other tools, with the correct ones."""
    change_feed: bool = False
    """Whether the changes of a table can be read as a stream."""
    lookups: bool = True
    """Whether the joins of a query find the newest rows of a table in each batch."""
    arranges_files: bool = False
    """Whether columns can say which rows of a table are in a file together."""
    fixed_partitions: bool = False
    """Whether other partitions need a table that is written again."""
    sends_rows: bool = False
    """Whether another server sends the rows, so that it pays to ask for few of them."""
    unstored: frozenset[str] = frozenset()
    """Names of types that no column can have or contain."""
    unstored_within: frozenset[str] = frozenset()
    """Names of types that arrays, maps and structs can't contain."""
    spark_settings: Mapping[str, str] = {}
    """Settings of every Spark session that can use the store."""
