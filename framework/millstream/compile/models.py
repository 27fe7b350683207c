"""Models one by one in the order of the graph: render, analyse, or take what the cache knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct

from millstream.compile.cache import Entry, digest_of
from millstream.compile.relations import input_relations
from millstream.errors import Diagnostic, Note, did_you_mean
from millstream.project.config import ConfigValue, ModelConfig, resolve_config
from millstream.project.templates import Reference, Rendered, Renderer, Uses
from millstream.project.values import ModelProperties, Project, SqlFile
from millstream.sql.analyze import analyze
from millstream.sql.values import Analysis, InputRelation, Problem, RelationColumn
from millstream.types import UNKNOWN

Progress = Callable[[str, int, int], None]


class Model(Struct):
    """A model on its way: what is known of it so far."""

    file: SqlFile
    config: dict[str, Any]
    references: tuple[Reference, ...]
    uses: Uses
    rendered_from: str
    sql: str = ""
    rendered: Rendered | None = None
    entry: Entry | None = None
    """What the cache knows, as long as it still may be right."""
    analysis: Analysis = Analysis()
    analysed_from: str = ""
    diagnostics: list[Diagnostic] = []

    @property
    def id(self) -> str:
        return f"model.{self.file.name}"


def folders(file: SqlFile, project: Project) -> tuple[str, ...]:
    """Return the folders of a model below its model path."""
    parts = PurePosixPath(file.path).parts[:-1]
    for root in project.settings.model_paths:
        prefix = PurePosixPath(root).parts
        if parts[: len(prefix)] == prefix:
            return parts[len(prefix) :]
    return parts


class Models:
    """Compiles a project's models; `known` are the entries of the last compile."""

    def __init__(self, project: Project, known: Mapping[str, Entry], progress: Progress) -> None:
        self.project = project
        self.known = known
        self.progress = progress
        self.renderer = Renderer(project)
        self.relations = input_relations(project)
        self.models: dict[str, Model] = {}
        self._schemas = {id_: digest_of(relation) for id_, relation in self.relations.items()}
        self._everywhere = digest_of(
            project.settings.name,
            project.target.name,
            project.target.profile,
            project.target.settings,
        )
        self._functions = digest_of([(f.name, f.parameters, f.returns, f.nullable, f.table) for f in project.functions.values()])

    # -- rendering

    def render_all(self) -> None:
        total = len(self.project.models)
        for index, file in enumerate(self.project.models.values()):
            self.progress("render", index, total)
            self.models[file.name] = self._model(file)
        self.progress("render", total, total)

    def _model(self, file: SqlFile) -> Model:
        properties = self.project.properties.get(file.name)
        path = folders(file, self.project)
        base, _ = resolve_config(self.project.settings, path, properties, {})
        entry = self.known.get(file.name)
        if entry and entry.rendered_from == self._rendered_from(file, base, entry.uses) and self._resolve(entry):
            return Model(file, entry.config, entry.references, entry.uses, entry.rendered_from, entry.sql, entry=entry)
        return self._render(file, path, properties, base)

    def _render(
        self, file: SqlFile, path: tuple[str, ...], properties: ModelProperties | None, base: ModelConfig
    ) -> Model:
        rendered = self.renderer.render(file, msgspec.to_builtins(base))
        given = {name: ConfigValue(o.value, o.location, o.line) for name, o in rendered.options.items()}
        config, problems = resolve_config(self.project.settings, path, properties, given)
        return Model(
            file,
            msgspec.to_builtins(config),
            rendered.references,
            rendered.uses,
            self._rendered_from(file, base, rendered.uses),
            rendered.sql,
            rendered,
            diagnostics=[*rendered.diagnostics, *problems],
        )

    def _resolve(self, entry: Entry) -> bool:
        """Tell whether everything that an entry refers to is still there."""
        return all(
            reference.id in self.relations or reference.id.removeprefix("model.") in self.project.models
            for reference in entry.references
        )

    def _rendered_from(self, file: SqlFile, base: ModelConfig, uses: Uses) -> str:
        values = {name: self.project.vars.get(name) for name in uses.vars}
        environment = {name: self.renderer.functions.environment(name) for name in uses.env}
        return digest_of(
            file.digest, file.path, self.renderer.library.digest(uses.names), base, values, environment, self._everywhere
        )

    # -- analysis

    def analyse_all(self, order: Iterable[str]) -> None:
        """Analyse the models in the given order, each after what it reads."""
        names = [id_.removeprefix("model.") for id_ in order if id_.startswith("model.")]
        for index, name in enumerate(names):
            self.progress("analyse", index, len(names))
            self._analyse(self.models[name])
        self.progress("analyse", len(names), len(names))

    def _analyse(self, model: Model) -> None:
        # In a cycle, or below what can't be read, a relation may have no schema yet: it stays open.
        inputs = sorted({reference.id for reference in model.references})
        model.analysed_from = digest_of(model.rendered_from, [self._schemas.get(i, "") for i in inputs], self._functions)
        if model.entry and model.entry.analysed_from == model.analysed_from:
            model.analysis = model.entry.analysis
        else:
            self._analyse_anew(model)
        relation = self._relation(model)
        self.relations[model.id] = relation
        self._schemas[model.id] = digest_of(relation)

    def _analyse_anew(self, model: Model) -> None:
        model.entry = None
        if model.rendered is None:
            path = folders(model.file, self.project)
            properties = self.project.properties.get(model.file.name)
            base, _ = resolve_config(self.project.settings, path, properties, {})
            model.rendered = self._render(model.file, path, properties, base).rendered
        rendered = model.rendered
        if rendered is None or rendered.failed:
            model.analysis = Analysis(open=True)
            return
        model.analysis = analyze(rendered.sql, self._lookup, self._known_relations, self.project.functions)
        model.diagnostics += [self._diagnostic(rendered, problem) for problem in model.analysis.problems]

    def _diagnostic(self, rendered: Rendered, problem: Problem) -> Diagnostic:
        location, line, notes = self.renderer.locate(rendered.spans, problem.start, problem.stop, problem.needle)
        return Diagnostic(problem.code, problem.message, location, problem.help, line, tuple(notes))

    def _relation(self, model: Model) -> InputRelation:
        """Return what others see of a model; YAML gives the columns that its SQL does not tell."""
        analysis = model.analysis
        columns = {
            column.name.lower(): RelationColumn(column.name, column.type, column.nullable) for column in analysis.columns
        }
        properties = self.project.properties.get(model.file.name)
        if properties and (analysis.open or analysis.opaque):
            for declared in properties.columns:
                known = columns.get(declared.name.lower())
                if declared.type and (known is None or known.type == UNKNOWN):
                    columns[declared.name.lower()] = RelationColumn(declared.name, declared.type, declared.nullable)
        is_open = analysis.open and not (properties and properties.columns)
        return InputRelation(model.id, tuple(columns.values()), open=is_open)

    def _lookup(self, parts: tuple[str, ...]) -> InputRelation | None:
        match parts:
            case ("models" | "seeds" as kind, name):
                return self.relations.get(f"{kind[:-1]}.{name}") or InputRelation(f"{kind[:-1]}.{name}", (), open=True)
            case ("sources", source, topic):
                id_ = f"source.{source}.{topic}"
                return self.relations.get(id_) or InputRelation(id_, (), open=True)
            case _:
                return None

    def _known_relations(self) -> list[str]:
        return [*self.project.models, *self.project.seeds]

    # -- mistakes that only the whole shows

    def undeclared(self, model: Model) -> list[Diagnostic]:
        """Columns that YAML describes and the SQL does not have."""
        properties = self.project.properties.get(model.file.name)
        if properties is None or model.analysis.open or model.diagnostics:
            return []
        names = [column.name for column in model.analysis.columns]
        folded = {name.lower() for name in names}
        return [
            Diagnostic(
                "MS402",
                f"model '{model.file.name}' has no column '{column.name}'",
                column.location,
                did_you_mean(column.name, names, f"it has {', '.join(names[:8])}"),
                notes=(Note(f"the SQL is in {model.file.path}"),),
            )
            for column in properties.columns
            if column.name.lower() not in folded
        ]

    def changed(self) -> bool:
        """Tell whether anything came out differently from what the cache holds."""
        return self.models.keys() != self.known.keys() or any(model.entry is None for model in self.models.values())

    def entries(self) -> dict[str, Entry]:
        """Return what the next compile may use: models without any mistake."""
        return {
            name: model.entry
            or Entry(
                model.rendered_from,
                model.analysed_from,
                model.uses,
                model.references,
                model.config,
                model.sql,
                model.analysis,
            )
            for name, model in self.models.items()
            if not model.diagnostics
        }
