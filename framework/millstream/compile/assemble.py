"""From what was loaded and analysed to the nodes of a manifest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any

from millstream.compile.models import Model, Models, folders
from millstream.manifest import Influence, ManifestColumn, ManifestFunction, ManifestNode
from millstream.project.values import Column, DataTest, Function, Project, Seed, Topic
from millstream.sql.values import Analysis, InputRelation, RelationColumn, Source


def model_node(models: Models, model: Model) -> ManifestNode:
    project, file = models.project, model.file
    properties = project.properties.get(file.name)
    described = {column.name.lower(): column for column in properties.columns} if properties else {}
    return ManifestNode(
        id=model.id,
        kind="model",
        name=file.name,
        path=file.path,
        fqn=(project.settings.name, *folders(file, project), file.name),
        tags=tuple(model.config.get("tags") or ()),
        config={key: value for key, value in model.config.items() if value not in (None, [], {}, ())},
        depends_on=tuple(sorted({reference.id for reference in model.references})),
        description=properties.description if properties else "",
        owner=model.config.get("owner") or (properties.owner if properties else None),
        meta=model.config.get("meta") or {},
        columns=_model_columns(model.analysis, models.relations[model.id], described),
        influences=_influences(model.analysis.rows),
        opaque=model.analysis.opaque,
        functions=model.analysis.functions,
        macros=tuple(sorted(name for name in model.uses.names if name in models.renderer.library.macros)),
        compiled_path=f"compiled/{file.path}",
        checksum=file.digest,
    )


def _model_columns(
    analysis: Analysis, relation: InputRelation, described: Mapping[str, Column]
) -> tuple[ManifestColumn, ...]:
    sources = {column.name.lower(): column.sources for column in analysis.columns}
    return tuple(
        _column(column, described.get(column.name.lower()), sources.get(column.name.lower(), frozenset()))
        for column in relation.columns
    )


def _column(column: RelationColumn, described: Column | None, sources: frozenset[Source]) -> ManifestColumn:
    return ManifestColumn(
        column.name,
        str(column.type),
        column.nullable,
        described.description if described else "",
        _influences(sources),
        tuple(test.name for test in described.tests) if described else (),
    )


def _influences(sources: frozenset[Source]) -> tuple[Influence, ...]:
    return tuple(Influence(*source) for source in sorted(sources)) if sources else ()


def source_node(project: Project, topic: Topic, relation: InputRelation) -> ManifestNode:
    described = {column.name.lower(): column for column in topic.columns}
    path = topic.location.path
    return ManifestNode(
        id=relation.id,
        kind="source",
        name=topic.name,
        path=path,
        fqn=(project.settings.name, *_folders_of(path), topic.source, topic.name),
        tags=topic.tags,
        config={"topic": topic.topic, "format": topic.format, "table": topic.table, "on_bad_record": topic.on_bad_record},
        description=topic.description,
        owner=topic.owner,
        meta=topic.meta,
        columns=tuple(
            _column(column, described.get(column.name.lower()), frozenset())
            for column in relation.columns
            if not column.hidden
        ),
    )


def seed_node(project: Project, seed: Seed, relation: InputRelation) -> ManifestNode:
    described = {column.name.lower(): column for column in seed.columns}
    return ManifestNode(
        id=relation.id,
        kind="seed",
        name=seed.name,
        path=seed.path,
        fqn=(project.settings.name, *_folders_of(seed.path), seed.name),
        tags=seed.tags,
        description=seed.description,
        meta=seed.meta,
        columns=tuple(_column(c, described.get(c.name.lower()), frozenset()) for c in relation.columns),
        checksum=seed.digest,
    )


def _folders_of(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).parts[1:-1]


def test_nodes(project: Project) -> Iterable[ManifestNode]:
    """Yield a node for every data test of a column or relation."""
    for topic in project.sources.values():
        yield from _tests(project, f"source.{topic.id}", topic.location.path, topic.columns, topic.tests)
    for properties in project.properties.values():
        if properties.name in project.models:
            yield from _tests(
                project, f"model.{properties.name}", properties.location.path, properties.columns, properties.tests
            )
    for seed in project.seeds.values():
        yield from _tests(project, f"seed.{seed.name}", seed.location.path, seed.columns, seed.tests)


def _tests(
    project: Project, relation: str, path: str, columns: Iterable[Column], tests: Iterable[DataTest]
) -> Iterable[ManifestNode]:
    name = relation.partition(".")[2].replace(".", "_")
    found = [("", test) for test in tests] + [(c.name, test) for c in columns for test in c.tests]
    seen: dict[str, int] = {}
    for column, test in found:
        label = "_".join(part for part in (test.name, name, column) if part)
        seen[label] = seen.get(label, 0) + 1
        label = label if seen[label] == 1 else f"{label}_{seen[label]}"
        config: dict[str, Any] = {"severity": test.severity}
        depends = [relation]
        if test.name == "relationships" and isinstance(to := test.arguments.get("to"), str):
            depends += [i for i in (_relation_id(to),) if i]
        yield ManifestNode(
            id=f"test.{label}",
            kind="test",
            name=label,
            path=path,
            fqn=(project.settings.name, *_folders_of(path), label),
            config=config,
            depends_on=tuple(sorted(set(depends))),
            test=test.name,
            meta={"column": column, "arguments": test.arguments} if column else {"arguments": test.arguments},
        )


def _relation_id(to: str) -> str | None:
    parts = [part.strip(" '\"") for part in to.partition("(")[2].rstrip(") ").split(",")]
    if to.startswith("ref(") and len(parts) == 1:
        return f"model.{parts[0]}"
    if to.startswith("source(") and len(parts) == 2:
        return f"source.{parts[0]}.{parts[1]}"
    return to if to.startswith(("model.", "seed.", "source.")) else None


def other_nodes(project: Project) -> Iterable[ManifestNode]:
    """Yield unit tests, exposures and metrics."""
    name = project.settings.name
    for unit in project.unit_tests:
        yield ManifestNode(
            id=f"unit_test.{unit.model}.{unit.name}",
            kind="unit_test",
            name=unit.name,
            path=unit.location.path,
            fqn=(name, unit.model, unit.name),
            tags=unit.tags,
            depends_on=(f"model.{unit.model}",),
            description=unit.description,
        )
    for exposure in project.exposures:
        yield ManifestNode(
            id=f"exposure.{exposure.name}",
            kind="exposure",
            name=exposure.name,
            path=exposure.location.path,
            fqn=(name, exposure.name),
            tags=exposure.tags,
            config={"type": exposure.kind},
            depends_on=exposure.depends_on,
            description=exposure.description,
            owner=exposure.owner,
            meta=exposure.meta | ({"url": exposure.url} if exposure.url else {}),
        )
    for metric in project.metrics:
        yield ManifestNode(
            id=f"metric.{metric.name}",
            kind="metric",
            name=metric.name,
            path=metric.location.path,
            fqn=(name, metric.name),
            tags=metric.tags,
            depends_on=(metric.model if "." in metric.model else f"model.{metric.model}",),
            description=metric.description,
            meta=metric.meta | {"expression": metric.expression, "dimensions": list(metric.dimensions)},
        )


def manifest_function(function: Function) -> ManifestFunction:
    parameters = ", ".join(f"{p.name}: {p.type}" for p in function.parameters)
    return ManifestFunction(
        function.name,
        function.path,
        function.location.line,
        f"{function.name}({parameters}) -> {function.returns}",
        function.description,
        function.table,
    )
