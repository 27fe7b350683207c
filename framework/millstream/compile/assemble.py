"""Builds the nodes of a manifest from the loaded and analyzed project."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Any

from millstream.compile.manifest import ManifestFunction, ManifestNode
from millstream.compile.node import column_of
from millstream.core.node_id import NodeId
from millstream.core.text import Location
from millstream.formats.registry import KEY, Encoding, functions_of
from millstream.project.batch_functions import signature_of
from millstream.project.references import parse_id
from millstream.project.values import (
    DataTest,
    DeclaredColumn,
    DeclaredSource,
    Function,
    FunctionUse,
    Project,
    RegistryUse,
    RowSource,
    SchemaUse,
    Seed,
    Topic,
)
from millstream.sql.values import InputRelation

_TOPIC_OPTIONS = ("partitions", "topic_config", "starting")
"""Options of a topic that the manifest includes."""


def source_node(project: Project, topic: DeclaredSource, relation: InputRelation) -> ManifestNode:
    described = {column.name.lower(): column for column in topic.columns}
    path = topic.location.path
    return ManifestNode(
        id=relation.id,
        kind="source",
        name=topic.name,
        path=path,
        fqn=(project.settings.name, *_folders_of(path), topic.source, topic.name),
        tags=topic.tags,
        config=_config(topic),
        description=topic.description,
        owner=topic.owner,
        meta=topic.meta,
        functions=_functions_of(topic),
        columns=tuple(
            column_of(column, described.get(column.name.lower()), frozenset())
            for column in relation.columns
            if not column.hidden
        ),
    )


def _config(source: DeclaredSource) -> dict[str, Any]:
    watermark = source.watermark
    timed = {"watermark": {"column": watermark.column, "delay": watermark.delay}} if watermark else {}
    match source:
        case Topic() as topic:
            return {
                "topic": topic.topic_names,
                "format": topic.format.name,
                "table": topic.table,
                **({"versions": topic.versions} if topic.versions else {}),
                "on_bad_record": topic.on_bad_record,
                **({"deduplicate": "position"} if topic.deduplicate else {}),
                **({"history": topic.history.facts} if topic.history else {}),
                **_schema(topic.schema, topic.format),
                **_key(topic),
                **timed,
                **{n: topic.options[n] for n in _TOPIC_OPTIONS if topic.options.get(n) is not None},
            }
        case RowSource():
            keyed = {"table": True, "key": list(source.keys)} if source.keys else {}
            return {"kind": source.kind, **source.settings, **source.options, **keyed, **timed}


def _functions_of(source: DeclaredSource) -> tuple[str, ...]:
    match source:
        case Topic():
            return functions_of(source.format, source.key.format if source.key else None)
        case RowSource():
            return ()


def _schema(use: SchemaUse | RegistryUse | FunctionUse | None, encoding: Encoding) -> dict[str, Any]:
    """Return where the schema of values or keys is, and how its id precedes them."""
    framing = {} if encoding.framing == "plain" else {"framing": encoding.framing}
    match use:
        case RegistryUse():
            return {"subject": use.subject, "schema_id": encoding.schema_id, **framing}
        case SchemaUse():
            message = {"message": encoding.message} if encoding.message else {}
            return {"schema": use.path, **message, **framing}
        case FunctionUse() | None:
            return framing


def _key(topic: Topic) -> dict[str, Any]:
    key = topic.key
    if key is None:
        return {}
    format_ = {} if key.format.name == KEY.name else {"key_format": key.format.name}
    details = {f"key_{name}": value for name, value in _schema(key.schema, key.format).items()}
    return {"key": [*key.parts] or key.name, **format_, **details}


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
        columns=tuple(column_of(c, described.get(c.name.lower()), frozenset()) for c in relation.columns),
        checksum=seed.digest,
    )


def _folders_of(path: str) -> tuple[str, ...]:
    return PurePosixPath(path).parts[1:-1]


def located_tests(project: Project) -> Iterable[tuple[ManifestNode, Location]]:
    """Yield a node for every data test of a column or relation, with where YAML names the test."""
    for topic in project.sources.values():
        yield from _tests(project, NodeId("source", topic.id), topic.columns, topic.tests)
    for properties in project.properties.values():
        if properties.name in project.models:
            yield from _tests(project, NodeId("model", properties.name), properties.columns, properties.tests)
    for seed in project.seeds.values():
        yield from _tests(project, NodeId("seed", seed.name), seed.columns, seed.tests)


def name_tests(
    relation: NodeId, columns: Iterable[DeclaredColumn], tests: Iterable[DataTest]
) -> Iterable[tuple[str, str, DataTest]]:
    """Yield the tests of a relation and of its columns, each with its name and column.

    A test has the name that YAML gives it, or one after what it tests.
    """
    name = relation.name.replace(".", "_")
    pairs = [("", test) for test in tests] + [(c.name, test) for c in columns for test in c.tests]
    seen: dict[str, int] = {}
    for column, test in pairs:
        if test_name := test.arguments.get("name"):
            yield str(test_name), column, test
            continue
        label = "_".join(part for part in (test.name, name, column) if part)
        seen[label] = seen.get(label, 0) + 1
        yield label if seen[label] == 1 else f"{label}_{seen[label]}", column, test


def _tests(
    project: Project, relation: NodeId, columns: Iterable[DeclaredColumn], tests: Iterable[DataTest]
) -> Iterable[tuple[ManifestNode, Location]]:
    for label, column, test in name_tests(relation, columns, tests):
        depends, arguments = [relation], test.arguments
        to = arguments.get("to") if test.name == "relationships" else None
        if isinstance(to, str) and (id_ := parse_id(to)):
            referenced = _relation(project, id_)
            arguments = arguments | {"to": referenced}
            depends.append(referenced)
        node = ManifestNode(
            id=NodeId("test", label),
            kind="test",
            name=label,
            path=test.location.path,
            fqn=(project.settings.name, *_folders_of(test.location.path), label),
            tags=_tags(arguments.get("tags")),
            config={"severity": test.severity},
            depends_on=tuple(sorted(set(depends))),
            description=str(arguments.get("description") or ""),
            test=test.name,
            meta={
                "relation": relation,
                **({"column": column} if column else {}),
                "arguments": arguments,
                "line": test.location.line,
            },
        )
        yield node, test.location


def _tags(tags: object) -> tuple[str, ...]:
    return tuple(map(str, tags)) if isinstance(tags, list | tuple) else (str(tags),) if tags else ()


def other_nodes(project: Project) -> Iterable[ManifestNode]:
    """Yield unit tests, exposures and metrics."""
    name = project.settings.name
    for unit in project.unit_tests:
        yield ManifestNode(
            id=NodeId("unit_test", f"{unit.model}.{unit.name}"),
            kind="unit_test",
            name=unit.name,
            path=unit.location.path,
            fqn=(name, unit.model, unit.name),
            tags=unit.tags,
            depends_on=(NodeId("model", unit.model),),
            description=unit.description,
            meta={"line": unit.location.line},
        )
    for exposure in project.exposures:
        yield ManifestNode(
            id=NodeId("exposure", exposure.name),
            kind="exposure",
            name=exposure.name,
            path=exposure.location.path,
            fqn=(name, exposure.name),
            tags=exposure.tags,
            config={"type": exposure.kind},
            depends_on=tuple(_relation(project, relation) for relation in exposure.depends_on),
            description=exposure.description,
            owner=exposure.owner,
            meta=exposure.meta | ({"url": exposure.url} if exposure.url else {}),
        )
    for metric in project.metrics:
        yield ManifestNode(
            id=NodeId("metric", metric.name),
            kind="metric",
            name=metric.name,
            path=metric.location.path,
            fqn=(name, metric.name),
            tags=metric.tags,
            depends_on=(_relation(project, metric.model),),
            description=metric.description,
            meta=metric.meta | {"expression": metric.expression, "dimensions": list(metric.dimensions)},
        )


def _relation(project: Project, id_: NodeId) -> NodeId:
    """Return the id of a relation; a seed may be given as a model, as in ref('countries')."""
    name = id_.name
    is_seed = id_.kind == "model" and name in project.seeds and name not in project.models
    return NodeId("seed", name) if is_seed else id_


def manifest_function(function: Function) -> ManifestFunction:
    parameters = ", ".join(f"{p.name}: {p.type}" for p in function.parameters)
    signature = f"{function.name}({parameters}) -> {function.returns}"
    return ManifestFunction(
        function.name,
        function.path,
        function.location.line,
        signature_of(function) if function.batches else signature,
        function.description,
        function.table,
    )
