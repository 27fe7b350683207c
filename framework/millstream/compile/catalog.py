"""Builds the plan's catalog from the project and the analysis of its SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from millstream.compile.native_functions import find_obstacles
from millstream.core.encoding import to_sorted_json
from millstream.core.expressions import Expression, Piece, Ref, quote_name
from millstream.core.node_id import NodeId
from millstream.core.types import STRING
from millstream.formats.registry import KEY, format_of
from millstream.outputs.registry import columns_named, materialization_of
from millstream.plan.from_sql.catalog import (
    DEFAULT_ISOLATION,
    VERSION_COLUMNS,
    Catalog,
    DedupeSpec,
    FunctionSpec,
    ModelHints,
    ModelSpec,
    RowSpec,
    SeedSpec,
    TopicSpec,
)
from millstream.plan.nodes import METADATA, Column, LoggedRows, Metering, RowCheck
from millstream.project.imports import python_version
from millstream.project.secrets import Secret
from millstream.project.spark_settings import settings_of_results
from millstream.project.values import Project, RowSource, Target, Topic, TopicKey, shuffle_partitions
from millstream.sql.query import SqlQuery
from millstream.sql.values import InputRelation
from millstream.stores.registry import DEFAULT, configured_stores, store_declaration

_PASSED_ON = ("state", "group", "optimize", "on_bad_record")
"""Options that the plan passes on."""
_ISOLATION = "isolation.level"


def base_catalog(
    project: Project,
    relations: Mapping[NodeId, InputRelation],
    derived: Mapping[str, tuple[tuple[str, Expression], ...]],
) -> Catalog:
    """Return a catalog of sources, seeds and functions, without models."""
    in_python = _costly_in_python(project)
    return Catalog(
        topics={
            NodeId("source", topic.id): _topic(
                topic, relations[NodeId("source", topic.id)], derived.get(topic.id, ())
            )
            for topic in project.topics.values()
        },
        seeds={
            NodeId("seed", seed.name): SeedSpec(
                NodeId("seed", seed.name),
                seed.name,
                _columns(relations[NodeId("seed", seed.name)]),
                seed.digest,
            )
            for seed in project.seeds.values()
        },
        models={},
        row_sources={
            NodeId("source", source.id): _row_source(
                source, relations[NodeId("source", source.id)], derived.get(source.id, ())
            )
            for source in project.sources.values()
            if isinstance(source, RowSource)
        },
        functions={
            f.name: FunctionSpec(
                f.name,
                f.digest,
                f.returns,
                f.cost,
                f.table,
                f.keyed,
                f.libraries,
                f.runs,
                f.logs,
                f.name in in_python,
            )
            for f in project.functions.values()
        },
        hints=_hints(project),
        target={
            name: value
            for name in ("optimization", "grouping", "timezone", "trigger", "guarantee", "fast_paths")
            if (value := project.target.settings.get(name)) is not None
        }
        | {"shuffle_partitions": shuffle_partitions(project.target)}
        | {"table_locations": table_locations(project.target)}
        | ({"spark": spark} if (spark := settings_of_results(project.target)) else {})
        | ({"python": python_version()} if project.functions else {})
        | ({"isolation": levels} if (levels := _isolation_levels(project)) else {}),
        project=project.settings.name,
    )


def _costly_in_python(project: Project) -> Collection[str]:
    """Return the functions that run in Python, besides those whose cost is low."""
    functions = {
        f.name: (f.path, f.runs)
        for f in project.functions.values()
        if f.cost != "low" and not f.keyed and not f.batches
    }
    return find_obstacles(Path(project.root), functions)


def _isolation_levels(project: Project) -> dict[NodeId, str]:
    """Return the isolation level at which each source is read, by its id, unless it is the default."""
    kafka = project.target.settings.get("kafka")
    consumer = dict(kafka.get("consumer") or {}) if isinstance(kafka, Mapping) else {}
    levels = {
        NodeId("source", topic.id): str(
            {**consumer, **(topic.options.get("options") or {})}.get(_ISOLATION, DEFAULT_ISOLATION)
        )
        for topic in project.topics.values()
    }
    return {id_: level for id_, level in levels.items() if level != DEFAULT_ISOLATION}


def _topic(topic: Topic, relation: InputRelation, derived: tuple[tuple[str, Expression], ...]) -> TopicSpec:
    columns = _columns(relation)
    if topic.versions:
        columns = columns[: -len(VERSION_COLUMNS)]
    key = topic.key
    of_change = format_of(topic.format).of_change
    named = [c for c in topic.columns if key and c.name.lower() == key.name.lower()]
    # A record without a value, which deletes a row, has nothing but its key.
    of_record = key and not key.parts and (not named or topic.table)
    own_key = (named[0].name if named else key.name) if key and of_record else None
    derived = tuple((name, expression) for name, expression in derived if name != own_key)
    derived += tuple(_parts_of_key(key, columns)) if key and topic.table else ()
    read = {name for _, expression in derived for name in expression.columns}
    if topic.versions:
        read |= {ref.column for ref in format_of(topic.format).changed_at.refs}
    not_fields = {own_key, *(name for name, _ in derived)}
    return TopicSpec(
        id=relation.id,
        name=topic.name,
        first_topic=topic.topics[0],
        other_topics=topic.topics[1:],
        pattern=topic.pattern,
        format=topic.format,
        fields=(
            *(column for column in columns if column.name not in not_fields),
            *(Column(field.name, field.type, field.nullable) for field in of_change if field.name in read),
        ),
        key=next((column for column in columns if column.name == own_key), None),
        key_type=key.type if key else STRING,
        key_format=key.format if key else KEY,
        derived=derived,
        order=tuple(column.name for column in columns),
        table=topic.table,
        versions=topic.versions,
        unique_by=key.columns if topic.table and key else (),
        watermark=(topic.watermark.column, topic.watermark.delay) if topic.watermark else None,
        on_bad_record=topic.on_bad_record,
        deduplicate=topic.deduplicate,
        history=to_sorted_json(topic.history.facts).decode() if topic.history else "",
    )


def _parts_of_key(key: TopicKey, columns: Iterable[Column]) -> Iterator[tuple[str, Expression]]:
    """Yield the columns that are fields of a record's key, with how they are read from it."""
    parts = {name.lower() for name in key.parts}
    for column in columns:
        if column.name.lower() in parts:
            pieces: tuple[Piece, ...] = (Ref("_key"), f".{quote_name(column.name)}")
            yield column.name, Expression(pieces, column.type, nullable=column.nullable)


def _row_source(
    source: RowSource, relation: InputRelation, derived: tuple[tuple[str, Expression], ...]
) -> RowSpec:
    columns = [(Column(c.name, c.type, c.nullable), c.hidden) for c in relation.columns]
    return RowSpec(
        id=relation.id,
        name=source.name,
        kind=source.kind,
        settings=to_sorted_json(source.settings).decode(),
        columns=tuple(column for column, hidden in columns if not hidden),
        metadata=tuple(column for column, hidden in columns if hidden),
        derived=derived,
        watermark=(source.watermark.column, source.watermark.delay) if source.watermark else None,
        unique_by=source.keys,
        jars=source.jars,
        removes_read=source.removes_read,
        dead_letters=source.dead_letter_topic,
    )


def _columns(relation: InputRelation) -> tuple[Column, ...]:
    return tuple(
        Column(c.name, c.type, c.nullable) for c in relation.columns if not (c.hidden and c.name in METADATA)
    )


def model_spec(
    name: str,
    config: Mapping[str, Any],
    query: SqlQuery,
    relation: InputRelation,
    extras: tuple[tuple[str, Expression], ...] = (),
    checks: tuple[RowCheck, ...] = (),
    metrics: tuple[Metering, ...] = (),
    log: LoggedRows | None = None,
) -> ModelSpec:
    """Return one model's entry in the catalog."""
    dedupe, watermark = config.get("dedupe"), config.get("watermark")
    return ModelSpec(
        id=relation.id,
        name=name,
        query=query,
        columns=_columns(relation),
        materialization=materialization_of(name, config),
        emit="on_close" if config.get("emit") == "on_close" else "on_change",
        dedupe=_dedupe(dedupe) if dedupe else None,
        watermark=(watermark["column"], watermark["delay"]) if watermark else None,
        options={key: config[key] for key in _PASSED_ON if config.get(key) is not None},
        latency=config.get("latency"),
        priority=config.get("priority") or "normal",
        every=config.get("every"),
        extras=extras,
        checks=checks,
        metrics=metrics,
        log=log,
    )


def _dedupe(option: Mapping[str, Any]) -> DedupeSpec:
    return DedupeSpec(columns_named(option["keys"]), option.get("within"), option.get("exact") or False)


def _hints(project: Project) -> ModelHints:
    keeps: dict[NodeId, float] = {}
    rows: dict[NodeId, float] = {}
    distinct: dict[NodeId, dict[str, int]] = {}
    described = [(NodeId("source", t.id), t.options, t.columns) for t in project.sources.values()]
    described += [(NodeId("model", m.name), m.hints, m.columns) for m in project.properties.values()]
    for id_, hints, columns in described:
        if "keeps" in hints:
            keeps[id_] = hints["keeps"]
        if "rows_per_second" in hints:
            rows[id_] = hints["rows_per_second"]
        of_columns = {c.name: c.meta["distinct"] for c in columns if "distinct" in c.meta}
        if counts := of_columns | dict(hints.get("distinct") or {}):
            distinct[id_] = counts
    return ModelHints(keeps, rows, distinct)


def table_locations(target: Target) -> dict[str, str]:
    """Return a digest of where each store keeps tables; that of the default store is also under ''."""
    settings: Mapping[str, Any] = target.settings.get("tables") or {}
    digests: dict[str, str] = {}
    for store in configured_stores(settings):
        declared = store_declaration(store)
        options = [*declared.location, *(key for key in declared.in_catalog if settings.get(key))]
        address = repr([_text(settings.get(key)) for key in options])
        digests[store] = f"{store} {blake2b(address.encode(), digest_size=8).hexdigest()}"
    default = _text(settings.get("store")) or DEFAULT
    return digests | {"": digests.get(default, default)}


def _text(value: Any) -> str:
    return value.reveal() if isinstance(value, Secret) else str(value or "")
