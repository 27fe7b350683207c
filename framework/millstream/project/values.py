"""The contents of a project folder, as values that the rest of Millstream reads.

Texts that users wrote have a `Location`, so that later errors can point to them.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.core.types import Field, Type
from millstream.formats.registry import DEFAULT, KEY, Encoding
from millstream.outputs.kinds import dead_letter_topic_of
from millstream.project.names import Environment
from millstream.project.secrets import Secret

Kind = Literal["model", "source", "seed", "test", "unit_test", "exposure", "metric"]


Severity = Literal["warn", "error", "drop", "dead_letter"]
"""What happens to a row that fails a data test."""


MetricType = Literal["counter", "gauge", "histogram", "timer", "meter"]


class DataTest(Struct, frozen=True):
    """A data test of a column or a relation: `not_null`, or `accepted_values` with its arguments."""

    name: str
    location: Location
    arguments: dict[str, Any] = {}
    severity: Severity = "error"


class DeclaredColumn(Struct, frozen=True):
    """A declared column; `expression` is the SQL that computes a source's column."""

    name: str
    location: Location
    type: Type | None = None
    nullable: bool = True
    description: str = ""
    expression: str | None = None
    expression_location: Location | None = None
    templated: bool = False
    """Its SQL was rendered, so that only the whole of it has a location."""
    tests: tuple[DataTest, ...] = ()
    tags: tuple[str, ...] = ()
    meta: dict[str, Any] = {}


class DeclaredWatermark(Struct, frozen=True):
    column: str
    delay: str
    location: Location


class FunctionUse(Struct, frozen=True, tag="function"):
    """The Python function that decodes a topic's values, or its keys."""

    function: str
    location: Location
    options: Location
    """Where the function for the other direction is named."""
    key: bool = False

    @property
    def name(self) -> str:
        return f"{self.function}()"


class SchemaUse(Struct, frozen=True, tag="file"):
    """The file with the schema of a topic's values, or of its keys."""

    path: str
    location: Location
    message: str = ""
    key: bool = False

    @property
    def name(self) -> str:
        return self.path


class RegistryUse(Struct, frozen=True, tag="registry"):
    """The subject of a schema registry with the schemas of a topic's values, or of its keys."""

    subject: str
    location: Location
    version: int | None = None
    """The version that has the topic's columns; by default the newest."""
    format: str = ""
    """The format that the project declares, if any."""
    message: str = ""
    key: bool = False

    @property
    def name(self) -> str:
        return f"subject '{self.subject}'"


class TopicKey(Struct, frozen=True):
    """The key of a topic's records, read as a column of this name and type, or as several columns."""

    name: str
    """The column; empty if there are several."""
    type: Type
    format: Encoding = KEY
    schema: SchemaUse | RegistryUse | FunctionUse | None = None
    type_location: Location | None = None
    """Where the project declares the type, if it does."""
    parts: tuple[str, ...] = ()
    """The columns that its fields are, if there are several."""

    @property
    def columns(self) -> tuple[str, ...]:
        return self.parts or (self.name,)


class History(Struct, frozen=True):
    """Where the records are that a topic had before a position."""

    location: Location
    kind: str
    """The kind of source that reads them, in the registry."""
    settings: dict[str, Any]
    """What it reads them by, such as the path of a folder."""
    until: str = ""
    """The time of the topic's first record; empty if the history's offsets say where it ends."""
    offsets: dict[int, int] = {}
    """By partition, an offset before which no record is missing, whatever the history has."""

    @property
    def facts(self) -> dict[str, Any]:
        """What decides its rows."""
        until = {"until": self.until} if self.until else {}
        return {"kind": self.kind, **self.settings, **until}


class Topic(Struct, frozen=True, tag="topic"):
    """A source: a Kafka topic as a relation."""

    source: str
    name: str
    topics: tuple[str, ...]
    """Their names in Kafka, nearly always one; or a pattern of these."""
    location: Location
    pattern: str = ""
    """A regular expression for the names of its topics, if it is not given by these."""
    columns: tuple[DeclaredColumn, ...] = ()
    key: TopicKey | None = None
    format: Encoding = DEFAULT
    schema: SchemaUse | RegistryUse | FunctionUse | None = None
    incomplete: bool = False
    """Its schema can't be used: it has more columns than are known."""
    table: bool = False
    versions: str = ""
    """For a reference topic: how long versions are kept after their end, or `all`; empty: no versions."""
    watermark: DeclaredWatermark | None = None
    on_bad_record: Literal["fail", "skip", "dead_letter"] = "fail"
    deduplicate: bool = False
    """Records whose headers have the position of an earlier one are dropped."""
    history: History | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    owner: str | None = None
    meta: dict[str, Any] = {}
    tests: tuple[DataTest, ...] = ()
    options: dict[str, Any] = {}
    """Settings of the reader and the optimizer: partitions, options, rows_per_second, starting, rate."""

    @property
    def id(self) -> str:
        return f"{self.source}.{self.name}"

    @property
    def dead_letter_topic(self) -> str:
        return dead_letter_topic_of(self.name, self.topics, self.pattern)

    @property
    def topic_names(self) -> str:
        return ", ".join(self.topics)

    @property
    def registry_uses(self) -> tuple[RegistryUse, ...]:
        """The subjects of its values and keys."""
        both = (self.schema, self.key.schema if self.key else None)
        return tuple(use for use in both if isinstance(use, RegistryUse))

    @property
    def kind(self) -> str:
        return "topic"


class RowSource(Struct, frozen=True, kw_only=True, tag="rows"):
    """A source whose rows have their columns: files, a table of another system."""

    kind: str
    """Its name in the registry of kinds of sources."""
    source: str
    name: str
    location: Location
    columns: tuple[DeclaredColumn, ...] = ()
    keys: tuple[str, ...] = ()
    """The columns that identify its rows, if rows change; none if they only come."""
    watermark: DeclaredWatermark | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    owner: str | None = None
    meta: dict[str, Any] = {}
    tests: tuple[DataTest, ...] = ()
    settings: dict[str, Any] = {}
    """What it is, such as the path of a folder: with other settings, it is another source."""
    removes_read: bool = False
    """What was read is removed from it."""
    jars: tuple[str, ...] = ()
    """The features of the catalog of jars that Spark needs to read it."""
    options: dict[str, Any] = {}
    """How it is read, such as `max_files`, and hints for the optimizer; both can change in between."""

    @property
    def id(self) -> str:
        return f"{self.source}.{self.name}"

    @property
    def dead_letter_topic(self) -> str:
        """The topic of what can't be decoded; empty if it is skipped, or stops the query."""
        sends = self.options.get("on_bad_record") == "dead_letter"
        return dead_letter_topic_of(self.name, (self.name,), "") if sends else ""


DeclaredSource = Topic | RowSource


LogLevel = Literal["debug", "info", "warning", "error"]


class ModelLog(Struct, frozen=True):
    """The rows of a model that `run` writes to its log."""

    location: Location
    when: str = ""
    """A condition; empty for all rows."""
    when_location: Location | None = None
    columns: tuple[str, ...] = ()
    """Empty for all."""
    columns_location: Location | None = None
    level: LogLevel = "info"
    sample: float = 1.0
    per_minute: int = 60


class ModelProperties(Struct, frozen=True):
    """The properties of a model in YAML."""

    name: str
    location: Location
    description: str = ""
    columns: tuple[DeclaredColumn, ...] = ()
    config: dict[str, Any] = {}
    config_locations: dict[str, Location] = {}
    config_lines: dict[str, str] = {}
    tests: tuple[DataTest, ...] = ()
    tags: tuple[str, ...] = ()
    owner: str | None = None
    meta: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    log: ModelLog | None = None


class SqlFile(Struct, frozen=True):
    """A Jinja-templated SQL file: a model, a macro file or a data test."""

    name: str
    path: str
    content: str
    digest: str


class NodeReference(Struct, frozen=True):
    """A `ref()` or `source()` of a template: the node's id and where it is called."""

    id: NodeId
    location: Location | None = None


class TemplateUses(Struct, frozen=True):
    """What a rendering read besides its file: with the same values, the result is the same."""

    names: tuple[str, ...] = ()
    vars: dict[str, Any] = {}
    env: dict[str, str | None] = {}


class Seed(Struct, frozen=True):
    name: str
    path: str
    columns: tuple[DeclaredColumn, ...]
    rows: int
    location: Location
    delimiter: str = ","
    description: str = ""
    tags: tuple[str, ...] = ()
    tests: tuple[DataTest, ...] = ()
    meta: dict[str, Any] = {}
    digest: str = ""


class FunctionParameter(Struct, frozen=True):
    name: str
    type: Type
    nullable: bool = False
    required: bool = True
    fields: tuple[Field, ...] = ()
    """The fields of a struct, which know whether they can be NULL."""


class PythonImport(Struct, frozen=True):
    """A name of a module, a whole module, or a file, that Python code reads."""

    module: str
    name: str = ""
    file: bool = False
    """`module` is the path of a file."""
    runs: Literal["", "module", "any"] = ""
    """If given, only what the module changes elsewhere when it is imported is read: see `effects.Effect`."""


class Function(Struct, frozen=True):
    """A Python function of `macros/*.py` that SQL calls by its name."""

    name: str
    path: str
    location: Location
    parameters: tuple[FunctionParameter, ...]
    returns: Type
    nullable: bool = False
    fields: tuple[Field, ...] = ()
    """The fields of a struct that it returns, which know whether they can be NULL."""
    table: bool = False
    keyed: bool = False
    """Takes `(key, rows, state)`: a table function with keyed state."""
    cost: str = "medium"
    """The cost of a call, from YAML: low, medium or high."""
    runs: str = "auto"
    """From YAML: auto, native or python."""
    description: str = ""
    digest: str = ""
    """Covers the function's body and everything of the project that it could read."""
    imports: tuple[PythonImport, ...] = ()
    libraries: dict[str, str] = {}
    """The libraries that it could import, with their versions."""
    effect: str = ""
    """Where code that runs on import may change any name that it reads: a file and line, if anywhere."""
    changing: str = ""
    """What it, or what it uses of the project, calls that gives another value each time: `time.time`."""
    batches: str = ""
    """It writes batches of rows, which are of this class: `pyarrow.Table`. SQL can't call it."""

    @property
    def logs(self) -> bool:
        """Whether it, or what it uses of its file, imports `logging`."""
        return any(import_.module.partition(".")[0] == "logging" for import_ in self.imports)


class Generator(Struct, frozen=True):
    """A Python file of `seeds/` that produces test traffic into a topic."""

    name: str
    path: str
    location: Location
    topic: str
    description: str = ""
    digest: str = ""


class Exposure(Struct, frozen=True):
    name: str
    location: Location
    kind: str = "application"
    depends_on: tuple[NodeId, ...] = ()
    """Ids of relations: `model.x`, `source.s.t`, `seed.x`."""
    depends_on_locations: tuple[Location, ...] = ()
    owner: str | None = None
    description: str = ""
    url: str | None = None
    tags: tuple[str, ...] = ()
    meta: dict[str, Any] = {}


class Metric(Struct, frozen=True):
    name: str
    location: Location
    model: NodeId
    expression: str
    description: str = ""
    dimensions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    meta: dict[str, Any] = {}
    model_location: Location | None = None
    type: MetricType | None = None
    where: str | None = None
    buckets: tuple[float, ...] = ()
    most: int = 100

    @property
    def model_name(self) -> str:
        return self.model.shown_name


class UnitTest(Struct, frozen=True):
    """A unit test as written; `millstream.testing` reads `body`."""

    name: str
    location: Location
    model: str
    description: str = ""
    tags: tuple[str, ...] = ()
    body: dict[str, Any] = {}
    chain: bool = False
    """The upstream models are computed as well: `model: +orders`."""


class Target(Struct, frozen=True):
    """One output of `profiles.yml`; texts from `env_var` are `Secret`s, which can't be printed."""

    profile: str
    name: str
    settings: dict[str, Any]
    location: Location | None = None
    env_vars: tuple[str, ...] = ()
    """The environment variables that the project declares, which its functions may read."""
    environment: Environment | None = None
    """The isolated environment that commands work in; None for production."""

    @property
    def production(self) -> Target:
        """Return the target outside of any environment."""
        return replace(self, environment=None)

    @property
    def title(self) -> str:
        """Return its name for people, with that of the environment."""
        return self.environment.title(self.name) if self.environment else self.name


LOCAL_PARTITIONS = 4
"""State partitions on one machine. The number is fixed because a checkpoint can't change it."""
_SPARKS_PARTITIONS = 200


def is_local(target: Target) -> bool:
    """Return whether Spark runs on this machine."""
    return str(target.settings.get("master", "local")).startswith("local")


def shuffle_partitions(target: Target) -> int:
    """Return the number of partitions of a shuffle."""
    partitions = (target.settings.get("spark") or {}).get("spark.sql.shuffle.partitions")
    partitions = partitions.reveal() if isinstance(partitions, Secret) else partitions
    return int(partitions or (LOCAL_PARTITIONS if is_local(target) else _SPARKS_PARTITIONS))


class Settings(Struct, frozen=True):
    """`[tool.millstream]` of `pyproject.toml`."""

    name: str
    version: str = ""
    profile: str = ""
    model_paths: tuple[str, ...] = ("models",)
    macro_paths: tuple[str, ...] = ("macros",)
    seed_paths: tuple[str, ...] = ("seeds",)
    test_paths: tuple[str, ...] = ("tests",)
    schema_paths: tuple[str, ...] = ("schemas",)
    lint_paths: tuple[str, ...] = ("lint",)
    target_path: str = "target"
    line_length: int = 100
    indent: int = 2
    """How `fmt` lays out SQL."""
    vars: dict[str, Any] = {}
    env_vars: tuple[str, ...] = ()
    """Environment variables that SQL and YAML may read."""
    models: dict[str, Any] = {}
    """Defaults by folder: `models.staging.materialized`."""
    model_locations: dict[str, Location] = {}
    """By dotted path within `models`, such as `staging.materialized`."""
    session_minutes: int = 10

    @property
    def folders(self) -> tuple[str, ...]:
        """Return all folders that a project is loaded from."""
        return (*self.model_paths, *self.seed_paths, *self.macro_paths, *self.test_paths)


class Project(Struct, frozen=True):
    """The contents of a project folder, before any template is rendered."""

    root: str
    settings: Settings
    target: Target
    vars: dict[str, Any]
    sources: dict[str, DeclaredSource]
    """By `source.name`."""
    models: dict[str, SqlFile]
    properties: dict[str, ModelProperties]
    seeds: dict[str, Seed]
    macros: tuple[SqlFile, ...]
    functions: dict[str, Function]
    generators: tuple[Generator, ...]
    tests: tuple[SqlFile, ...]
    unit_tests: tuple[UnitTest, ...]
    exposures: tuple[Exposure, ...]
    metrics: tuple[Metric, ...]
    schemas: dict[str, str]
    """The texts of schemas, by path."""
    selectors: dict[str, Any]
    """YAML selectors by name: a text or a tree of method, value, union, intersection, exclude."""
    imported: dict[str, str] = {}
    """The files that functions import, by path, with their digests."""
    libraries: dict[str, str] = {}
    """The libraries that functions import, by name, with their versions."""
    contents: dict[str, bytes] = {}
    """The files that queries execute or read, by path, if they were read once for all (`contents`)."""

    @property
    def topics(self) -> dict[str, Topic]:
        """Return the sources that are topics."""
        return {id_: source for id_, source in self.sources.items() if isinstance(source, Topic)}

    def topic(self, id_: NodeId) -> Topic | None:
        """Return the topic of a source, by the id of the relation; None if the relation is something else."""
        source = self.sources.get(id_.name) if id_.kind == "source" else None
        return source if isinstance(source, Topic) else None
