"""The declaration of a store, from which profiles, the JSON schema and Spark's settings are derived."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

FILE_OPTIONS = ("partition_by", "cluster_by", "target_file_size")
"""Options of append-only tables that say how files are arranged."""


class StoreDeclaration(Struct, frozen=True):
    title: str
    """The store's name in messages."""
    options: type[Struct]
    """Keys of `tables:` in profiles.yml. All stores share that mapping, so each key belongs to one store."""
    required: Mapping[str, str] = {}
    """Options without which a target can't use the store, each with an example."""
    in_catalog: Mapping[str, str] = {}
    """Instead of the required options: one that names a catalog of the target, and others, with examples."""
    location: tuple[str, ...] = ()
    """The options that say where tables are."""
    in_folder: bool = False
    """Whether these must be folders or in S3, not in another storage: files are moved there."""
    words: Mapping[str, str] = {}
    """Keys that users may know from other tools, with the correct ones."""
    change_feed: bool = False
    """Whether the changes of a table can be read as a stream."""
    versions: bool = False
    """Whether the rows of a version can be read, and what changed between two: for tables over tables."""
    lookups: bool = True
    """Whether the joins of a query find the newest rows of a table in each batch."""
    appends_only: bool = False
    """Whether stored rows can't change, and none can be deleted."""
    file_options: tuple[str, ...] = ()
    """Those of `FILE_OPTIONS` that its append-only tables can have."""
    transforms: bool = False
    """Whether partitions can be computed of columns."""
    partition_types: tuple[str, ...] = ()
    """Names of the types of columns that `partition_by` can name; none: those of all single values."""
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
