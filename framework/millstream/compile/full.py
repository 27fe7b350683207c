"""Compiles all models of a project, or takes those from the cache whose inputs are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from millstream import __version__
from millstream.compile.assemble import manifest_function, other_nodes, seed_node, source_node
from millstream.compile.cache import Cache, ContentCache
from millstream.compile.changes import problems_of_changes
from millstream.compile.checks import unstored_tests
from millstream.compile.error_reach import misdeclared_topics, readers_of
from millstream.compile.follow_up_errors import broken_files
from millstream.compile.graph import GraphNode, build_graph, find_cycles
from millstream.compile.manifest import SCHEMA_VERSION, Compiled, Manifest, ManifestColumn, ManifestNode
from millstream.compile.models import ModelCompiler
from millstream.compile.native_functions import not_native
from millstream.compile.options import unknown_rules
from millstream.compile.project_errors import ProjectErrors
from millstream.compile.sql_tests import sql_tests
from millstream.compile.topics import topic_problems
from millstream.core.errors import Diagnostic, MillstreamError
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.project.imports import FunctionImports
from millstream.project.load import load_files
from millstream.project.values import Project, Settings, Target

Progress = Callable[[str, int, int], None]
"""Called with the stage, the number of finished models, and the total."""
Check = Callable[[Project, Compiled], Iterable[Diagnostic]]
"""A further check of a project that compiles."""


class FullCompile(NamedTuple):
    """What a compile gives, with what the next one reuses."""

    compiled: Compiled
    cache: Cache
    environment: dict[str, str | None]
    """The environment variables that templates read, with their values."""
    imported: FunctionImports
    models: ModelCompiler
    """Knows the relations, and renders and analyzes a model again."""
    errors: ProjectErrors


def compile_all(
    root: Path,
    settings: Settings,
    target: Target,
    variables: dict[str, Any],
    diagnostics: list[Diagnostic],
    cache: Cache,
    progress: Progress | None,
    check: Check | None,
) -> FullCompile:
    """Compile a project; `cache` has what the last compile made."""
    memo = ContentCache(cache.files)
    environment: dict[str, str | None] = {}
    project, file_diagnostics = load_files(root, settings, target, variables, memo, environment)
    progress = progress or (lambda *_: None)
    progress("render", 0, len(project.models))
    models = ModelCompiler(project, cache.models, progress, broken_files(file_diagnostics))
    models.render_all()
    order, cycles, unordered = _order(models)
    models.analyse_all(order)
    tests, more, tests_sql = sql_tests(models)
    progress("analyse", len(order), len(order))
    diagnostics = [*diagnostics, *_unknown_rules(target), *unstored_tests(project), *topic_problems(models)]
    diagnostics += not_native(root, project.functions.values())
    progress("analyse", len(order), len(order))
    errors = ProjectErrors(
        [*diagnostics, *file_diagnostics, *models.diagnostics, *cycles, *more],
        unordered,
        readers_of(misdeclared_topics(project, file_diagnostics), models.models.values(), order),
    )
    all_diagnostics = [*errors.of_project, *errors.of_models(models)]
    shown = errors.shown(models)
    catalog = (
        b""
        if any(diagnostic.severity == "error" for diagnostic in all_diagnostics)
        else models.catalog(order)
    )
    progress("analyse", len(order), len(order))
    if catalog and (more := problems_of_changes(models, catalog)):
        errors.of_project.extend(more)
        all_diagnostics, shown, catalog = [*all_diagnostics, *more], [*shown, *more], b""
    compiled = Compiled(
        _manifest(models, order, tests),
        tuple(sorted(dict.fromkeys(shown), key=_by_cause(models, order))),
        {model.id: model.sql for model in models.models.values()},
        catalog,
        sum(1 for model in models.models.values() if model.entry),
        *_errors_by_model(models, shown),
        tests_sql,
    )
    if check is not None and not any(diagnostic.severity == "error" for diagnostic in all_diagnostics):
        more = list(check(project, compiled))
        compiled = msgspec.structs.replace(compiled, diagnostics=(*compiled.diagnostics, *more))
    for model in models.models.values():
        environment |= model.uses.env
    imported = FunctionImports(project.imported, project.libraries)
    cache = Cache(models=models.entries(), files=memo.used)
    return FullCompile(compiled, cache, environment, imported, models, errors)


def _errors_by_model(models: ModelCompiler, shown: Iterable[Diagnostic]) -> tuple[frozenset[NodeId], bool]:
    """Return the models with errors, and whether there are errors that are not those of single models."""
    by_model = {
        model.id: {(diagnostic.code, diagnostic.location) for diagnostic in model.diagnostics}
        for model in models.models.values()
        if model.diagnostics
    }
    of_models = frozenset().union(*by_model.values())
    elsewhere = (diagnostic for diagnostic in shown if diagnostic.severity == "error")
    return frozenset(by_model), any(
        (diagnostic.code, diagnostic.location) not in of_models for diagnostic in elsewhere
    )


def _by_cause(models: ModelCompiler, order: list[NodeId]) -> Callable[[Diagnostic], Any]:
    """Order errors by cause: files that all models may use, then models after what they read, then YAML."""
    paths = {
        models.models[id_.shown_name].file.path: index
        for index, id_ in enumerate(order)
        if id_.kind == "model"
    }

    def position(diagnostic: Diagnostic) -> Any:
        path = diagnostic.location.path if diagnostic.location else ""
        described = diagnostic.code in {"MS402", "MS117"} and path not in paths
        return (2 if described else path in paths), paths.get(path, 0), diagnostic.order, diagnostic.message

    return position


def _unknown_rules(target: Target) -> list[Diagnostic]:
    setting = target.settings.get("optimization")
    return [
        Diagnostic("MS520", f"unknown rule '{name}'", target.location, remedy)
        for name, remedy in (unknown_rules(setting) if setting else ())
    ]


def _order(models: ModelCompiler) -> tuple[list[NodeId], list[Diagnostic], frozenset[NodeId]]:
    """Return the models in topological order, the cycles, and the models in or behind them."""
    nodes: dict[NodeId, GraphNode] = {}
    locations: dict[tuple[NodeId, NodeId], Location | None] = {}
    for model in models.models.values():
        depends = tuple(sorted({reference.id for reference in model.references}))
        nodes[model.id] = GraphNode(
            id=model.id,
            kind="model",
            name=model.file.name,
            path=model.file.path,
            fqn=(model.file.name,),
            depends_on=depends,
        )
        locations |= {(model.id, reference.id): reference.location for reference in model.references}
    try:
        return list(build_graph(nodes).order), [], frozenset()
    except MillstreamError:
        diagnostics = find_cycles(nodes, locate=lambda child, parent: locations.get((child, parent)))
    diagnostics = [_with_line(models, cycle) for cycle in diagnostics]
    order, unordered = _order_despite_cycles(nodes)
    return order, diagnostics, unordered


def _order_despite_cycles(nodes: dict[NodeId, GraphNode]) -> tuple[list[NodeId], frozenset[NodeId]]:
    done: dict[NodeId, None] = {}
    pending = dict(nodes)
    stuck: frozenset[NodeId] = frozenset()
    while pending:
        ready = [i for i, node in pending.items() if not any(parent in pending for parent in node.depends_on)]
        if not ready and not stuck:
            stuck = frozenset(pending)
        for id_ in ready or [next(iter(pending))]:
            done[id_] = None
            del pending[id_]
    return list(done), stuck


def _with_line(models: ModelCompiler, diagnostic: Diagnostic) -> Diagnostic:
    if diagnostic.location is None or diagnostic.location.path not in models.renderer.texts:
        return diagnostic
    return msgspec.structs.replace(
        diagnostic, line=models.renderer.texts[diagnostic.location.path].line(diagnostic.location.line)
    )


def _manifest(models: ModelCompiler, order: list[NodeId], tests: list[ManifestNode]) -> Manifest:
    project: Project = models.project
    nodes: list[ManifestNode] = [
        source_node(project, topic, models.relations[NodeId("source", topic.id)])
        for topic in project.sources.values()
    ]
    nodes += [
        seed_node(project, seed, models.relations[NodeId("seed", seed.name)])
        for seed in project.seeds.values()
    ]
    analyzed = {model.id: model.node for model in models.models.values()}
    nodes += [node for id_ in order if (node := analyzed.get(id_))]
    nodes = [*inherit_descriptions(nodes), *other_nodes(project), *tests]
    return Manifest(
        schema_version=SCHEMA_VERSION,
        millstream_version=__version__,
        project=project.settings.name,
        target=project.target.name,
        nodes={node.id: node for node in sorted(nodes, key=lambda node: node.id)},
        functions={name: manifest_function(project.functions[name]) for name in sorted(project.functions)},
        selectors=project.selectors,
    )


def inherit_descriptions(nodes: Iterable[ManifestNode]) -> Iterator[ManifestNode]:
    """Yield the nodes with inherited descriptions; each must come after those that it reads."""
    descriptions: dict[tuple[NodeId, str], str] = {}
    for node in nodes:
        columns = tuple(
            replace(column, description=inherited)
            if not column.description and (inherited := _inherited(column, descriptions))
            else column
            for column in node.columns
        )
        descriptions |= {(node.id, column.name.lower()): column.description for column in columns}
        yield node if columns == node.columns else replace(node, columns=columns)


def _inherited(column: ManifestColumn, descriptions: dict[tuple[NodeId, str], str]) -> str:
    """Return the common description of a column's origins; empty for a computed column."""
    if any(origin.kind != "direct" for origin in column.influences):
        return ""
    inherited = {
        descriptions.get((origin.relation, origin.column.lower()), "") for origin in column.influences
    }
    return inherited.pop() if len(inherited) == 1 else ""
