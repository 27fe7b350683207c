"""A project as an editor has it: its files with unsaved edits, and its last compile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from millstream.compile.cache import Cache, CachedModel, read_cache, write_cache
from millstream.compile.full import FullCompile, compile_all
from millstream.compile.manifest import Compiled
from millstream.compile.models import ModelCompiler
from millstream.compile.node import Model
from millstream.compile.project_errors import ProjectErrors
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.gc_pause import collector_paused
from millstream.core.node_id import NodeId
from millstream.core.target_folder import claim_folder
from millstream.core.text import FileText, Location
from millstream.project.files import File, ReadFiles, as_file, find_files, read_file, remembered_files
from millstream.project.profiles import read_target
from millstream.project.settings import FILE, read_settings
from millstream.project.templates import Rendered
from millstream.project.unsaved import Unsaved, unsaved_files
from millstream.project.values import Project, SqlFile
from millstream.project.variables import merge_variables
from millstream.sql.name_map import NameMap, map_names
from millstream.testing.units.check import unit_test_problems

_REMEMBERED = 8
"""Results of a model in memory: its readers see one while it has an error, and another once that is fixed."""


class OutdatedError(Exception):
    """A compile was given up, because files have changed since it began."""


class ModelNames(Struct, frozen=True):
    """The names in a model's text as the editor has it."""

    rendered: Rendered
    map: NameMap


class EditorProject:
    """One compile of a project, with what features ask of it. Only `names_of` remembers anything."""

    def __init__(self, root: Path, result: FullCompile, unsaved: Unsaved) -> None:
        self.root = root
        self.compiled: Compiled = result.compiled
        self.models: ModelCompiler = result.models
        self.unsaved = unsaved
        self.paths = {model.file.path: model for model in self.models.models.values()}
        self.names_of = lru_cache(maxsize=256)(self._names_of)
        self._texts: dict[str, FileText] = {}

    @property
    def project(self) -> Project:
        return self.models.project

    def text(self, path: str) -> FileText:
        """Return a file's text as of this compile; an empty one if it can't be read."""
        if path not in self._texts:
            with unsaved_files(self.unsaved):
                file = read_file(self.root, path)
            self._texts[path] = FileText(path, file.content if isinstance(file, File) else "")
        return self._texts[path]

    def model_at(self, path: str, content: str) -> SqlFile | None:
        """Return a model's file with the text that the editor has now."""
        model = self.paths.get(path)
        return None if model is None else SqlFile(model.file.name, path, content, "")

    def file_of(self, id_: NodeId) -> SqlFile | None:
        model = self.models.models.get(id_.name) if id_.kind == "model" else None
        return None if model is None else model.file

    def _names_of(self, file: SqlFile) -> ModelNames:
        rendered = self.models.render(file)
        functions = self.project.functions
        found_names = (
            NameMap() if rendered.failed else map_names(rendered.sql, self.models.find_relation, functions)
        )
        return ModelNames(rendered, found_names)

    def locate(self, names: ModelNames, start: int, stop: int) -> Location:
        """Return where a span of rendered SQL was written."""
        rendered = names.rendered
        location, _, _ = self.models.renderer.locate(rendered, start, stop, rendered.sql[start:stop])
        return location

    def yaml_paths(self) -> Iterable[str]:
        """Return the YAML files of the project's folders."""
        with unsaved_files(self.unsaved):
            return list(find_files(self.root, self.project.settings.folders, (".yml", ".yaml")))

    def readers_of(self, id_: NodeId) -> Iterable[Model]:
        """Return the models that read a relation."""
        return [
            model
            for model in self.models.models.values()
            if any(reference.id == id_ for reference in model.references)
        ]


class OpenProject:
    """A project that is open in an editor; `compile` can run in another thread, one at a time."""

    def __init__(
        self, root: Path, target: str | None = None, variables: str | None = None,
        profiles_dir: Path | None = None,
    ) -> None:  # fmt: skip
        self.root = root
        self._target, self._variables, self._profiles_dir = target, variables, profiles_dir
        self._read: ReadFiles = {}
        self._cache: Cache | None = None
        """What compiles made; before the first one, that of the last command is read."""
        self._errors: ProjectErrors | None = None
        self._models: ModelCompiler | None = None
        """Those of the last compile, and of models that were checked since then."""

    def compile(
        self, unsaved: Unsaved, between: Callable[[], None] = lambda: None
    ) -> tuple[EditorProject | None, list[Diagnostic]]:
        """Compile again what has changed; return no project if nothing can be analyzed.

        `between` is called again and again, and may raise `OutdatedError`.
        """
        with unsaved_files(unsaved), remembered_files(self._read):
            try:
                return self._compile(unsaved, lambda *_: between())
            except MillstreamError as error:
                return None, list(error.diagnostics)

    @collector_paused()
    def check(self, path: str, content: bytes) -> list[Diagnostic] | None:
        """Return the diagnostics of a model's file with another text; its readers are not compiled again.

        None if the file is not a model's, or if its text matters for more than the model and its readers.
        """
        file = as_file(path, content)
        if self._models is None or self._errors is None or isinstance(file, Diagnostic):
            return None
        last = self._models.models.get(file.stem)
        if last is None or last.file.path != path:
            return None
        models = self._models.with_model(SqlFile(file.stem, path, file.content, file.digest))
        if models is None:
            return None
        self._models = models
        if (entry := models.entry_of(models.models[file.stem])) is not None:
            self._remember({file.stem: (entry,)})
        return [
            diagnostic for diagnostic in self._errors.shown(models) if location_of(diagnostic).path == path
        ]

    def preview(self, unsaved: Unsaved) -> tuple[EditorProject | None, list[Diagnostic]]:
        """Compile files as they would be after a change, which the next compile does not remember."""
        last = self._cache, self._errors, self._models
        try:
            return self.compile(unsaved)
        finally:
            self._cache, self._errors, self._models = last

    @collector_paused()
    def _compile(
        self, unsaved: Unsaved, progress: Callable[[str, int, int], None]
    ) -> tuple[EditorProject, list[Diagnostic]]:
        settings, diagnostics = read_settings(self.root)
        variables, more = merge_variables(settings.vars, self._variables)
        target, others = read_target(
            self.root, settings, self._target, self._profiles_dir, variables, strict_env=False
        )
        folder, first = self.root / settings.target_path, self._cache is None
        if first:
            claim_folder(self.root, settings.target_path)
        cache = read_cache(folder) if self._cache is None else self._cache
        result = compile_all(
            self.root, settings, target, variables, [*diagnostics, *more, *others], cache, progress,
            _check_unit_tests,
        )  # fmt: skip
        self._cache = Cache(models=(self._cache or cache).models, files=result.cache.files)
        self._remember(result.cache.models)
        self._errors, self._models = result.errors, result.models.of_its_own()
        if first and result.cache.models.keys() - cache.models.keys():
            write_cache(folder, self._cache)  # the next editor, or command, starts from it
        project = EditorProject(self.root, result, unsaved)
        return project, list(result.compiled.diagnostics)

    def _remember(self, results: Mapping[str, tuple[CachedModel, ...]]) -> None:
        """Add results of models to those that the next compile may use again, the last one first."""
        assert self._cache is not None
        models = dict(self._cache.models)
        for name, (entry,) in results.items():
            before = models.get(name, ())
            if not before or before[0] is not entry:
                others = (other for other in before if other.made_from != entry.made_from)
                models[name] = (entry, *others)[:_REMEMBERED]
        self._cache = Cache(models=models, files=self._cache.files)


def _check_unit_tests(project: Project, compiled: Compiled) -> list[Diagnostic]:
    return unit_test_problems(project, compiled) if project.unit_tests else []


def location_of(diagnostic: Diagnostic) -> Location:
    """Return where a diagnostic is shown: without a location, at the top of the project's settings."""
    return diagnostic.location or Location(FILE, 1, 1, 2)


def absolute(root: Path, path: str) -> str:
    """Return the key of a file in the mapping of unsaved contents."""
    return os.path.abspath(root / path)  # noqa: PTH100 - links stay
