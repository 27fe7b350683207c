"""A project folder as one value, and everything that is wrong with its files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct

from millstream.errors import Diagnostic, Note, did_you_mean
from millstream.project.config import check_folder_defaults, unused_folders
from millstream.project.files import File, find_files, read_file
from millstream.project.functions import read_functions
from millstream.project.generators import read_generators, topics_of
from millstream.project.properties import PropertiesFile, SeedProperties, read_properties
from millstream.project.references import IDENTIFIER, RESERVED
from millstream.project.seeds import read_seed
from millstream.project.settings import FILE
from millstream.project.values import (
    Function,
    Generator,
    ModelProperties,
    Project,
    Settings,
    SqlFile,
    Target,
)
from millstream.project.yaml import parse_yaml, plain
from millstream.project.yaml_templates import yaml_renderer
from millstream.text import Location, Text

Memo = MutableMapping[str, bytes]
"""What was read from files before, by kind, path and digest."""


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def location(self) -> Location: ...


N = TypeVar("N", bound=_Named)
V = TypeVar("V")


class _Functions(Struct, frozen=True):
    functions: tuple[Function, ...] = ()


class _Generators(Struct, frozen=True):
    generators: tuple[Generator, ...] = ()


def load_files(
    root: Path,
    settings: Settings,
    target: Target,
    variables: dict[str, Any],
    memo: Memo,
    environment: dict[str, str | None],
) -> tuple[Project, list[Diagnostic]]:
    """Load what the folders hold; `environment` learns which variables YAML files read, and their values."""
    loader = _Loader(root, settings, target, variables, memo, environment)
    project = loader.load()
    loader.diagnostics += _folder_defaults(root, settings, project)
    return project, loader.diagnostics


def _folder_defaults(root: Path, settings: Settings, project: Project) -> list[Diagnostic]:
    if not settings.models:
        return []
    file = read_file(root, FILE)
    text = None if isinstance(file, Diagnostic) else Text(file.path, file.content)
    used = [folders(model, settings) for model in project.models.values()]
    return [*check_folder_defaults(settings, text), *unused_folders(settings, used)]


def folders(file: SqlFile, settings: Settings) -> tuple[str, ...]:
    """Return the folders of a model below its model path."""
    parts = PurePosixPath(file.path).parts[:-1]
    for root in settings.model_paths:
        prefix = PurePosixPath(root).parts
        if parts[: len(prefix)] == prefix:
            return parts[len(prefix) :]
    return parts


class _Loader:
    """Reads the files of one project; what goes wrong collects in `diagnostics`."""

    def __init__(
        self,
        root: Path,
        settings: Settings,
        target: Target,
        variables: dict[str, Any],
        memo: Memo,
        environment: dict[str, str | None],
    ) -> None:
        self.root = root
        self.settings = settings
        self.target = target
        self.variables = variables
        self.memo = memo
        self.environment = environment
        self.diagnostics: list[Diagnostic] = []

    def load(self) -> Project:
        settings = self.settings
        models = self._sql(settings.model_paths, self._model_name)
        properties = self._properties()
        seeds = self._seeds(properties)
        functions = self._functions()
        generators = self._generators()
        project = Project(
            root=str(self.root),
            settings=settings,
            target=self.target,
            vars=self.variables,
            sources=self._once(((t.id, t) for p in properties for t in p.sources), "source"),
            models=models,
            properties=self._once(((m.name, m) for p in properties for m in p.models), "model"),
            seeds=seeds,
            macros=tuple(self._files(settings.macro_paths, ".sql")),
            functions=functions,
            generators=generators,
            tests=tuple(self._files(settings.test_paths, ".sql")),
            unit_tests=tuple(test for p in properties for test in p.unit_tests),
            exposures=tuple(
                self._once(((e.name, e) for p in properties for e in p.exposures), "exposure").values()
            ),
            metrics=tuple(
                self._once(((m.name, m) for p in properties for m in p.metrics), "metric").values()
            ),
            selectors=self._selectors(),
        )
        self._check(project, properties)
        return project

    # -- files

    def _texts(self, folders: tuple[str, ...], *suffixes: str) -> Iterable[File]:
        for path in find_files(self.root, folders, suffixes):
            file = read_file(self.root, path)
            if isinstance(file, Diagnostic):
                self.diagnostics.append(file)
            else:
                yield file

    def _files(self, folders: tuple[str, ...], suffix: str) -> Iterable[SqlFile]:
        for file in self._texts(folders, suffix):
            yield SqlFile(file.stem, file.path, file.content, file.digest)

    def _sql(self, folders: tuple[str, ...], check: Callable[[SqlFile], bool]) -> dict[str, SqlFile]:
        found: dict[str, SqlFile] = {}
        folded: dict[str, SqlFile] = {}
        for file in self._files(folders, ".sql"):
            if not check(file):
                continue
            if other := folded.get(file.name.lower()):
                note = Note("the other one", Location(other.path, 1, 1, 2))
                self._problem(
                    "MS109", f"two models are named '{file.name}'", file.path, "rename one of the files", note
                )
                continue
            found[file.name] = folded[file.name.lower()] = file
        return found

    def _model_name(self, file: SqlFile) -> bool:
        if not file.content.strip():
            self._problem("MS116", "the file is empty", file.path, "write a SELECT, or remove the file")
            return False
        if not IDENTIFIER.match(file.name) or file.name.lower() in RESERVED:
            self._problem(
                "MS110",
                f"'{file.name}' can't be the name of a model",
                file.path,
                "name the file with letters, digits and '_', and not models, seeds, sources or this",
            )
            return False
        return True

    def _problem(self, code: str, message: str, path: str, remedy: str, *notes: Note) -> None:
        self.diagnostics.append(Diagnostic(code, message, Location(path, 1, 1, 2), remedy, "", notes))

    def _remembered(
        self, kind: str, file: File, wanted: type[V], read: Callable[[Text], tuple[V, list[Diagnostic]]]
    ) -> V:
        """Read a file, or take what was found in the same text before; files with mistakes are read anew."""
        key = f"{kind}:{file.path}:{file.digest}"
        if known := self.memo.get(key):
            return msgspec.msgpack.decode(known, type=wanted)
        found, problems = read(Text(file.path, file.content))
        self.diagnostics += problems
        # What templates made of variables and environment is not told by the file's digest alone.
        if not problems and "{{" not in file.content:
            self.memo[key] = msgspec.msgpack.encode(found)
        return found

    # -- what files hold

    def _properties(self) -> list[PropertiesFile]:
        settings = self.settings
        render = yaml_renderer(self.variables, secrets=False, environment=self.environment)
        folders = (*settings.model_paths, *settings.seed_paths, *settings.macro_paths, *settings.test_paths)
        return [
            self._remembered("properties", file, PropertiesFile, lambda text: read_properties(text, render))
            for file in self._texts(tuple(dict.fromkeys(folders)), ".yml", ".yaml")
        ]

    def _seeds(self, properties: list[PropertiesFile]) -> dict[str, Any]:
        described: dict[str, SeedProperties] = {s.name: s for p in properties for s in p.seeds}
        found: dict[str, Any] = {}
        for file in self._texts(self.settings.seed_paths, ".csv"):
            if not IDENTIFIER.match(file.stem):
                self._problem(
                    "MS110",
                    f"'{file.stem}' can't be the name of a seed",
                    file.path,
                    "use letters, digits and '_'",
                )
                continue
            seed, problems = read_seed(file, described.pop(file.stem, None))
            self.diagnostics += problems
            if seed.name in found:
                note = Note("the other one", found[seed.name].location)
                self._problem("MS109", f"two seeds are named '{seed.name}'", file.path, "rename one", note)
            found.setdefault(seed.name, seed)
        for name, left in described.items():
            hint = did_you_mean(name, found, f"add seeds/{name}.csv")
            self._at(left.location, "MS117", f"there is no seed '{name}'", hint)
        return found

    def _functions(self) -> dict[str, Function]:
        def read(text: Text) -> tuple[_Functions, list[Diagnostic]]:
            functions, problems = read_functions(text)
            return _Functions(functions), problems

        found = [
            function
            for file in self._texts(self.settings.macro_paths, ".py")
            for function in self._remembered("functions", file, _Functions, read).functions
        ]
        return self._once(((f.name, f) for f in found), "function")

    def _generators(self) -> tuple[Generator, ...]:
        def read(text: Text) -> tuple[_Generators, list[Diagnostic]]:
            generators, problems = read_generators(text)
            return _Generators(generators), problems

        return tuple(
            generator
            for file in self._texts(self.settings.seed_paths, ".py")
            for generator in self._remembered("generators", file, _Generators, read).generators
        )

    def _selectors(self) -> dict[str, Any]:
        if not (self.root / "selectors.yml").exists():
            return {}
        file = read_file(self.root, "selectors.yml")
        if isinstance(file, Diagnostic):
            self.diagnostics.append(file)
            return {}
        node, problems = parse_yaml(Text(file.path, file.content))
        self.diagnostics += problems
        tree = plain(node) if node is not None else {}
        entries = tree.get("selectors") if isinstance(tree, dict) else None
        if entries is not None and not isinstance(entries, list):
            self._problem(
                "MS107", "'selectors' is a list", file.path, "write selectors: [{name: …, definition: …}]"
            )
            return {}
        return {str(entry.get("name")): entry for entry in entries or () if isinstance(entry, dict)}

    # -- what only the whole shows

    def _once(self, named: Iterable[tuple[str, N]], what: str) -> dict[str, N]:
        found: dict[str, N] = {}
        for name, value in named:
            # Twice in one file its reader has told already.
            if name in found and found[name].location.path != value.location.path:
                note = Note("first given here", found[name].location)
                self._at(value.location, "MS109", f"{what} '{name}' is given twice", "keep one of them", note)
            found.setdefault(name, value)
        return found

    def _at(self, location: Location, code: str, message: str, remedy: str, *notes: Note) -> None:
        line = ""
        if not isinstance(file := read_file(self.root, location.path), Diagnostic):
            line = Text(file.path, file.content).line(location.line)
        self.diagnostics.append(Diagnostic(code, message, location, remedy, line, notes))

    def _check(self, project: Project, properties: list[PropertiesFile]) -> None:
        for name in project.models.keys() & project.seeds.keys():
            note = Note("the seed", project.seeds[name].location)
            self._problem(
                "MS109",
                f"a model and a seed are named '{name}'",
                project.models[name].path,
                "rename one",
                note,
            )
        for model in project.properties.values():
            self._known_model(project, model)
        for unit in project.unit_tests:
            if unit.model not in project.models:
                hint = did_you_mean(unit.model, project.models, "name a model of the project")
                self._at(unit.location, "MS117", f"there is no model '{unit.model}'", hint)
        ids = [*(f"model.{n}" for n in project.models), *(f"seed.{n}" for n in project.seeds)]
        ids += [f"source.{n}" for n in project.sources]
        for exposure in project.exposures:
            for id_ in exposure.depends_on:
                self._known_relation(project, exposure.location, id_, ids)
        for metric in project.metrics:
            self._known_relation(
                project,
                metric.location,
                metric.model if "." in metric.model else f"model.{metric.model}",
                ids,
            )
        for function in (f for p in properties for f in p.functions):
            if function.name not in project.functions:
                hint = did_you_mean(function.name, project.functions, "define it in a file of macros/")
                self._at(function.location, "MS117", f"there is no Python function '{function.name}'", hint)
        for generator in project.generators:
            self._known_topic(project, generator)

    def _known_model(self, project: Project, model: ModelProperties) -> None:
        if model.name not in project.models and model.name.lower() not in {n.lower() for n in project.models}:
            hint = did_you_mean(model.name, project.models, f"add models/{model.name}.sql or remove this")
            self._at(model.location, "MS117", f"there is no model '{model.name}'", hint)

    def _known_relation(self, project: Project, location: Location, id_: str, ids: list[str]) -> None:
        if id_ in ids or (id_.startswith("model.") and id_.removeprefix("model.") in project.seeds):
            return
        kind, _, name = id_.partition(".")
        known = [other.partition(".")[2] for other in ids if other.startswith(kind)]
        self._at(
            location, "MS117", f"there is no {kind} '{name}'", did_you_mean(name, known, "mend the name")
        )

    def _known_topic(self, project: Project, generator: Generator) -> None:
        found = topics_of(generator.topic, project.sources)
        if not found:
            names = [topic.name for topic in project.sources.values()]
            hint = did_you_mean(generator.topic, names, "name it like the topic of a source")
            self._at(generator.location, "MS117", f"no source has a topic '{generator.topic}'", hint)
        elif len(found) > 1:
            self._at(
                generator.location,
                "MS109",
                f"'{generator.topic}' is a topic of {' and '.join(found)}",
                f"name the function {found[0].replace('.', '__')}",
            )
