"""What models store: nothing, the records of a Kafka topic, or the rows of a state table.

Code that only needs a fact of a materialization reads it here, so it needs no case for a new kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

from msgspec import Struct
from typing_extensions import Self

from millstream.formats.registry import (
    DEFAULT,
    DEFAULT_FORMAT,
    Encoding,
    FormatName,
    Framing,
    format_of,
    functions_of,
)

OWN_HEADERS = "millstream."
"""The prefix of record headers that Millstream writes; no other header may have it."""

POSITION = f"{OWN_HEADERS}position"
"""The header with the position of the original record: `topic-partition-offset`."""

BATCH = f"{OWN_HEADERS}batch"
"""The header of every record: `<query>/<checkpoint>/<batch>`; in real-time mode, the batch is empty.

A repeated batch has the same value, and a rebuild another checkpoint. The position identifies a record among
those of one query and checkpoint in a topic.
"""
DEAD_LETTER_SUFFIX = ".dead_letter"


def dead_letter_topic_of(source: str, topics: Sequence[str], pattern: str) -> str:
    """Return the topic of a source's dead letters, which several topics have in common."""
    return f"{source if pattern or len(topics) > 1 else topics[0]}{DEAD_LETTER_SUFFIX}"


PROCESSING_TIME = "processing_time"
"""As `timestamp` of a sink: records have the time at which they are sent."""
KEEP = "keep"
"""As `headers` of a sink, or for its header `*`: records have the headers of those that they come from."""
EVERY_HEADER = "*"
HANDLED_SUFFIX = ".handled"
"""Of the topic, next to one with dead letters, that records which of them were replayed or dropped."""
LONGEST_TOPIC = 249
"""How many characters the name of a topic has at most in Kafka."""
CHANGES = "changes"
"""As `emit` of a sink: each record has the row before and after a change."""
VALID_FROM, VALID_TO = "valid_from", "valid_to"
"""The columns of a table that keeps versions: the time from which a version is valid, and until which."""
RENAMED_IN_TABLE = (
    "remove `versions`, and keep versions in a table that selects this column by another name: "
    "config(materialized='table', unique_key=…, versions=…, order_by=…)"
)
"""What a topic with versions needs if its records have a field of the name of one of their times."""
LAYOUT = ("partition_by", "cluster_by")
"""Options of append-only tables: the columns by which their files are arranged."""
ALL = "all"
"""As `versions`: none of them is ever removed."""
REGISTRY = "registry"
"""As the schema of a sink: what the registry has under its subject."""


AnyKind = TypeVar("AnyKind", bound="Kind")


class Kind(Struct, frozen=True):
    """The facts of a kind, and their defaults.

    A kind that stores rows, but has neither a sink nor a table, has a folder: `write` of its module `spark`
    gets the rows of each batch.
    """

    word: ClassVar[str]
    """Its name in `materialized`."""
    about: ClassVar[str]
    """What the documentation of `materialized` says."""
    stored_as: ClassVar[str] = ""
    """What holds the rows, in one word; empty if nothing does."""
    keeps_rows: ClassVar[bool] = False
    """Its rows are in a table, which can be read without Spark."""
    readable: ClassVar[bool] = True
    """Models can read its rows."""
    sends_records: ClassVar[bool] = False
    """Its rows become records of a topic."""
    alone: ClassVar[bool] = False
    """Nothing else is in its query, which would wait with it, and fail with it."""
    key_option: ClassVar[str] = ""
    column_options: ClassVar[tuple[str, ...]] = ()
    """The options that name columns: one, or a list."""
    name_option: ClassVar[str] = ""
    """The option whose default is the name of the model."""

    @property
    def unselectable(self) -> str:
        """Why no model can select from it; empty if models can."""
        return "" if self.readable else f"is materialized as '{self.word}', whose rows no model can read"

    @property
    def inlined(self) -> bool:
        """Whether readers compute its rows in their own queries: they find them in no topic and no table."""
        return self.readable and self.sink is None and not self.at_rest

    @property
    def at_rest(self) -> bool:
        """Whether readers read its changes, or look up the newest row of each key."""
        return False

    @property
    def appends(self) -> bool:
        """Whether it is a table to which rows are only appended."""
        return False

    @property
    def sink(self) -> Sink | None:
        """How its records are sent; None without records."""
        return None

    @property
    def table(self) -> Table | None:
        """How its table keeps rows; None without a table."""
        return None

    @property
    def topic(self) -> str:
        """The topic of its records; empty without records."""
        return ""

    @property
    def changes(self) -> bool:
        """Whether its records are changes of rows, with the row before and after."""
        return False

    @property
    def keep_headers(self) -> bool:
        """Whether its records have the headers of those that their rows come from."""
        return False

    @property
    def encodings(self) -> tuple[tuple[Literal["value", "key"], Encoding], ...]:
        """How its records are written: their values, and their keys if that is not the default."""
        return ()

    @property
    def subjects(self) -> tuple[str, str]:
        """The subjects of its values and of its keys, which are preceded by an id; empty if they are not."""
        return "", ""

    @property
    def store(self) -> str | None:
        """The store that it names for its table."""
        return None

    @property
    def versions(self) -> str | None:
        """How long a version of a row is kept after its end, or `all`; None: only the newest is stored."""
        return None

    @property
    def refresh(self) -> str | None:
        """How a table over tables is kept equal to its SQL: `full`, `keys`, or by weights where exact.

        With it, the model is a table over tables, and not computed from the rows of a stream.
        """
        return None

    @property
    def order_by(self) -> str | None:
        """The column that decides which row of a key is newest."""
        return None

    @property
    def kept_for(self) -> str:
        """How long rows are kept; empty: forever."""
        return ""

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns whose values are the folders of its rows."""
        return ()

    def dead_letter_topic(self, model: str) -> str:
        """Return the topic for rows of a model that data tests keep out."""
        return f"{self.stored_name(model)}{DEAD_LETTER_SUFFIX}"

    @property
    def settings(self) -> dict[str, Any]:
        """Return the options that whatever stores the rows needs."""
        return {}

    @property
    def keys(self) -> tuple[str, ...]:
        return ()

    @property
    def given_keys(self) -> tuple[str, ...]:
        """The columns of the model's SQL that are its key."""
        return self.keys

    @property
    def failed_to(self) -> Literal["", "dead_letter"]:
        """Where rows go that its writer could not write; empty: the query stops."""
        return ""

    @property
    def functions(self) -> tuple[str, ...]:
        """The Python functions that encode what it stores, or write it."""
        return ()

    def stored_name(self, model: str) -> str:
        """Return the name of what holds the rows of a model."""
        return model

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        """Return the options that only this kind has."""
        return cls.__struct_fields__

    @classmethod
    def of(cls, options: dict[str, Any], config: Mapping[str, Any]) -> Self:  # noqa: ARG003
        """Return what a model with these options of the kind stores; `config` has all of its options."""
        return cls(**options)

    def _set_options(self, *names: str) -> dict[str, Any]:
        return {name: value for name in names if (value := getattr(self, name))}


class View(Kind, frozen=True, tag_field="materialized", tag="view"):
    """Stores nothing; each query that needs the rows computes them."""

    word: ClassVar[str] = "view"
    about: ClassVar[str] = "no storage"


class Written(Struct, frozen=True, omit_defaults=True):
    """How the values of a sink are written, or its keys."""

    encoding: Encoding = DEFAULT
    """How they are read, too."""
    file: str = ""
    """The file that describes them, or `registry`."""
    derived: str = ""
    """The schema itself, if it comes from the columns."""
    subject: str = ""
    """Where a registry has their schema, or could have it."""
    named: bool = False
    """The subject is configured."""

    @property
    def pinned_subject(self) -> str:
        """Return the subject that the schema comes from; empty if it is not from the registry."""
        return self.subject if self.file == REGISTRY else ""


_OF_WRITTEN = ("format", "schema", "message", "framing", "subject", "format_options")
"""The options that say how values are written; those of keys begin with `key_`."""


class Sink(Kind, frozen=True, tag_field="materialized", tag="sink", omit_defaults=True):
    """Stores the records of a Kafka topic."""

    topic: str
    key: tuple[str, ...] = ()
    """The columns of the record's key."""
    value: Written = Written()
    key_only: tuple[str, ...] = ()
    """The columns of the key that are not in the value."""
    written_key: Written = Written()
    key_format: FormatName | None = None
    """By default, a single column is a text, and several are a JSON object."""
    partitions: int | None = None
    replication: int | None = None
    topic_config: dict[str, Any] = {}
    headers: dict[str, str] | str = {}
    """SQL expressions by name."""
    timestamp: str | None = None
    """The SQL of the time of its records; None: that of the records that they come from."""
    producer: dict[str, Any] = {}
    guarantee: str | None = None
    """By default, that of the target."""
    changes: bool = False
    tombstones: bool = True
    """If so, a record without a value follows each delete."""
    dead_letters: str = ""
    """The topic of dead letters, if an environment names it otherwise."""

    word: ClassVar[str] = "sink"
    about: ClassVar[str] = "a Kafka topic"
    stored_as: ClassVar[str] = "topic"
    sends_records: ClassVar[bool] = True
    key_option: ClassVar[str] = "key"
    column_options: ClassVar[tuple[str, ...]] = ("key",)
    name_option: ClassVar[str] = "topic"

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        written = (*_OF_WRITTEN, "value_schema", "derived_schema", "schema_id")
        of_keys = tuple(f"key_{option}" for option in _OF_WRITTEN)
        of_keys += ("written_key_schema", "derived_key_schema", "key_schema_id", "single_key")
        fields = {"value": written, "written_key": of_keys, "key_format": ()}
        return tuple(option for name in cls.__struct_fields__ for option in fields.get(name, (name,)))

    @classmethod
    def of(cls, options: dict[str, Any], config: Mapping[str, Any]) -> Sink:
        fields = {name: value for name, value in options.items() if name in cls.__struct_fields__}
        key = _written(options, "key_", f"{options['topic']}-key")
        return cls(
            **fields,
            value=_written(options, "", f"{options['topic']}-value"),
            written_key=key,
            changes=config.get("emit") == CHANGES,
        )

    @property
    def sink(self) -> Sink:
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """Return the options that define how records are sent, and how a topic is created."""
        return self._set_options(
            "partitions", "replication", "topic_config", "producer", "timestamp", "guarantee"
        )

    @property
    def keep_headers(self) -> bool:
        return self.headers == KEEP or (isinstance(self.headers, dict) and EVERY_HEADER in self.headers)

    def value_columns(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the columns of a row that are in its value; the others are in its key."""
        keys = {name.lower() for name in self.key}
        columns = [name for name in names if name not in self.key_only]
        return format_of(self.encoding).value_columns(
            columns, [name for name in columns if name.lower() in keys]
        )

    @property
    def encoding(self) -> Encoding:
        """Return how its records are written, and read by other models."""
        return self.value.encoding

    @property
    def key_encoding(self) -> Encoding | None:
        """Return how its keys are written, if that is not the default."""
        return self.written_key.encoding if self.key_format is not None else None

    @property
    def encodings(self) -> tuple[tuple[Literal["value", "key"], Encoding], ...]:
        key = self.key_encoding
        return (("value", self.encoding), *((("key", key),) if key is not None else ()))

    @property
    def subjects(self) -> tuple[str, str]:
        return self.encoding.subject, self.written_key.encoding.subject

    @property
    def keys(self) -> tuple[str, ...]:
        return self.key

    @property
    def functions(self) -> tuple[str, ...]:
        return functions_of(self.encoding, self.key_encoding)

    def stored_name(self, model: str) -> str:  # noqa: ARG002 -- a topic has a name of its own
        return self.topic

    def dead_letter_topic(self, model: str) -> str:
        return self.dead_letters or super().dead_letter_topic(model)


def _written(options: Mapping[str, Any], part: Literal["", "key_"], usual_subject: str) -> Written:
    """Return how the options of a sink write its values or its keys.

    The id of a schema of the registry precedes what is written by it.
    """
    file, subject = options.get(f"{part}schema", ""), options.get(f"{part}subject", "")
    framing: Framing = options.get(f"{part}framing") or ("confluent" if file == REGISTRY else "plain")
    encoding = Encoding(
        options.get(f"{part}format") or DEFAULT_FORMAT,
        schema=options.get("written_key_schema" if part else "value_schema", ""),
        message=options.get(f"{part}message", ""),
        framing=framing,
        single=bool(part) and options.get("single_key", False),
        options=_texts(options.get(f"{part}format_options", {})),
        schema_id=options.get(f"{part}schema_id", 0),
        subject="" if framing == "plain" else subject or usual_subject,
    )
    derived = options.get("derived_key_schema" if part else "derived_schema", "")
    return Written(encoding, file, derived, subject or usual_subject, bool(subject))


def _texts(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    texts = {
        name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()
    }
    return tuple(sorted(texts.items()))


class Table(Kind, frozen=True, tag_field="materialized", tag="table", omit_defaults=True):
    """Stores the newest row of each key in a state table, or all rows if there is no key."""

    unique_key: tuple[str, ...] = ()
    """Without one, rows are only appended, and readers compute them by themselves."""
    order_by: str | None = None
    delete_when: str | None = None
    """An SQL condition; rows that match it are deleted."""
    delete_by: tuple[str, ...] = ()
    """Without a key: a row that matches deletes the rows before it that have the same values in these."""
    retention: str | None = None
    versions: str | None = None
    store: str | None = None
    refresh: str | None = None
    dead_letters: str = ""
    """The topic of dead letters, if an environment names it otherwise."""
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    target_file_size: str | None = None

    word: ClassVar[str] = "table"
    about: ClassVar[str] = "a state table, or one to which rows are only appended"
    stored_as: ClassVar[str] = "table"
    keeps_rows: ClassVar[bool] = True
    key_option: ClassVar[str] = "unique_key"
    column_options: ClassVar[tuple[str, ...]] = ("unique_key", "delete_by", *LAYOUT)

    @property
    def unselectable(self) -> str:
        return "deletes rows, which a model that selects from it would keep" if self.delete_by else ""

    @property
    def appends(self) -> bool:
        """Whether rows are only appended."""
        return not self.unique_key and not self.refresh

    @property
    def inlined(self) -> bool:
        return self.appends and not self.delete_by

    @property
    def at_rest(self) -> bool:
        return not self.appends

    @property
    def table(self) -> Table:
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """Return the options that define which rows are stored, and where."""
        names = ("store",) if self.versions else ("order_by", "retention", "store")
        named = {name: list(columns) for name in ("delete_by", *LAYOUT) if (columns := getattr(self, name))}
        return self._set_options(*names, "target_file_size") | named

    @property
    def keys(self) -> tuple[str, ...]:
        return (*self.unique_key, VALID_FROM) if self.versions else self.unique_key

    @property
    def given_keys(self) -> tuple[str, ...]:
        return self.unique_key

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self.partition_by

    @property
    def kept_for(self) -> str:
        return "" if self.versions == ALL else self.versions or self.retention or ""

    def dead_letter_topic(self, model: str) -> str:
        return self.dead_letters or super().dead_letter_topic(model)
