"""Compiles models one by one in topological order: renders and analyzes them, or uses the cache."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property

import msgspec
from msgspec.structs import replace

from millstream.compile.cache import CachedModel
from millstream.compile.cache_files import digest_of
from millstream.compile.checks import row_checks
from millstream.compile.error_reach import ErrorReach
from millstream.compile.logs import logged_rows
from millstream.compile.metrics import compile_metrics
from millstream.compile.model_checks import ProjectPlanner, encoded_catalog
from millstream.compile.node import Model, model_node
from millstream.compile.options import (
    option_expressions,
    rows_without_time,
    unknown_names,
    wrong_versions,
)
from millstream.compile.record_times import is_time_problem, query_with_time
from millstream.compile.relations import input_relations, with_versions
from millstream.compile.sink_keys import sink_key
from millstream.compile.sink_pins import sink_pins
from millstream.compile.sink_schemas import key_only, sink_schema
from millstream.compile.sources import derive_columns
from millstream.compile.writing_functions import wrong_writer
from millstream.core.encoding import to_builtins, to_msgpack
from millstream.core.errors import Diagnostic, DiagnosticNote, did_you_mean
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.core.types import UNKNOWN
from millstream.outputs.kinds import VALID_FROM, VALID_TO
from millstream.outputs.registry import Materialization
from millstream.plan.from_sql.catalog import PlanDiagnostic
from millstream.project.config import Layer, resolve_config
from millstream.project.load import model_folders
from millstream.project.options import ModelConfig
from millstream.project.pins import Pins, read_pins
from millstream.project.templates import THROUGH, Rendered, Renderer
from millstream.project.values import Metric, NodeReference, Project, SqlFile, TemplateUses
from millstream.sql.query import SqlQuery
from millstream.sql.signatures import load_signatures
from millstream.sql.values import Analysis, InputRelation, RelationColumn, SqlDiagnostic

Progress = Callable[[str, int, int], None]
Find = Callable[[tuple[str, ...]], InputRelation | None]


_SCHEMA_OPTIONS = ("schema", "format", "framing", "key_schema", "key_format", "key_framing")


class ModelCompiler:
    """Compiles a project's models; `cached` are the entries of the last compile."""

    def __init__(
        self,
        project: Project,
        cached: Mapping[str, tuple[CachedModel, ...]],
        progress: Progress,
        broken: frozenset[str],
    ) -> None:
        self.project = project
        self.cached = cached
        self.progress = progress
        self.renderer = Renderer(project)
        self.relations = input_relations(project, broken)
        derived = derive_columns(project, self.relations)
        self.diagnostics = [*derived.diagnostics, *self.renderer.diagnostics, *built_in_names(project)]
        self.planning = ProjectPlanner(project, self.relations, derived.expressions)
        self.models: dict[str, Model] = {}
        self._schemas = {
            id_: digest_of(relation, self.planning.traits.get(id_))
            for id_, relation in self.relations.items()
        }
        target = project.target
        self._everywhere = digest_of(project.settings.name, target.name, target.profile, target.settings)
        self._everything = digest_of(sorted(project.models), sorted(project.seeds), sorted(project.sources))
        self._paths = digest_of(
            self._everything, sorted((file.path, file.name) for file in project.models.values())
        )
        self._defaults = digest_of(project.settings.models)
        self._errors = ErrorReach(self.relations)
        functions = project.functions.values()
        self._functions = digest_of(
            [(f.name, f.parameters, f.returns, f.nullable, f.table, f.batches) for f in functions]
        )

    # -- rendering

    def render_all(self) -> None:
        total = len(self.project.models)
        for index, file in enumerate(self.project.models.values()):
            self.progress("render", index, total)
            self.models[file.name] = self._model(file)
        self.progress("render", total, total)
        self._disabled = {
            model.id: model for model in self.models.values() if not model.config.get("enabled", True)
        }
        self.models = {name: model for name, model in self.models.items() if model.id not in self._disabled}
        self._unselectable = {
            model.id: stored for model in self.models.values() if (stored := model.stored).unselectable
        }
        for model in self.models.values():
            self._report_misread(model)

    def _report_misread(self, model: Model) -> None:
        # A table over tables reads what is stored.
        refresh = model.stored.refresh
        if misread := list(self.misread(model.references, stored=bool(refresh))):
            model.entry = None
            model.diagnostics += misread
        model.broken = bool(model.diagnostics)

    def misread(self, references: Iterable[NodeReference], *, stored: bool = False) -> Iterator[Diagnostic]:
        """Report refs to disabled models, which are no nodes, and to those from which no model can select.

        Of what is `stored`, rows can be selected that models can't compute.
        """
        for reference in references:
            if reference.id in self._disabled:
                location = self.option_location(self._disabled[reference.id], "enabled")
                yield _disabled(reference, location)
            elif (read := self._unselectable.get(reference.id)) and not (stored and read.readable):
                yield _unselectable(reference, read)

    def _model(self, file: SqlFile) -> Model:
        for entry in self.cached.get(file.name, ()):
            if entry.rendered_from == self._rendered_from(file, entry.uses) and all(
                self._exists(reference.id) for reference in entry.references
            ):
                return Model(
                    file,
                    entry.config,
                    entry.references,
                    entry.uses,
                    entry.rendered_from,
                    entry.sql,
                    entry=entry,
                )
        rendered = self.render(file)
        config, diagnostics = self._config(file, rendered.options)
        return Model(
            file,
            to_builtins(config),
            rendered.references,
            rendered.uses,
            self._rendered_from(file, rendered.uses),
            rendered.sql,
            rendered,
            diagnostics=[*rendered.diagnostics, *diagnostics],
        )

    def _config(self, file: SqlFile, in_file: Layer) -> tuple[ModelConfig, list[Diagnostic]]:
        settings = self.project.settings
        properties = self.project.properties.get(file.name)
        return resolve_config(settings, model_folders(file, settings), properties, in_file)

    def _exists(self, id_: NodeId) -> bool:
        """Return whether the id of a reference still is that of a node."""
        kind, name = id_.kind, id_.name
        if kind == "model":
            return name in self.project.models
        return id_ in self.relations and not (kind == "seed" and name in self.project.models)

    def _rendered_from(self, file: SqlFile, uses: TemplateUses) -> str:
        properties = self.project.properties.get(file.name)
        # An empty variable differs from one that is not set.
        values = {name: (name in self.project.vars, self.project.vars.get(name)) for name in uses.vars}
        declared = self.project.settings.env_vars
        environment = {name: (name in declared, os.environ.get(name)) for name in uses.env}
        return digest_of(
            file.digest,
            file.path,
            self.renderer.library.digest(uses.names),
            # What its configuration is resolved from, which takes longer than a digest.
            self._defaults,
            model_folders(file, self.project.settings),
            properties and (properties.config, properties.owner, properties.tags, properties.meta),
            values,
            environment,
            # `lookup_map` finds a relation by its bare name, so any new relation matters.
            self._everything if self._looks_up(uses) else "",
            self._everywhere,
        )

    def _looks_up(self, uses: TemplateUses) -> bool:
        library = self.renderer.library
        return "lookup_map" in {*uses.names, *library.names_behind(library.paths_behind(uses.names))}

    # -- analysis

    def analyse_all(self, order: Iterable[NodeId]) -> None:
        """Analyze the models in the given order, each after its inputs."""
        names = [id_.name for id_ in order if id_.kind == "model"]
        for index, name in enumerate(names):
            self.progress("analyse", index, len(names))
            self._analyse(self.models[name])
        self.progress("analyse", len(names), len(names))

    def _analyse(self, model: Model) -> None:
        # In a cycle, or below an unreadable file, a relation may have no schema yet: it stays open.
        inputs = sorted({reference.id for reference in model.references})
        self._errors.add(model.id, model.references)
        properties = self.project.properties.get(model.file.name)
        schemas = [self._schemas.get(id_, "") for id_ in inputs]
        model.made_from = digest_of(
            model.rendered_from,
            schemas,
            self._functions,
            properties,
            self._metrics(model),
            self._schema_files(model),
            # What is unknown because of errors elsewhere decides which errors are reported here.
            [self._errors.reaches_columns(model.references), self._errors.reaches_types(model.references)],
        )
        if (entry := self._last_result(model)) is not None:
            model.entry, relation, model.node = entry, entry.relation, entry.node
            model.spec, model.traits = entry.spec, entry.traits
            model.diagnostics, model.warnings = list(entry.diagnostics), list(entry.warnings)
            if entry.lost_columns:
                self._errors.lose_columns(model.id)
            self.relations[model.id] = relation
        else:
            analysis = self._analyze_again(model)
            relation = self._relation(model, analysis)
            model.diagnostics += self._sink_schema(model, relation)
            model.node = model_node(self.project, model, relation, analysis, self.renderer.library.macros)
            model.diagnostics += self._undeclared(model, relation)
            model.diagnostics += self._unknown_columns(model, relation, analysis)
            model.diagnostics += self._unknown_types(model, relation)
            self.relations[model.id] = relation
            self._plan(model, analysis)
        self.planning.add(model)
        self._schemas[model.id] = digest_of(relation, model.traits)

    def _last_result(self, model: Model) -> CachedModel | None:
        """Return what an earlier compile found of a model, if it would be found again."""
        if model.diagnostics or model.entry is None:
            return None
        for entry in self.cached[model.file.name]:
            if entry.made_from == model.made_from and (
                not entry.diagnostics or entry.found_in == self._paths
            ):
                return entry
        return None

    def _schema_files(self, model: Model) -> dict[str, str]:
        """Return the files that a sink's schemas may import, or must be compatible with."""
        named = [model.config.get(name) for name in _SCHEMA_OPTIONS]
        return self.project.schemas if any(named) else {}

    def _plan(self, model: Model, analysis: Analysis) -> None:
        """Check that a model can be kept up to date, and that its options fit its columns."""
        relation = self.relations[model.id]
        if analysis.query is None:
            return
        if model.diagnostics:
            if all(diagnostic.code == "MS414" for diagnostic in model.diagnostics):
                refused = self.planning.refused(model, analysis.query)
                # Rejected constructs are reported even without known columns.
                reported = [self._plan_diagnostic(model, refusal) for refusal in refused]
                model.diagnostics = reported or model.diagnostics
            return
        diagnostics = unknown_names(model.config, relation) or [
            *rows_without_time(model.config, relation),
            *wrong_versions(model.config, relation),
            *wrong_writer(model.config, relation, self.project.functions),
        ]
        extras, more = option_expressions(model.config, relation, self._analysed_option)
        timed = self._timed_query(model, analysis, relation) if any(map(is_time_problem, more)) else None
        if timed is not None:
            more = [
                *(plan_diagnostic for plan_diagnostic in more if not is_time_problem(plan_diagnostic)),
                *timed[1],
            ]
        diagnostics += more
        properties = self.project.properties.get(model.file.name)
        checks, wrong = row_checks(model.config, properties, relation, self._analysed_option)
        model.diagnostics += wrong
        metrics, wrong = compile_metrics(self._metrics(model), model.config, relation, self._analysed_option)
        model.diagnostics += wrong
        log, wrong = logged_rows(properties, model.config, relation, self._analysed_option)
        model.diagnostics += wrong
        if not diagnostics:
            spec, model.traits, diagnostics = self.planning.check(
                model, analysis.query, extras, checks, metrics, log, self._own_options(model)
            )
            if timed is not None and all(
                plan_diagnostic.severity == "warning" for plan_diagnostic in diagnostics
            ):
                spec = msgspec.structs.replace(spec, query=timed[0])
            model.spec = to_msgpack(spec)
        located = [self._plan_diagnostic(model, plan_diagnostic) for plan_diagnostic in diagnostics]
        model.diagnostics += [diagnostic for diagnostic in located if diagnostic.severity == "error"]
        model.warnings = [diagnostic for diagnostic in located if diagnostic.severity == "warning"]

    def _timed_query(
        self, model: Model, analysis: Analysis, relation: InputRelation
    ) -> tuple[SqlQuery, list[PlanDiagnostic]] | None:
        """Return the query of a sink with the time of its records, if FROM has it, but not its rows."""
        assert analysis.query is not None
        rendered, name = self.rendered_again(model), model.file.name

        def analyse(sql: str) -> Analysis:
            return self.analysed(msgspec.structs.replace(rendered, sql=sql), model_name=name)

        return query_with_time(rendered.sql, analysis.query, model.config["timestamp"], relation, analyse)

    def _metrics(self, model: Model) -> list[Metric]:
        """Return the metrics of a model that its query computes."""
        metrics = (metric for metric in self.project.metrics if metric.model_name == model.file.name)
        return [metric for metric in metrics if metric.type is not None]

    @cached_property
    def _pins(self) -> Pins:
        return read_pins(self.project.schemas.items(), self.project.settings)[0]

    def _sink_schema(self, model: Model, relation: InputRelation) -> list[Diagnostic]:
        """Add what encoding needs of a sink's schemas to its options."""
        sink = model.stored.sink
        if sink is None or model.diagnostics:
            return []
        pinned = sink_pins(sink, model.config, model.id, self._pins)
        if pinned.diagnostics:
            return [self._plan_diagnostic(model, plan_diagnostic) for plan_diagnostic in pinned.diagnostics]
        if pinned.options:
            model.config = model.config | pinned.options
            sink = model.stored.sink
            assert sink is not None
        schema, diagnostics = sink_schema(
            sink, model.config, relation, self.project, self._pins, pinned.values
        )
        if schema is not None:
            model.config = model.config | {
                "value_schema": schema.essence,
                "message": schema.message,
                "derived_schema": schema.text,
                "key_only": key_only(sink, relation, schema),
            }
        key, more = sink_key(sink, model.config, relation, self.project, self._pins, pinned.keys)
        model.config = model.config | key
        diagnostics += more
        return [self._plan_diagnostic(model, plan_diagnostic) for plan_diagnostic in diagnostics]

    def _own_options(self, model: Model) -> set[str]:
        """Return the options that a model itself sets: in its file, or in YAML."""
        properties = self.project.properties.get(model.file.name)
        in_file = model.rendered.options if model.rendered is not None else {}
        return {*in_file, *(properties.config_locations if properties else ())}

    def _analysed_option(self, sql: str, relation: InputRelation) -> Analysis:
        return self._analyze(sql, lambda _: relation, list)

    def _plan_diagnostic(self, model: Model, plan_diagnostic: PlanDiagnostic) -> Diagnostic:
        diagnostic = self._located(model, plan_diagnostic)
        others = (self.models.get(other.shown_name) for other in plan_diagnostic.others)
        notes = (
            DiagnosticNote(f"'{o.file.name}'", Location(o.file.path, 1, 1, 2))
            for o in others
            if o is not None
        )
        return msgspec.structs.replace(
            diagnostic, notes=(*diagnostic.notes, *notes), severity=plan_diagnostic.severity
        )

    def _located(self, model: Model, plan_diagnostic: PlanDiagnostic) -> Diagnostic:
        rendered, option = model.rendered, plan_diagnostic.option
        start, stop = plan_diagnostic.start, plan_diagnostic.stop
        if not option and rendered is not None and stop > start:
            in_sql = SqlDiagnostic(
                plan_diagnostic.code, plan_diagnostic.message, plan_diagnostic.help, start, stop
            )
            return self.diagnostic(rendered, in_sql)
        properties = self.project.properties.get(model.file.name)
        location, line = None, ""
        if rendered is not None and (written := rendered.options.get(option)):
            location, line = written.location, written.line
        elif properties and option in properties.config_locations:
            location = properties.config_locations[option]
            line = properties.config_lines.get(option, "")
        return plan_diagnostic.located_at(location or Location(model.file.path, 1, 1, 2), line)

    def option_location(self, model: Model, *options: str) -> Location:
        """Return the location of the first of these options that a model itself sets, or its first line."""
        rendered = self.rendered_again(model)
        properties = self.project.properties.get(model.file.name)
        for option in options:
            in_file = rendered.options.get(option)
            if in_file is not None and in_file.location is not None:
                return in_file.location
            if properties and option in properties.config_locations:
                return properties.config_locations[option]
        return Location(model.file.path, 1, 1, 2)

    def rendered_again(self, model: Model) -> Rendered:
        """Return a model's rendering, even if the rest of it comes from the cache."""
        if model.rendered is None:
            model.rendered = self.render(model.file)
        return model.rendered

    def render(self, file: SqlFile) -> Rendered:
        """Render a model's file, or what an editor has of it."""
        base, _ = self._config(file, {})
        return self.renderer.render(file, to_builtins(base))

    def _analyze_again(self, model: Model) -> Analysis:
        model.entry = None
        rendered = self.rendered_again(model)
        if rendered.failed:
            return Analysis(open=True)
        stored = model.stored
        analysis = self.analysed(rendered, model_name=model.file.name, text=stored.at_rest)
        model.diagnostics += [self.diagnostic(rendered, diagnostic) for diagnostic in analysis.diagnostics]
        return analysis

    def analysed(self, rendered: Rendered, *, model_name: str = "", text: bool = False) -> Analysis:
        referenced = {reference.id for reference in rendered.references}

        def find(parts: tuple[str, ...]) -> InputRelation | None:
            relation = self.find_relation(parts)
            if relation is None or relation.id in referenced:
                return relation
            # Without `ref`, as with `this`, the model has no edge in the graph, and no place in its order.
            # A `ref` of what doesn't exist has an error of its own.
            return relation if rendered.diagnostics and not self._exists(relation.id) else None

        return self._analyze(
            rendered.sql,
            find,
            lambda: [*self.project.models, *self.project.seeds],
            model_name=model_name,
            text=text,
        )

    def _analyze(
        self,
        sql: str,
        find: Find,
        names: Callable[[], list[str]],
        *,
        model_name: str = "",
        text: bool = False,
    ) -> Analysis:
        # Imports sqlglot, which an unchanged project does not need.
        from millstream.sql.analyze import analyze_sql

        return analyze_sql(sql, find, names, self.project.functions, model=model_name, text=text)

    def diagnostic(self, rendered: Rendered, diagnostic: SqlDiagnostic) -> Diagnostic:
        location, line, notes = self.renderer.locate(
            rendered, diagnostic.start, diagnostic.stop, diagnostic.needle, diagnostic.before
        )
        if diagnostic.code == "MS409":
            location, line, notes = self._at_call(location, line, notes)
        for opened, closed in diagnostic.opened:
            written = self._written(rendered, opened)
            if _in_argument(written) and (
                closed is None or not _in_argument(self._written(rendered, closed))
            ):
                location, line, notes = written  # an argument opens what it does not close
                break
        if diagnostic.noticed is not None:
            noticed, _, _ = self.renderer.locate(rendered, diagnostic.noticed, diagnostic.noticed + 1)
            notes.append(DiagnosticNote("found here", noticed))
        return Diagnostic(diagnostic.code, diagnostic.message, location, diagnostic.help, line, tuple(notes))

    def _at_call(
        self, location: Location, line: str, notes: list[DiagnosticNote]
    ) -> tuple[Location, str, list[DiagnosticNote]]:
        """Return where a macro is called: a column that has no name gets it there, not in the macro."""
        macros = {file.path for file in self.project.macros}
        calls = [note.location for note in notes if note.location and note.location.path not in macros]
        if location.path not in macros or not calls:
            return location, line, notes
        return calls[-1], self.renderer.texts[calls[-1].path].line(calls[-1].line), []

    def _written(self, rendered: Rendered, offset: int) -> tuple[Location, str, list[DiagnosticNote]]:
        """Return where a sign was written."""
        return self.renderer.locate(rendered, offset, offset + 1, rendered.sql[offset])

    def _relation(self, model: Model, analysis: Analysis) -> InputRelation:
        """Return a model as its readers see it; YAML declares columns that its SQL does not determine."""
        columns = {
            column.name.lower(): RelationColumn(column.name, column.type, column.nullable)
            for column in analysis.columns
        }
        properties = self.project.properties.get(model.file.name)
        if properties and (analysis.open or analysis.opaque):
            for declared in properties.columns:
                column = columns.get(declared.name.lower())
                if declared.type and (column is None or column.type == UNKNOWN):
                    columns[declared.name.lower()] = RelationColumn(
                        declared.name, declared.type, declared.nullable
                    )
        if model.diagnostics:
            # Errors here are not reported again for all readers; types may be wrong because of them.
            columns = {name: replace(column, type=UNKNOWN) for name, column in columns.items()}
        stored = model.stored
        if stored.versions and not columns.keys() & {VALID_FROM, VALID_TO}:
            versioned = with_versions(columns.values(), stored.given_keys)
            columns = {column.name.lower(): column for column in versioned}
        has_columns = properties is not None and bool(properties.columns)
        if model.diagnostics or (analysis.open and self._errors.reaches_columns(model.references)):
            self._errors.lose_columns(model.id)
        is_open = self._errors.has_lost_columns(model.id) or (analysis.open and not has_columns)
        return InputRelation(model.id, tuple(columns.values()), open=is_open)

    def find_relation(self, parts: tuple[str, ...]) -> InputRelation | None:
        """Return what `models.x`, `seeds.x` or `sources.s.t` means."""
        match parts:
            case ("models" | "seeds", _) | ("sources", _, _) if all(parts):
                id_ = NodeId.parse(".".join((parts[0].removesuffix("s"), *parts[1:])))
                return self.relations.get(id_) or InputRelation(id_, (), open=True)
            case _:
                return None

    def _undeclared(self, model: Model, relation: InputRelation) -> list[Diagnostic]:
        """Report columns that YAML describes but the SQL does not have."""
        properties = self.project.properties.get(model.file.name)
        if properties is None or relation.open or model.diagnostics:
            return []
        names = [column.name for column in relation.columns]
        folded = {name.lower() for name in names}
        return [
            Diagnostic(
                "MS402",
                f"model '{model.file.name}' has no column '{column.name}'",
                column.location,
                did_you_mean(
                    column.name,
                    names,
                    f"it has {', '.join(names[:8])}" if names else "its SQL has no columns",
                ),
                notes=(DiagnosticNote("its SQL", Location(model.file.path, 1, 1, 2)),),
            )
            for column in properties.columns
            if column.name.lower() not in folded
        ]

    def _unknown_columns(self, model: Model, relation: InputRelation, analysis: Analysis) -> list[Diagnostic]:
        """Warn about a model with unknown columns, which hide errors in its readers."""
        if not relation.open or not analysis.opaque or model.diagnostics:
            return []
        message = f"the columns of '{model.file.name}' are unknown: {analysis.opaque[0]}"
        location = Location(model.file.path, 1, 1, 2)
        remedy = "declare them with their types under `models:` in YAML"
        return [Diagnostic("MS414", message, location, remedy, severity="warning")]

    def _unknown_types(self, model: Model, relation: InputRelation) -> list[Diagnostic]:
        """Report columns of a table whose types are unknown: Spark could not store them."""
        stored = model.stored.at_rest
        if not stored or relation.open or model.diagnostics:
            return []
        if self._errors.reaches_types(model.references):
            return []
        location = Location(model.file.path, 1, 1, 2)
        return [
            Diagnostic(
                "MS414",
                f"the type of column '{column.name}' of table '{model.file.name}' is unknown",
                location,
                f"write cast({column.name} as …), or declare its type under `models:` in YAML",
            )
            for column in relation.columns
            if column.type == UNKNOWN
        ]

    def catalog(self, order: Iterable[NodeId]) -> bytes:
        """Return the encoded catalog."""
        ordered = [self.models[id_.shown_name] for id_ in order if id_.kind == "model"]
        return encoded_catalog(self.planning.catalog, ordered)

    # -- one model again

    def of_its_own(self) -> ModelCompiler:
        """Return this compiler with another renderer, for another thread: a renderer has state."""
        other = copy(self)
        other.renderer = self.renderer.again(self.project)
        return other

    def with_model(self, file: SqlFile) -> ModelCompiler | None:
        """Return a compiler in which one model has another text, and all else is as here.

        None if that changes more than the model and its readers, which are not compiled again.
        """
        last, other = self.models.get(file.name), copy(self)
        if last is None or not file.content.strip():
            return None
        return other if other.compile_again(last, file) else None

    def compile_again(self, last: Model, file: SqlFile) -> bool:
        """Replace a model; return whether it still is one."""
        self.project = replace(self.project, models={**self.project.models, file.name: file})
        self.relations = {id_: relation for id_, relation in self.relations.items() if id_ != last.id}
        self.planning = self.planning.before(last.id, self.relations)
        self._errors = self._errors.before(last.id, self.relations)
        self._schemas = dict(self._schemas)
        model = self._model(file)
        self.models = {**self.models, file.name: model}
        if not model.config.get("enabled", True):
            return False
        self._report_misread(model)
        self._analyse(model)
        return True

    # -- cache

    def entries(self) -> dict[str, tuple[CachedModel, ...]]:
        """Return the cache entries of all models that have one."""
        entries = ((name, self.entry_of(model)) for name, model in self.models.items())
        return {name: (entry,) for name, entry in entries if entry is not None}

    def entry_of(self, model: Model) -> CachedModel | None:
        """Return what is remembered of a model; None with errors in its template, options or references."""
        if model.node is None or model.broken:
            return None
        return model.entry or CachedModel(
            model.rendered_from,
            model.made_from,
            model.uses,
            model.references,
            model.config,
            model.sql,
            self.relations[model.id],
            model.node,
            model.spec,
            model.traits,
            tuple(model.warnings),
            tuple(model.diagnostics),
            self._paths if model.diagnostics else "",
            self._errors.has_lost_columns(model.id),
        )


def _in_argument(written: tuple[Location, str, list[DiagnosticNote]]) -> bool:
    return any(note.message == THROUGH for note in written[2])


def _disabled(reference: NodeReference, location: Location) -> Diagnostic:
    name = reference.id.name
    remedy = "enable it, or read another model"
    note = DiagnosticNote("the disabled model", location)
    return Diagnostic("MS211", f"model '{name}' is disabled", reference.location, remedy, notes=(note,))


def _unselectable(reference: NodeReference, read: Materialization) -> Diagnostic:
    message = f"model '{reference.id.name}' {read.unselectable}"
    remedy = "read what it reads; or select the rows in a view, and let both read that"
    if read.readable:
        follows = "config(materialized='table', unique_key='…', refresh='incremental')"
        remedy += f"; or make this model a table over what is stored: {follows}"
    return Diagnostic("MS214", message, reference.location, remedy)


_ENDINGS = ("_where", "_at")
"""Suffixes that queries add to names: `queries/python_calls.py`, `queries/emit/error_locations.py`."""


def built_in_names(project: Project) -> list[Diagnostic]:
    """Find functions named like one of Spark, or like what queries call another function."""
    diagnostics: list[Diagnostic] = []
    for function in project.functions.values():
        name, remedy = function.name, f"rename it, for example to my_{function.name}"
        if name in load_signatures():
            message = f"'{name}' is a function of Spark"
            diagnostics.append(Diagnostic("MS318", message, function.location, remedy))
        for ending in _ENDINGS:
            other = name.removesuffix(ending)
            if other != name and other in project.functions:
                message = f"queries use the name '{name}' to call '{other}'"
                diagnostics.append(Diagnostic("MS319", message, function.location, remedy))
    return diagnostics
