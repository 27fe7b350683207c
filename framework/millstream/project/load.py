"""Loads a project folder as one value, with the diagnostics of its files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from millstream.core.decoding import from_msgpack
from millstream.core.encoding import to_msgpack
from millstream.core.errors import Diagnostic, DiagnosticNote, MillstreamError, did_you_mean
from millstream.core.text import FileText, Location
from millstream.formats.python.codecs import FILES
from millstream.formats.registry import SCHEMA_SUFFIXES
from millstream.project.checks import LocationLines, check_project
from millstream.project.config import check_folder_defaults, unused_folders
from millstream.project.files import File, find_files, read_file
from millstream.project.functions import read_functions
from millstream.project.generators import read_generators
from millstream.project.imports import with_imports
from millstream.project.missing_modules import missing_modules
from millstream.project.profiles import read_target
from millstream.project.properties import PropertiesFile, SeedProperties, read_properties
from millstream.project.references import IDENTIFIER, RESERVED
from millstream.project.schemas import TopicSchemas
from millstream.project.seeds import read_seed
from millstream.project.selectors_file import FILE as SELECTORS
from millstream.project.selectors_file import read_selectors
from millstream.project.settings import FILE, read_settings
from millstream.project.unsaved import is_file
from millstream.project.values import (
    DeclaredSource,
    Function,
    Generator,
    Project,
    Seed,
    Settings,
    SqlFile,
    Target,
    Topic,
)
from millstream.project.variables import RecordedVariables, merge_variables
from millstream.project.yaml_templates import yaml_renderer

Memo = MutableMapping[str, bytes]
"""Encoded results of earlier reads, by kind, path and digest."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def location(self) -> Location: ...


N = TypeVar("N", bound=_Named)
V = TypeVar("V")


class _CachedRead(Struct, frozen=True):
    """The result of reading a file without errors, and the variables that its templates read or missed."""

    result: bytes
    env: dict[str, str | None] = {}
    vars: dict[str, Any] = {}
    missed: tuple[str, ...] = ()


def load_project(
    root: Path,
    target: str | None,
    variables: str | Mapping[str, Any] | None,
    profiles_dir: Path | None,
    environment: str | None = None,
    memo: Memo | None = None,
) -> Project:
    """Load a project that compiles, for commands that need its files and the target with its secrets.

    `memo` has the results of earlier reads.
    """
    settings, diagnostics = read_settings(root)
    merged, more = merge_variables(settings.vars, variables)
    chosen, others = read_target(root, settings, target, profiles_dir, merged, environment)
    project, file_diagnostics = load_files(root, settings, chosen, merged, {} if memo is None else memo, {})
    if errors := [
        diagnostic
        for diagnostic in (*diagnostics, *more, *others, *file_diagnostics)
        if diagnostic.severity == "error"
    ]:
        raise MillstreamError(*errors)
    return project


def locate_functions(root: Path, settings: Settings) -> None:
    """Let formats find the functions of a project that was not loaded, since nothing in it changed."""
    by_name: dict[str, Function] = {}
    for path in find_files(root, settings.macro_paths, (".py",)):
        file = read_file(root, path)
        if not isinstance(file, Diagnostic):
            functions, _ = read_functions(FileText(file.path, file.content))
            by_name |= {function.name: function for function in functions}
    _locate(root, with_imports(by_name, root)[0].values())


def _locate(root: Path, functions: Iterable[Function]) -> None:
    for function in functions:
        FILES[function.digest] = (root / function.path, function.path)


def load_topics(
    root: Path, settings: Settings, target: Target, variables: dict[str, Any]
) -> tuple[dict[str, Topic], list[Diagnostic]]:
    """Load the topics as the YAML files declare them, without their schemas."""
    loader = _Loader(root, settings, target, variables, {}, {}, LocationLines(root))
    sources = loader.declared_sources(loader.properties())
    topics = {id_: source for id_, source in sources.items() if isinstance(source, Topic)}
    return topics, list(dict.fromkeys(loader.diagnostics))


def load_files(
    root: Path,
    settings: Settings,
    target: Target,
    variables: dict[str, Any],
    memo: Memo,
    environment: dict[str, str | None],
) -> tuple[Project, list[Diagnostic]]:
    """Load the folders; the environment variables that YAML files read are added to `environment`."""
    loader = _Loader(root, settings, target, variables, memo, environment, LocationLines(root))
    project = loader.load()
    loader.diagnostics += _folder_defaults(root, settings, project)
    # A folder with models and YAML is walked twice, which duplicates its diagnostics.
    return project, list(dict.fromkeys(loader.diagnostics))


def _folder_defaults(root: Path, settings: Settings, project: Project) -> list[Diagnostic]:
    if not settings.models:
        return []
    file = read_file(root, FILE)
    text = None if isinstance(file, Diagnostic) else FileText(file.path, file.content)
    used = [model_folders(model, settings) for model in project.models.values()]
    return [*check_folder_defaults(settings, text), *unused_folders(settings, used)]


def model_folders(file: SqlFile, settings: Settings) -> tuple[str, ...]:
    """Return the folders of a model below its model path."""
    parts = tuple(file.path.split("/")[:-1])
    for root in settings.model_paths:
        prefix = tuple(root.split("/"))
        if parts[: len(prefix)] == prefix:
            return parts[len(prefix) :]
    return parts


def _described(functions: dict[str, Function], properties: list[PropertiesFile]) -> dict[str, Function]:
    """Return functions with what YAML says of how they run."""
    message = {function.name: function for file in properties for function in file.functions}
    return {
        name: msgspec.structs.replace(function, cost=message[name].cost, runs=message[name].runs)
        if name in message
        else function
        for name, function in functions.items()
    }


class _Loader(Struct):
    """Reads the files of one project; errors are collected in `diagnostics`."""

    root: Path
    settings: Settings
    target: Target
    variables: dict[str, Any]
    memo: Memo
    environment: dict[str, str | None]
    lines: LocationLines
    diagnostics: list[Diagnostic] = []

    def load(self) -> Project:
        settings = self.settings
        models = self._sql(settings.model_paths, "model", RESERVED)
        properties = self.properties()
        seeds = self._seeds(properties)
        functions, imported, diagnostics = with_imports(_described(self._functions(), properties), self.root)
        self.diagnostics += [diagnostic for diagnostic in diagnostics if diagnostic not in self.diagnostics]
        _locate(self.root, functions.values())
        generators = self._generators()
        schemas = {file.path: file for file in self._texts(self.settings.schema_paths, *SCHEMA_SUFFIXES)}
        project = Project(
            root=str(self.root),
            settings=settings,
            target=self.target,
            vars=self.variables,
            sources=self._sources(properties, schemas, functions),
            models=models,
            properties=self._once((m for p in properties for m in p.models), "model"),
            seeds=seeds,
            macros=tuple(self._files(settings.macro_paths, ".sql")),
            functions=functions,
            generators=generators,
            tests=tuple(self._sql(settings.test_paths, "test").values()),
            unit_tests=tuple(test for p in properties for test in p.unit_tests),
            exposures=tuple(self._once((e for p in properties for e in p.exposures), "exposure").values()),
            metrics=tuple(self._once((m for p in properties for m in p.metrics), "metric").values()),
            schemas={path: file.content for path, file in schemas.items()},
            selectors=self._selectors(),
            imported=imported.files,
            libraries=imported.libraries,
        )
        self.diagnostics += check_project(project, properties, self.lines)
        return project

    # -- files

    def _texts(self, folders: tuple[str, ...], *suffixes: str) -> Iterable[File]:
        for path in find_files(self.root, folders, suffixes, self.diagnostics):
            file = read_file(self.root, path)
            if isinstance(file, Diagnostic):
                self.diagnostics.append(file)
            else:
                yield file

    def _files(self, folders: tuple[str, ...], suffix: str) -> Iterable[SqlFile]:
        for file in self._texts(folders, suffix):
            yield SqlFile(file.stem, file.path, file.content, file.digest)

    def _sql(
        self, folders: tuple[str, ...], what: str, reserved: frozenset[str] = frozenset()
    ) -> dict[str, SqlFile]:
        files: dict[str, SqlFile] = {}
        folded: dict[str, SqlFile] = {}
        for file in self._files(folders, ".sql"):
            if not file.content.strip():
                self._report("MS116", "the file is empty", file.path, "write a SELECT, or remove the file")
            elif not IDENTIFIER.match(file.name):
                remedy = "name the file with letters, digits and '_', not starting with a digit"
                self._report("MS110", f"'{file.name}' can't be the name of a {what}", file.path, remedy)
            elif file.name.lower() in reserved:
                self._report("MS110", f"'{file.name}' is a reserved name", file.path, "rename the file")
            elif other := folded.get(file.name.lower()):
                note = DiagnosticNote("the other file", Location(other.path, 1, 1, 2))
                message = f"two {what}s are named '{file.name}'"
                self._report("MS109", message, file.path, "rename one of the files", note)
            else:
                files[file.name] = folded[file.name.lower()] = file
        return files

    def _report(self, code: str, message: str, path: str, remedy: str, *notes: DiagnosticNote) -> None:
        self.diagnostics.append(Diagnostic(code, message, Location(path, 1, 1, 2), remedy, "", notes))

    def _cached(
        self,
        kind: str,
        file: File,
        type_: type[V],
        read: Callable[[FileText], tuple[V, list[Diagnostic]]],
        variables: RecordedVariables | None = None,
        environment: dict[str, str | None] | None = None,
    ) -> V:
        """Read a file, or return the cached result for the same text; files with errors are read again."""
        key = f"{kind}:{file.path}:{file.digest}"
        if cached := self.memo.get(key):
            with suppress(msgspec.MsgspecError):
                last = from_msgpack(cached, _CachedRead)
                if self._is_current(last):
                    result = from_msgpack(last.result, type_)
                    self.environment |= last.env
                    return result
        parsed, diagnostics = read(FileText(file.path, file.content))
        self.diagnostics += diagnostics
        env = environment or {}
        self.environment |= env
        if not diagnostics:
            used, missed = ({}, ()) if variables is None else (variables.used, tuple(variables.missed))
            self.memo[key] = to_msgpack(_CachedRead(to_msgpack(parsed), env, used, missed))
        return parsed

    def _is_current(self, last: _CachedRead) -> bool:
        """Return whether a file's templates would read the same values again."""
        return (
            last.env.keys() <= set(self.settings.env_vars)
            and all(os.environ.get(name) == value for name, value in last.env.items())
            and all(n in self.variables and self.variables[n] == value for n, value in last.vars.items())
            and not any(name in self.variables for name in last.missed)
        )

    # -- contents of files

    def properties(self) -> list[PropertiesFile]:
        return [self._properties_of(file) for file in self._texts(self.settings.folders, ".yml", ".yaml")]

    def _properties_of(self, file: File) -> PropertiesFile:
        variables, environment = RecordedVariables(self.variables), dict[str, str | None]()
        render = yaml_renderer(variables, declared=self.settings.env_vars, environment=environment)
        read = partial(read_properties, render=render)
        return self._cached("properties", file, PropertiesFile, read, variables, environment)

    def declared_sources(self, properties: list[PropertiesFile]) -> dict[str, DeclaredSource]:
        return self._once((s for p in properties for s in p.sources), "source", lambda source: source.id)

    def _sources(
        self, properties: list[PropertiesFile], files: dict[str, File], functions: dict[str, Function]
    ) -> dict[str, DeclaredSource]:
        sources = self.declared_sources(properties)
        schemas = TopicSchemas(files, self.settings, self.lines, self.memo, functions)
        completed = {
            id_: schemas.complete(source) if isinstance(source, Topic) else source
            for id_, source in sources.items()
        }
        self.diagnostics += schemas.diagnostics
        return completed

    def _seeds(self, properties: list[PropertiesFile]) -> dict[str, Seed]:
        described = self._once((s for p in properties for s in p.seeds), "seed")
        seeds: dict[str, Seed] = {}
        folded: dict[str, Seed] = {}
        for file in self._texts(self.settings.seed_paths, ".csv"):
            if not IDENTIFIER.match(file.stem) or file.stem.lower() in RESERVED:
                remedy = "use letters, digits and '_', and no reserved name"
                self._report("MS110", f"'{file.stem}' can't be the name of a seed", file.path, remedy)
                continue
            seed = self._seed(file, described.get(file.stem))
            if other := folded.get(seed.name.lower()):
                note = DiagnosticNote("the other file", other.location)
                self._report("MS109", f"two seeds are named '{seed.name}'", file.path, "rename one", note)
                continue
            seeds[seed.name] = folded[seed.name.lower()] = seed
        for name, seed_properties in described.items():
            if name not in seeds:
                hint = did_you_mean(name, seeds, f"add seeds/{name}.csv")
                self._report_at(seed_properties.location, "MS117", f"seed '{name}' does not exist", hint)
        return seeds

    def _seed(self, file: File, properties: SeedProperties | None) -> Seed:
        # YAML also decides types, and the locations of errors in columns.
        properties_digest = hashlib.blake2b(to_msgpack(properties), digest_size=8).hexdigest()
        return self._cached(f"seed:{properties_digest}", file, Seed, lambda _: read_seed(file, properties))

    def _functions(self) -> dict[str, Function]:
        functions: list[Function] = []
        for file in self._texts(self.settings.macro_paths, ".py"):
            functions += self._cached("functions", file, tuple[Function, ...], read_functions)
            self.diagnostics += missing_modules(self.root, FileText(file.path, file.content))
        return self._once(functions, "function")

    def _generators(self) -> tuple[Generator, ...]:
        generators: list[Generator] = []
        for file in self._texts(self.settings.seed_paths, ".py"):
            generators += self._cached("generators", file, tuple[Generator, ...], read_generators)
            self.diagnostics += missing_modules(self.root, FileText(file.path, file.content))
        return tuple(generators)

    def _selectors(self) -> dict[str, Any]:
        if not is_file(self.root / SELECTORS):
            return {}
        file = read_file(self.root, SELECTORS)
        if isinstance(file, Diagnostic):
            self.diagnostics.append(file)
            return {}
        selectors, diagnostics = read_selectors(FileText(file.path, file.content))
        self.diagnostics += diagnostics
        return selectors

    # -- checks across files

    def _once(
        self, values: Iterable[N], what: str, key: Callable[[N], str] = lambda value: value.name
    ) -> dict[str, N]:
        by_name: dict[str, N] = {}
        for value in values:
            name = key(value)
            # Duplicates within one file were reported by its reader.
            if name in by_name and by_name[name].location.path != value.location.path:
                note = DiagnosticNote("first defined here", by_name[name].location)
                message = f"{what} '{name}' is defined twice"
                self._report_at(value.location, "MS109", message, "keep one of them", note)
            by_name.setdefault(name, value)
        return by_name

    def _report_at(
        self, location: Location, code: str, message: str, remedy: str, *notes: DiagnosticNote
    ) -> None:
        self.diagnostics.append(self.lines.diagnostic(location, code, message, remedy, *notes))
